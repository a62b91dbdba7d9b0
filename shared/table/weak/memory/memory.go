// Package memory is the least that keeps the storage port's promises: maps and
// sorted keys under one lock. Making a store takes no time, so that schedules
// by the thousand each have their own. For tests only.
package memory

import (
	"context"
	"reflect"
	"sync"
	"time"

	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// Store is a table.Store and its table.Feed. Safe for concurrent use.
type Store struct {
	now func() time.Time

	mu     sync.Mutex
	items  map[keys.Raw]*table.Item
	ranges map[place]*entries
	log    []table.Change
	tokens map[string]spent
}

// place is one partition of the table or of an index.
type place struct {
	index keys.Index
	pk    string
}

// spent is a token's transaction.
type spent struct {
	ops []table.Op
	at  time.Time
}

// New makes an empty store. The clock dates the changes and ends the tokens.
func New(now func() time.Time) *Store {
	return &Store{
		now: now, items: map[keys.Raw]*table.Item{}, ranges: map[place]*entries{}, tokens: map[string]spent{},
	}
}

// Get implements table.Reader.
func (s *Store) Get(ctx context.Context, key keys.Raw, c table.Consistency) (*table.Item, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !key.Valid() {
		return nil, table.ErrInvalidKey
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	it := s.items[key]
	table.Spend(ctx, table.Cost{Ops: 1, RRU: table.ReadUnits(table.Size(it), c)})
	return it, nil
}

// BatchGet implements table.Reader.
func (s *Store) BatchGet(ctx context.Context, wanted []keys.Raw, c table.Consistency) ([]*table.Item, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	found, cost := make([]*table.Item, len(wanted)), table.Cost{}
	seen := make(map[keys.Raw]bool, len(wanted))
	for i, k := range wanted {
		if !k.Valid() {
			return nil, table.ErrInvalidKey
		}
		found[i] = s.items[k]
		if !seen[k] {
			seen[k] = true
			cost.RRU += table.ReadUnits(table.Size(found[i]), c)
		}
	}
	cost.Ops = (len(seen) + table.MaxBatchGet - 1) / table.MaxBatchGet
	table.Spend(ctx, cost)
	return found, nil
}

// TransactGet implements table.Reader.
func (s *Store) TransactGet(ctx context.Context, wanted []keys.Raw) ([]*table.Item, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := table.ValidateSnapshot(wanted); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	found, cost := make([]*table.Item, len(wanted)), table.Cost{Ops: 1}
	for i, k := range wanted {
		found[i] = s.items[k]
		cost.RRU += table.SnapshotUnits(table.Size(found[i]))
	}
	table.Spend(ctx, cost)
	return found, nil
}

// Transact implements table.Writer.
func (s *Store) Transact(ctx context.Context, tx table.Tx) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := tx.Validate(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if done, ok := s.tokens[tx.Token]; ok && s.now().Sub(done.at) < table.TokenLifetime {
		table.Spend(ctx, table.Cost{Ops: 1})
		if !reflect.DeepEqual(done.ops, tx.Ops) {
			return table.ErrTokenReused
		}
		return nil
	}
	if err := s.test(ctx, tx.Ops); err != nil {
		return err
	}
	cost := table.Cost{Ops: 1}
	for _, op := range tx.Ops {
		cost.WRU += table.OpUnits(op, s.items[op.Key])
		switch op.Action {
		case table.ActionPut:
			s.set(op.Key, op.Item)
		case table.ActionDelete:
			s.set(op.Key, nil)
		case table.ActionCheck:
		}
	}
	table.Spend(ctx, cost)
	if tx.Token != "" {
		s.tokens[tx.Token] = spent{tx.Ops, s.now()}
	}
	return nil
}

// test refuses the operations when a condition does not hold; looking costs
// what checks cost.
func (s *Store) test(ctx context.Context, ops []table.Op) error {
	reasons, failed, cost := make([]table.Reason, len(ops)), false, table.Cost{Ops: 1}
	for i, op := range ops {
		found := s.items[op.Key]
		cost.WRU += table.OpUnits(table.Check(op.Key, op.If), found)
		if !op.If.Holds(found) {
			reasons[i], failed = table.Reason{Failed: true, Found: found}, true
		}
	}
	if !failed {
		return nil
	}
	table.Spend(ctx, cost)
	return &table.CanceledError{Reasons: reasons}
}

// set puts an item, or removes it when it is nil, in the table, its indexes and the log.
func (s *Store) set(key keys.Raw, it *table.Item) {
	old := s.items[key]
	if old == nil && it == nil || reflect.DeepEqual(old, it) {
		return // no change, no record
	}
	if it == nil {
		delete(s.items, key)
		s.in(keys.Table, key.PK()).remove(entry{key.SK(), key})
	} else {
		s.items[key] = it
		if old == nil {
			s.in(keys.Table, key.PK()).add(entry{key.SK(), key})
		}
	}
	for i := range keys.Indexes {
		was, is := indexKey(old, i), indexKey(it, i)
		if was == is {
			continue
		}
		if !was.IsZero() {
			s.in(keys.Index(i+1), was.PK()).remove(entry{was.SK(), key})
		}
		if !is.IsZero() {
			s.in(keys.Index(i+1), is.PK()).add(entry{is.SK(), key})
		}
	}
	s.log = append(s.log, table.Change{Shard: shard, Sequence: sequence(len(s.log) + 1), At: s.now(), Old: old, New: it})
}

func indexKey(it *table.Item, i int) keys.IndexKey {
	if it == nil {
		return keys.IndexKey{}
	}
	return it.Index[i]
}

func (s *Store) in(index keys.Index, pk string) *entries {
	at := place{index, pk}
	e := s.ranges[at]
	if e == nil {
		e = &entries{}
		s.ranges[at] = e
	}
	return e
}
