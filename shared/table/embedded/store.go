// Package embedded is the table in one file: the storage port over bbolt.
//
// A transaction is acknowledged after it is on disk, twice synced by bbolt:
// the pages first, then the page that makes them the current state. One
// goroutine writes. It takes whatever transactions wait, carries them out in
// order and commits them together, so a lone client waits for nothing and many
// share the syncs. A condition that does not hold is one transaction's result;
// the others of its batch don't notice.
//
// All reads are snapshots of the last commit, so eventual ones are strong ones
// that cost half, and indexes are never behind.
package embedded

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// Options of a store. Only Dir is needed.
type Options struct {
	Dir           string           // data directory, made with mode 0700 when missing, or Memory
	LockTimeout   time.Duration    // how long to wait for another process to let go; 0: one second
	FeedRetention time.Duration    // how long changes are kept at least; 0: 24 hours
	Now           func() time.Time // the clock of tokens, TTLs and the feed; nil: time.Now
}

// Store is a table.Store and its table.Feed. Safe for concurrent use.
type Store struct {
	db     *bbolt.DB
	writer *writer
	close  func() error
}

var (
	_ table.Store = (*Store)(nil)
	_ table.Feed  = (*Store)(nil)
)

// Open opens the store of a data directory, or makes it. Errors: *LockedError,
// *FormatError.
func Open(o Options) (*Store, error) {
	if o.LockTimeout == 0 {
		o.LockTimeout = time.Second
	}
	if o.FeedRetention == 0 {
		o.FeedRetention = 24 * time.Hour
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	db, err := openFile(o.Dir, o.LockTimeout)
	if err != nil {
		return nil, err
	}
	s := &Store{db: db, writer: newWriter(db, o.Now, o.FeedRetention)}
	s.close = sync.OnceValue(func() error {
		s.writer.stop()
		return db.Close()
	})
	go s.writer.run()
	return s, nil
}

// Close waits for the commit at work and for readers, and lets go of the data
// directory. Transactions not yet taken up get ErrClosed, like all later calls.
func (s *Store) Close() error { return s.close() }

// Health is nil while the store takes writes, else a *StoppedError.
func (s *Store) Health() error { return s.writer.health() }

// Get is in table.Reader.
func (s *Store) Get(ctx context.Context, key keys.Raw, c table.Consistency) (*table.Item, error) {
	if !key.Valid() {
		return nil, table.ErrInvalidKey
	}
	found := make([]*table.Item, 1)
	if err := s.read(ctx, []keys.Raw{key}, found); err != nil {
		return nil, err
	}
	table.Spend(ctx, table.Cost{Ops: 1, RRU: table.ReadUnits(table.Size(found[0]), c)})
	return found[0], nil
}

// BatchGet is in table.Reader.
func (s *Store) BatchGet(ctx context.Context, wanted []keys.Raw, c table.Consistency) ([]*table.Item, error) {
	place := make(map[keys.Raw]int, len(wanted))
	distinct := make([]keys.Raw, 0, len(wanted))
	for _, k := range wanted {
		if !k.Valid() {
			return nil, table.ErrInvalidKey
		}
		if _, twice := place[k]; !twice {
			place[k] = len(distinct)
			distinct = append(distinct, k)
		}
	}
	found := make([]*table.Item, len(distinct))
	for from := 0; from < len(distinct); from += table.MaxBatchGet {
		to := min(from+table.MaxBatchGet, len(distinct))
		if err := s.read(ctx, distinct[from:to], found[from:to]); err != nil {
			return nil, err
		}
		cost := table.Cost{Ops: 1}
		for _, it := range found[from:to] {
			cost.RRU += table.ReadUnits(table.Size(it), c)
		}
		table.Spend(ctx, cost)
	}
	answers := make([]*table.Item, len(wanted))
	for i, k := range wanted {
		answers[i] = found[place[k]]
	}
	return answers, nil
}

// TransactGet is in table.Reader. It never meets a conflict.
func (s *Store) TransactGet(ctx context.Context, wanted []keys.Raw) ([]*table.Item, error) {
	if err := table.ValidateSnapshot(wanted); err != nil {
		return nil, err
	}
	found := make([]*table.Item, len(wanted))
	if err := s.read(ctx, wanted, found); err != nil {
		return nil, err
	}
	cost := table.Cost{Ops: 1}
	for _, it := range found {
		cost.RRU += table.SnapshotUnits(table.Size(it))
	}
	table.Spend(ctx, cost)
	return found, nil
}

// read fills found with the items as they are at one moment.
func (s *Store) read(ctx context.Context, wanted []keys.Raw, found []*table.Item) error {
	return s.view(ctx, func(tx *bbolt.Tx) error {
		items := tx.Bucket(bucketItems)
		var key []byte
		for i, k := range wanted {
			key = appendItemKey(key[:0], k)
			it, err := decodeFound(k, items.Get(key))
			if err != nil {
				return err
			}
			found[i] = it
		}
		return nil
	})
}

func (s *Store) view(ctx context.Context, see func(*bbolt.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	err := s.db.View(see)
	if errors.Is(err, berrors.ErrDatabaseNotOpen) {
		return ErrClosed
	}
	return err
}
