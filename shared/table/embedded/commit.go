package embedded

import (
	"bytes"
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// commit is one transaction of the file, which carries out a batch of requests.
type commit struct {
	now     time.Time
	items   *bbolt.Bucket
	index   [keys.Indexes]*bbolt.Bucket
	ttl     *bbolt.Bucket
	tokens  *bbolt.Bucket
	expiry  *bbolt.Bucket
	feed    *bbolt.Bucket
	dirty   bool // something is to be committed
	changes int  // records added to the feed
	kept    int  // tokens added
}

func newCommit(tx *bbolt.Tx, now time.Time) *commit {
	c := &commit{
		now:    now,
		items:  tx.Bucket(bucketItems),
		ttl:    tx.Bucket(bucketTTL),
		tokens: tx.Bucket(bucketTokens),
		expiry: tx.Bucket(bucketExpiry),
		feed:   tx.Bucket(bucketFeed),
	}
	for i, name := range bucketIndex {
		c.index[i] = tx.Bucket(name)
	}
	// Added to at the end only, so pages are filled before they are split.
	c.feed.FillPercent, c.expiry.FillPercent = 1, 1
	return c
}

// found is what stands at an operation's key.
type found struct {
	item  *table.Item
	value []byte // as stored; belongs to the file's transaction
}

// apply carries out one request after those before it. The error is not the
// request's: it ends the whole commit.
func (c *commit) apply(r *request) (outcome, error) {
	before := make([]found, len(r.tx.Ops))
	for i, op := range r.tx.Ops {
		v := c.items.Get(r.keys[i])
		it, err := decodeFound(op.Key, v)
		if err != nil {
			return outcome{err: err}, nil
		}
		before[i] = found{it, v}
	}
	if r.tx.Token != "" {
		switch c.recall(r) {
		case tokenSame:
			return outcome{cost: replayCost(before)}, nil
		case tokenOther:
			return outcome{err: table.ErrTokenReused, cost: table.Cost{Ops: 1}}, nil
		case tokenUnknown:
		}
	}
	if canceled := judge(r.tx.Ops, before); canceled != nil {
		return outcome{err: canceled, cost: canceledCost(r.tx.Ops, before)}, nil
	}
	cost := table.Cost{Ops: 1}
	for i, op := range r.tx.Ops {
		cost.WRU += table.OpUnits(op, before[i].item)
		if op.Action == table.ActionCheck {
			continue
		}
		if err := c.write(r.keys[i], op.Key, before[i], found{op.Item, r.values[i]}); err != nil {
			return outcome{}, fmt.Errorf("write %v: %w", op.Key, err)
		}
	}
	if r.tx.Token != "" {
		if err := c.remember(r); err != nil {
			return outcome{}, err
		}
	}
	return outcome{cost: cost}, nil
}

// judge is nil when all conditions hold.
func judge(ops []table.Op, before []found) *table.CanceledError {
	reasons, failed := make([]table.Reason, len(ops)), false
	for i, op := range ops {
		if !op.If.Holds(before[i].item) {
			reasons[i], failed = table.Reason{Failed: true, Found: before[i].item}, true
		}
	}
	if !failed {
		return nil
	}
	return &table.CanceledError{Reasons: reasons}
}

// canceledCost: a refused write costs what its item would, without indexes
// (DynamoDB developer guide, "Write consumption").
func canceledCost(ops []table.Op, before []found) table.Cost {
	cost := table.Cost{Ops: 1}
	for i, op := range ops {
		larger := before[i].item
		if op.Action == table.ActionPut && table.Size(op.Item) > table.Size(larger) {
			larger = op.Item
		}
		cost.WRU += table.OpUnits(table.Check(op.Key, op.If), larger)
	}
	return cost
}

// replayCost: a transaction sent again under its token reads its items
// (DynamoDB developer guide, "Managing complex workflows with transactions").
func replayCost(before []found) table.Cost {
	cost := table.Cost{Ops: 1}
	for _, f := range before {
		cost.RRU += table.SnapshotUnits(table.Size(f.item))
	}
	return cost
}

// write puts or, with no item after, removes an item, its index entries and TTL,
// and tells the feed. A write that changes nothing is none.
func (c *commit) write(key []byte, k keys.Raw, before, after found) error {
	if before.item == nil && after.item == nil || before.item != nil && after.item != nil && bytes.Equal(before.value, after.value) {
		return nil
	}
	c.dirty = true
	if err := c.tell(k, before.value, after.value); err != nil {
		return err
	}
	for i, b := range c.index {
		if err := move(b, entryOf(before.item, i), entryOf(after.item, i)); err != nil {
			return err
		}
	}
	if err := move(c.ttl, ttlOf(before.item, key), ttlOf(after.item, key)); err != nil {
		return err
	}
	if after.item == nil {
		return c.items.Delete(key)
	}
	return c.items.Put(key, after.value)
}

// move takes one key out of a bucket and puts another in; nil is none.
func move(b *bbolt.Bucket, from, to []byte) error {
	if bytes.Equal(from, to) {
		return nil
	}
	if from != nil {
		if err := b.Delete(from); err != nil {
			return err
		}
	}
	if to == nil {
		return nil
	}
	return b.Put(to, nil)
}

func entryOf(it *table.Item, index int) []byte {
	if it == nil || it.Index[index].IsZero() {
		return nil
	}
	return appendEntryKey(nil, it.Index[index], it.Key)
}

func ttlOf(it *table.Item, key []byte) []byte {
	if it == nil || it.TTL <= 0 {
		return nil
	}
	return append(encodeNumber(uint64(it.TTL)), key...)
}

// tell adds a change to the feed.
func (c *commit) tell(k keys.Raw, before, after []byte) error {
	sequence, err := c.feed.NextSequence()
	if err != nil {
		return err
	}
	c.changes++
	return c.feed.Put(encodeNumber(sequence), encodeChange(c.now, k, before, after))
}
