package embedded

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"

	"github.com/wardenhq/warden/shared/table"
)

// Bounds of one commit: so many transactions, or the one that passes so many bytes.
const (
	maxBatch      = 256
	maxBatchBytes = 8 << 20
)

// writer is the only goroutine that writes the file.
type writer struct {
	db        *bbolt.DB
	now       func() time.Time
	retention time.Duration

	queue    chan *request // without a buffer: what is in it has been taken up
	closing  chan struct{}
	finished chan struct{}

	changed signal
	stopped atomic.Pointer[StoppedError]
}

func newWriter(db *bbolt.DB, now func() time.Time, retention time.Duration) *writer {
	return &writer{
		db: db, now: now, retention: retention,
		queue:    make(chan *request),
		closing:  make(chan struct{}),
		finished: make(chan struct{}),
	}
}

func (w *writer) run() {
	defer close(w.finished)
	for {
		select {
		case first := <-w.queue:
			w.serve(w.gather(first))
		case <-w.closing:
			return
		}
	}
}

func (w *writer) stop() {
	close(w.closing)
	<-w.finished
}

// health is nil while nothing has stopped the writer.
func (w *writer) health() error {
	if stopped := w.stopped.Load(); stopped != nil {
		return stopped
	}
	return nil
}

// gather takes whatever else waits, and waits for nothing.
func (w *writer) gather(first *request) []*request {
	batch, size := []*request{first}, first.size
	for len(batch) < maxBatch && size < maxBatchBytes {
		select {
		case r := <-w.queue:
			batch, size = append(batch, r), size+r.size
		default:
			return batch
		}
	}
	return batch
}

// serve answers every request of the batch, whatever happens.
func (w *writer) serve(batch []*request) {
	outcomes := make([]outcome, len(batch))
	err := w.health()
	if err == nil {
		err = w.commit(batch, outcomes)
	}
	for i, r := range batch {
		if err != nil {
			outcomes[i] = outcome{err: err}
		}
		r.answer(outcomes[i])
	}
	// Whoever was answered may have the next transaction at hand: let it in, or
	// two halves of the clients take turns in half-full commits.
	runtime.Gosched()
}

// commit carries the requests out in one transaction of the file. An error is
// everyone's: also a refused transaction may have seen what is now lost.
func (w *writer) commit(batch []*request, outcomes []outcome) (err error) {
	tx, err := w.db.Begin(true)
	if err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	id := tx.ID()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: panic: %v\n%s", table.ErrUnknownOutcome, p, debug.Stack())
			w.stopped.Store(&StoppedError{Cause: err})
		}
		_ = tx.Rollback() // undoes what was not committed; says so when there is nothing to undo
	}()
	c := newCommit(tx, w.now())
	for i, r := range batch {
		if !r.begin() {
			continue
		}
		if outcomes[i], err = c.apply(r); err != nil {
			return fmt.Errorf("%w: %w", table.ErrUnknownOutcome, err)
		}
	}
	if !c.dirty {
		return nil
	}
	if err := c.tidy(w.retention); err != nil {
		return fmt.Errorf("%w: %w", table.ErrUnknownOutcome, err)
	}
	if err := tx.Commit(); err != nil {
		err = fmt.Errorf("%w: commit: %w", table.ErrUnknownOutcome, err)
		if w.shows(id) {
			w.stopped.Store(&StoppedError{Cause: err})
		}
		return err
	}
	if c.changes > 0 {
		w.changed.wake()
	}
	return nil
}

// shows says whether readers see a transaction whose commit failed. They do when
// only its last sync did: then it may or may not survive, so nothing may build on it.
func (w *writer) shows(id int) bool {
	tx, err := w.db.Begin(false)
	if err != nil {
		return true
	}
	defer func() { _ = tx.Rollback() }()
	return tx.ID() >= id
}
