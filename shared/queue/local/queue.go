package local

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"github.com/wardenhq/warden/shared/clock"
	"github.com/wardenhq/warden/shared/queue"
)

// Options of a queue.
type Options struct {
	Handler    queue.Handler
	Workers    int           // batches at work at one time
	Batch      int           // messages a batch, at most
	PerGroup   int           // messages of one group at work at one time; 0: no limit
	MaxReceive int           // how often a message is handed out before it is dead
	Backoff    time.Duration // before it is handed out again; doubled each time, to Longest
	Longest    time.Duration
	Clock      clock.Clock
}

// Queue is one queue of a broker. Groups take turns.
type Queue struct {
	broker *Broker
	name   string
	o      Options

	mu     sync.Mutex
	groups map[string]*group
	turns  []string // groups with something to do, whose turn comes in this order
	wake   chan struct{}
}

// group is what waits and works of one group.
type group struct {
	waiting []queue.Message
	working int
	queued  bool // it is among the turns
}

// Queue makes a queue of the broker and takes up what was left in it.
func (b *Broker) Queue(name string, o Options) (*Queue, error) {
	q := &Queue{broker: b, name: name, o: o, groups: make(map[string]*group), wake: make(chan struct{}, 1)}
	var left []queue.Message
	err := b.db.View(func(tx *bbolt.Tx) error {
		bucket := tx.Bucket([]byte(name))
		if bucket == nil {
			return nil
		}
		return bucket.ForEach(func(k, v []byte) error {
			m, err := decode(v)
			left = append(left, queue.Message{ID: idOf(k), Group: m.Group, Body: m.Body})
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	q.add(left)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queues[name] = q
	return q, nil
}

// Send is in queue.Sender. Messages over queue.MaxBatchBytes are refused.
func (q *Queue) Send(ctx context.Context, messages []queue.Message) error {
	for _, m := range messages {
		if len(m.Body) > queue.MaxBatchBytes {
			return fmt.Errorf("queue: a message of %d bytes, at most %d", len(m.Body), queue.MaxBatchBytes)
		}
	}
	now := time.Now().UTC()
	sent := make([]queue.Message, len(messages))
	err := q.broker.write(ctx, func(tx *bbolt.Tx) error {
		bucket, err := tx.CreateBucketIfNotExists([]byte(q.name))
		if err != nil {
			return err
		}
		for i, m := range messages {
			seq, err := bucket.NextSequence()
			if err != nil {
				return err
			}
			if err := put(bucket, seq, stored{Group: m.Group, Body: m.Body, Sent: now}); err != nil {
				return err
			}
			sent[i] = queue.Message{ID: idOf(keyOf(seq)), Group: m.Group, Body: m.Body}
		}
		return nil
	})
	if err != nil {
		return err
	}
	q.add(sent)
	return nil
}

// add makes messages available.
func (q *Queue) add(messages []queue.Message) {
	if len(messages) == 0 {
		return
	}
	q.mu.Lock()
	for _, m := range messages {
		g := q.groups[m.Group]
		if g == nil {
			g = new(group)
			q.groups[m.Group] = g
		}
		g.waiting = append(g.waiting, m)
		q.turn(m.Group, g)
	}
	q.mu.Unlock()
	q.signal()
}

// turn queues a group for its turn, if it has something to do and may.
func (q *Queue) turn(name string, g *group) {
	if g.queued || len(g.waiting) == 0 || (q.o.PerGroup > 0 && g.working >= q.o.PerGroup) {
		return
	}
	g.queued = true
	q.turns = append(q.turns, name)
}

func (q *Queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Len is how many messages wait or are at work.
func (q *Queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := 0
	for _, g := range q.groups {
		n += len(g.waiting) + g.working
	}
	return n
}

// Run works until the context ends, and returns once what is at work is over.
func (q *Queue) Run(ctx context.Context) {
	slots := make(chan struct{}, q.o.Workers)
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		batch := q.take()
		for len(batch) == 0 {
			select {
			case <-q.wake:
			case <-ctx.Done():
				return
			}
			batch = q.take()
		}
		wg.Go(func() {
			defer func() { <-slots }()
			q.work(ctx, batch)
		})
	}
}

// take takes the next batch: one message a group and turn.
func (q *Queue) take() (batch []queue.Message) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(batch) < max(1, q.o.Batch) && len(q.turns) > 0 {
		name := q.turns[0]
		q.turns = q.turns[1:]
		g := q.groups[name]
		g.queued = false
		if len(g.waiting) == 0 {
			continue
		}
		m := g.waiting[0]
		g.waiting = g.waiting[1:]
		g.working++
		m.Attempt++
		batch = append(batch, m)
		q.turn(name, g)
	}
	if len(q.turns) > 0 {
		q.signal() // for another worker
	}
	return batch
}

// work hands a batch to the handler; a panic of it fails the whole batch.
func (q *Queue) work(ctx context.Context, batch []queue.Message) {
	failed, cause := q.handle(ctx, batch)
	var done []queue.Message
	for _, m := range batch {
		switch {
		case !failed[m.ID]:
			done = append(done, m)
			q.finish(m)
		case ctx.Err() != nil:
			q.finish(m) // being stopped is no attempt: it is taken up after the next start
		case m.Attempt >= q.o.MaxReceive:
			q.dead(m, cause)
			q.finish(m)
		default:
			go q.later(ctx, m)
		}
	}
	q.forget(done)
}

func (q *Queue) handle(ctx context.Context, batch []queue.Message) (failed map[string]bool, cause string) {
	failed, cause = make(map[string]bool), "the handler gave it back"
	defer func() {
		if p := recover(); p != nil {
			cause = fmt.Sprintf("panic: %v", p)
			for _, m := range batch {
				failed[m.ID] = true
			}
		}
	}()
	for _, id := range q.o.Handler(ctx, batch) {
		failed[id] = true
	}
	return failed, cause
}

// finish lets the next message of the group have its turn.
func (q *Queue) finish(m queue.Message) {
	q.mu.Lock()
	g := q.groups[m.Group]
	g.working--
	if g.working == 0 && len(g.waiting) == 0 {
		delete(q.groups, m.Group)
	} else {
		q.turn(m.Group, g)
	}
	q.mu.Unlock()
	q.signal()
}

// later makes a failed message available again after its wait.
func (q *Queue) later(ctx context.Context, m queue.Message) {
	wait := min(q.o.Longest, q.o.Backoff<<min(m.Attempt-1, 20))
	err := q.o.Clock.Sleep(ctx, wait)
	if err == nil {
		q.add([]queue.Message{m})
	}
	q.finish(m)
}

// forget removes what is done. It doesn't wait: what a crash brings back is done
// once more.
func (q *Queue) forget(done []queue.Message) {
	if len(done) == 0 {
		return
	}
	q.broker.enqueue(write{apply: func(tx *bbolt.Tx) error {
		bucket := tx.Bucket([]byte(q.name))
		for _, m := range done {
			if err := remove(bucket, m.ID); err != nil {
				return err
			}
		}
		return nil
	}})
}

func (q *Queue) dead(m queue.Message, cause string) {
	q.broker.enqueue(write{apply: func(tx *bbolt.Tx) error {
		if err := bury(tx, q.name, m, cause); err != nil {
			return err
		}
		return remove(tx.Bucket([]byte(q.name)), m.ID)
	}})
}

func remove(bucket *bbolt.Bucket, id string) error {
	seq, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return fmt.Errorf("queue: id %q: %w", id, err)
	}
	if bucket == nil {
		return nil
	}
	return bucket.Delete(keyOf(seq))
}
