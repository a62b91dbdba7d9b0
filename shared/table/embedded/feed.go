package embedded

import (
	"context"
	"encoding/binary"
	"fmt"
	"strconv"
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

const (
	// Shard is the feed's only shard.
	Shard = "0"
	// feedPageBytes ends an answer of the feed, like a page of DynamoDB's streams.
	feedPageBytes = 1 << 20
)

// Shards is in table.Feed.
func (s *Store) Shards(ctx context.Context) ([]string, error) {
	return []string{Shard}, ctx.Err()
}

// Changes is in table.Feed. A sequence is a change's place among all changes
// ever made, as 20 digits. An answer may hold fewer than limit changes though
// more follow, and goes on with the oldest kept when the next one is gone.
func (s *Store) Changes(ctx context.Context, shard, after string, limit int) ([]table.Change, string, error) {
	from, err := parseSequence(after)
	if shard != Shard || err != nil || limit < 1 {
		return nil, "", fmt.Errorf("%w: feed shard %q after %q", table.ErrInvalidQuery, shard, after)
	}
	var changes []table.Change
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		size := 0
		c := tx.Bucket(bucketFeed).Cursor()
		for k, v := c.Seek(encodeNumber(from + 1)); k != nil && len(changes) < limit; k, v = c.Next() {
			if size += len(v); size > feedPageBytes && len(changes) > 0 {
				return nil
			}
			change, err := decodeChange(numberOf(k), v)
			if err != nil {
				return err
			}
			changes = append(changes, change)
		}
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	if len(changes) > 0 {
		after = changes[len(changes)-1].Sequence
	}
	return changes, after, nil
}

// Changed is closed when something changes after the call: take it, read the
// changes, and wait on it when there are none.
func (s *Store) Changed() <-chan struct{} { return s.writer.changed.next() }

func formatSequence(n uint64) string { return fmt.Sprintf("%020d", n) }

func parseSequence(s string) (uint64, error) {
	if s == "" {
		return 0, nil
	}
	return strconv.ParseUint(s, 10, 64)
}

// encodeChange writes a change of an item: when, its key, and both images as
// they are stored; nil for none.
func encodeChange(at time.Time, k keys.Raw, old, now []byte) []byte {
	size := headBytes + len(k.PK()) + len(k.SK()) + len(old) + len(now)
	b := appendTime(append(make([]byte, 0, size), layout), at)
	b = binary.AppendUvarint(b, uint64(len(k.PK())))
	b = binary.AppendUvarint(b, uint64(len(k.SK())))
	b = binary.AppendUvarint(b, uint64(len(old)))
	b = append(append(b, k.PK()...), k.SK()...)
	return append(append(b, old...), now...)
}

func decodeChange(sequence uint64, v []byte) (table.Change, error) {
	c := table.Change{Shard: Shard, Sequence: formatSequence(sequence)}
	r := reader{rest: v}
	if !r.layout() {
		return c, fmt.Errorf("%w: change %s", table.ErrFormat, c.Sequence)
	}
	c.At = r.time()
	pk, sk, old := r.length(), r.length(), r.length()
	key := keys.Stored(string(r.bytes(pk)), string(r.bytes(sk)))
	before, after := r.bytes(old), r.rest
	if r.damaged {
		return c, fmt.Errorf("%w: change %s is damaged", table.ErrFormat, c.Sequence)
	}
	var err error
	if c.Old, err = decodeImage(key, before); err != nil {
		return c, err
	}
	c.New, err = decodeImage(key, after)
	return c, err
}

// decodeImage takes no bytes for no item: a stored item has at least its layout.
func decodeImage(k keys.Raw, v []byte) (*table.Item, error) {
	if len(v) == 0 {
		return nil, nil
	}
	return decodeItem(k, v)
}

// changedAt reads only when a change was made.
func changedAt(v []byte) (time.Time, bool) {
	r := reader{rest: v}
	ok := r.layout()
	at := r.time()
	return at, ok && !r.damaged
}

// signal wakes all that wait for the next time something happens.
type signal struct {
	mu sync.Mutex
	ch chan struct{}
}

func (s *signal) next() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}

func (s *signal) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch != nil {
		close(s.ch)
		s.ch = nil
	}
}
