// Package local is the queue port in one file beside the table: messages are on
// disk before Send returns, and stay until they are done. One goroutine writes,
// taking whatever waits.
package local

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"go.etcd.io/bbolt"

	"github.com/wardenhq/warden/shared/queue"
)

// Memory as a path is a broker without a file that anyone can find, unsynced.
const Memory = ":memory:"

// ErrClosed is the error of calls to a broker that was closed.
var ErrClosed = errors.New("queue: closed")

// Broker keeps queues.
type Broker struct {
	db     *bbolt.DB
	writes chan write
	done   chan struct{}
	wg     sync.WaitGroup

	mu     sync.Mutex
	queues map[string]*Queue
	closed bool
}

// write is a change of the file that waits for its commit; answer may be nil.
type write struct {
	apply  func(*bbolt.Tx) error
	answer chan error
}

// stored is a message as it is kept.
type stored struct {
	Group   string    `json:"group"`
	Body    []byte    `json:"body"`
	Cause   string    `json:"cause,omitempty"` // in a dead-letter queue: what went wrong last
	Attempt int       `json:"attempt,omitzero"`
	Sent    time.Time `json:"sent"`
}

// Open opens the broker's file, or makes it.
func Open(path string) (*Broker, error) {
	db, err := openFile(path)
	if err != nil {
		return nil, err
	}
	b := &Broker{db: db, writes: make(chan write, 256), done: make(chan struct{}), queues: make(map[string]*Queue)}
	go b.writer()
	return b, nil
}

// maxCommit is how many writes share a commit, at most.
const maxCommit = 512

func (b *Broker) writer() {
	defer close(b.done)
	for first := range b.writes {
		batch := []write{first}
		for len(batch) < maxCommit {
			select {
			case w, ok := <-b.writes:
				if !ok {
					b.commit(batch)
					return
				}
				batch = append(batch, w)
				continue
			default:
			}
			break
		}
		b.commit(batch)
	}
}

func (b *Broker) commit(batch []write) {
	err := b.db.Update(func(tx *bbolt.Tx) error {
		for _, w := range batch {
			if err := w.apply(tx); err != nil {
				return err
			}
		}
		return nil
	})
	for _, w := range batch {
		if w.answer != nil {
			w.answer <- err
		}
	}
}

// write waits for the commit.
func (b *Broker) write(ctx context.Context, apply func(*bbolt.Tx) error) error {
	w := write{apply, make(chan error, 1)}
	if !b.enqueue(w) {
		return ErrClosed
	}
	select {
	case err := <-w.answer:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b *Broker) enqueue(w write) bool {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return false
	}
	b.wg.Add(1)
	b.mu.Unlock()
	defer b.wg.Done()
	b.writes <- w
	return true
}

// Close commits what was taken and closes the file. Messages handed out and not
// done are handed out again after the next Open.
func (b *Broker) Close() error {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return nil
	}
	b.closed = true
	b.mu.Unlock()
	b.wg.Wait()
	close(b.writes)
	<-b.done
	return b.db.Close()
}

// Dead is a message in a dead-letter queue.
type Dead struct {
	ID      string    `json:"id"`
	Group   string    `json:"group"`
	Body    []byte    `json:"body"`
	Cause   string    `json:"cause"`
	Attempt int       `json:"attempts"`
	Sent    time.Time `json:"sent"`
}

// deadSuffix names the dead-letter queue of a queue.
const deadSuffix = "-dead"

// Dead lists up to limit messages of a queue's dead-letter queue, oldest first.
func (b *Broker) Dead(name string, limit int) (out []Dead, err error) {
	err = b.db.View(func(tx *bbolt.Tx) error {
		bucket := tx.Bucket([]byte(name + deadSuffix))
		if bucket == nil {
			return nil
		}
		c := bucket.Cursor()
		for k, v := c.First(); k != nil && len(out) < limit; k, v = c.Next() {
			m, err := decode(v)
			if err != nil {
				return err
			}
			out = append(out, Dead{idOf(k), m.Group, m.Body, m.Cause, m.Attempt, m.Sent})
		}
		return nil
	})
	return out, err
}

// DeadQueues names the queues that have dead letters, and how many.
func (b *Broker) DeadQueues() (map[string]int, error) {
	out := make(map[string]int)
	err := b.db.View(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(name []byte, bucket *bbolt.Bucket) error {
			if base, dead := strings.CutSuffix(string(name), deadSuffix); dead {
				if n := bucket.Stats().KeyN; n > 0 {
					out[base] = n
				}
			}
			return nil
		})
	})
	return out, err
}

// Redrive moves all dead letters of a queue back to it, and says how many.
func (b *Broker) Redrive(ctx context.Context, name string) (n int, err error) {
	var back []queue.Message
	err = b.write(ctx, func(tx *bbolt.Tx) error {
		dead := tx.Bucket([]byte(name + deadSuffix))
		if dead == nil {
			return nil
		}
		to, err := tx.CreateBucketIfNotExists([]byte(name))
		if err != nil {
			return err
		}
		c := dead.Cursor()
		for k, v := c.First(); k != nil; k, v = c.Next() {
			m, err := decode(v)
			if err != nil {
				return err
			}
			m.Cause, m.Attempt = "", 0
			seq, err := to.NextSequence()
			if err != nil {
				return err
			}
			if err := put(to, seq, m); err != nil {
				return err
			}
			back = append(back, queue.Message{ID: idOf(keyOf(seq)), Group: m.Group, Body: m.Body})
			n++
		}
		return tx.DeleteBucket([]byte(name + deadSuffix))
	})
	if err != nil {
		return 0, err
	}
	b.mu.Lock()
	q := b.queues[name]
	b.mu.Unlock()
	if q != nil {
		q.add(back)
	}
	return n, nil
}

// Park puts a message into a queue's dead-letter queue as it is.
func (b *Broker) Park(ctx context.Context, name string, m queue.Message, cause error) error {
	return b.write(ctx, func(tx *bbolt.Tx) error { return bury(tx, name, m, cause.Error()) })
}

func bury(tx *bbolt.Tx, name string, m queue.Message, cause string) error {
	bucket, err := tx.CreateBucketIfNotExists([]byte(name + deadSuffix))
	if err != nil {
		return err
	}
	seq, err := bucket.NextSequence()
	if err != nil {
		return err
	}
	return put(bucket, seq, stored{Group: m.Group, Body: m.Body, Cause: cause, Attempt: m.Attempt, Sent: time.Now().UTC()})
}

// Checkpoint is in stream.Checkpoints.
func (b *Broker) Checkpoint(_ context.Context, reader, shard string) (sequence string, err error) {
	err = b.db.View(func(tx *bbolt.Tx) error {
		if bucket := tx.Bucket(checkpoints); bucket != nil {
			sequence = string(bucket.Get([]byte(reader + "/" + shard)))
		}
		return nil
	})
	return sequence, err
}

var checkpoints = []byte("checkpoints")

// SaveCheckpoint is in stream.Checkpoints.
func (b *Broker) SaveCheckpoint(ctx context.Context, reader, shard, sequence string) error {
	return b.write(ctx, func(tx *bbolt.Tx) error {
		bucket, err := tx.CreateBucketIfNotExists(checkpoints)
		if err != nil {
			return err
		}
		return bucket.Put([]byte(reader+"/"+shard), []byte(sequence))
	})
}

func keyOf(seq uint64) []byte { return binary.BigEndian.AppendUint64(nil, seq) }

func idOf(key []byte) string { return fmt.Sprintf("%020d", binary.BigEndian.Uint64(key)) }

func put(bucket *bbolt.Bucket, seq uint64, m stored) error {
	v, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("queue: %w", err)
	}
	return bucket.Put(keyOf(seq), v)
}

func decode(v []byte) (m stored, err error) {
	if err := json.Unmarshal(v, &m); err != nil {
		return m, fmt.Errorf("queue: damaged message: %w", err)
	}
	return m, nil
}
