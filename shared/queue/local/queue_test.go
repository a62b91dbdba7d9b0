package local_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wardenhq/warden/shared/clock"
	"github.com/wardenhq/warden/shared/queue"
	"github.com/wardenhq/warden/shared/queue/local"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func closed(t *testing.T, b *local.Broker) {
	t.Helper()
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// log notes what was handled, and lets a test wait for it.
type log struct {
	mu   sync.Mutex
	cond *sync.Cond
	got  []string
}

func newLog() *log {
	l := &log{}
	l.cond = sync.NewCond(&l.mu)
	return l
}

func (l *log) add(s string) {
	l.mu.Lock()
	l.got = append(l.got, s)
	l.mu.Unlock()
	l.cond.Broadcast()
}

// wait returns what was handled once it is n.
func (l *log) wait(n int) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.got) < n {
		l.cond.Wait()
	}
	return slices.Clone(l.got)
}

func open(t *testing.T, path string) *local.Broker {
	t.Helper()
	b, err := local.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func options(h queue.Handler) local.Options {
	return local.Options{Handler: h, Workers: 2, Batch: 1, MaxReceive: 3, Backoff: time.Microsecond, Longest: time.Millisecond, Clock: clock.System{}}
}

// start runs a queue until the function it returns is called.
func start(t *testing.T, b *local.Broker, name string, o local.Options) (q *local.Queue, stop func()) {
	t.Helper()
	q, err := b.Queue(name, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); q.Run(ctx) }()
	return q, func() { cancel(); <-done }
}

func send(t *testing.T, q *local.Queue, texts ...string) {
	t.Helper()
	var ms []queue.Message
	for _, s := range texts {
		group, _, _ := strings.Cut(s, "/")
		ms = append(ms, queue.Message{Group: group, Body: []byte(s)})
	}
	if err := q.Send(t.Context(), ms); err != nil {
		t.Fatal(err)
	}
}

func ids(batch []queue.Message) (out []string) {
	for _, m := range batch {
		out = append(out, m.ID)
	}
	return out
}

func TestMessagesOutliveTheProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "queues.db")
	b := open(t, path)
	q, err := b.Queue("work", options(nil)) // not running
	if err != nil {
		t.Fatal(err)
	}
	send(t, q, "a/1", "a/2", "b/1")
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := q.Send(t.Context(), []queue.Message{{Body: []byte("x")}}); !errors.Is(err, local.ErrClosed) {
		t.Errorf("sent to a closed broker: %v", err)
	}
	b = open(t, path)
	l := newLog()
	_, stop := start(t, b, "work", options(func(_ context.Context, batch []queue.Message) []string {
		for _, m := range batch {
			l.add(string(m.Body))
		}
		return nil
	}))
	got := l.wait(3)
	slices.Sort(got)
	if !slices.Equal(got, []string{"a/1", "a/2", "b/1"}) {
		t.Errorf("got %v", got)
	}
	stop()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b = open(t, path)
	defer closed(t, b)
	if q, err = b.Queue("work", options(nil)); err != nil || q.Len() != 0 {
		t.Errorf("%d messages come back after they were done, %v", q.Len(), err)
	}
}

func TestFailuresAreRetriedThenDead(t *testing.T) {
	b := open(t, local.Memory)
	defer closed(t, b)
	l := newLog()
	heal := false
	var mu sync.Mutex
	q, stop := start(t, b, "work", options(func(_ context.Context, batch []queue.Message) (failed []string) {
		mu.Lock()
		defer mu.Unlock()
		for _, m := range batch {
			l.add(fmt.Sprintf("%s#%d", m.Body, m.Attempt))
		}
		if heal {
			return nil
		}
		return ids(batch)
	}))
	defer stop()
	send(t, q, "a/1")
	if got := l.wait(3); !slices.Equal(got, []string{"a/1#1", "a/1#2", "a/1#3"}) {
		t.Fatalf("got %v", got)
	}
	var dead []local.Dead
	for len(dead) == 0 { // its commit follows the last attempt
		var err error
		if dead, err = b.Dead("work", 10); err != nil {
			t.Fatal(err)
		}
	}
	if len(dead) != 1 || string(dead[0].Body) != "a/1" || dead[0].Attempt != 3 || dead[0].Cause == "" {
		t.Fatalf("dead letters %+v", dead)
	}
	mu.Lock()
	heal = true
	mu.Unlock()
	if n, err := b.Redrive(t.Context(), "work"); err != nil || n != 1 {
		t.Fatalf("redrove %d, %v", n, err)
	}
	if got := l.wait(4); got[3] != "a/1#1" {
		t.Errorf("got %v", got)
	}
	if names, err := b.DeadQueues(); err != nil || len(names) != 0 {
		t.Errorf("dead queues %v, %v", names, err)
	}
}

func TestPanicsAreFailures(t *testing.T) {
	b := open(t, local.Memory)
	defer closed(t, b)
	l := newLog()
	q, stop := start(t, b, "work", options(func(_ context.Context, batch []queue.Message) []string {
		l.add(string(batch[0].Body))
		if batch[0].Attempt == 1 {
			panic("at the first attempt")
		}
		return nil
	}))
	defer stop()
	send(t, q, "a/1")
	l.wait(2)
}

func TestGroupsTakeTurns(t *testing.T) {
	b := open(t, local.Memory)
	defer closed(t, b)
	l := newLog()
	o := options(func(_ context.Context, batch []queue.Message) []string {
		l.add(string(batch[0].Body))
		return nil
	})
	o.Workers = 1
	q, err := b.Queue("work", o)
	if err != nil {
		t.Fatal(err)
	}
	var flood []string
	for i := range 100 {
		flood = append(flood, fmt.Sprintf("loud/%d", i))
	}
	send(t, q, flood...)
	send(t, q, "quiet/1")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); q.Run(ctx) }()
	if got := l.wait(3); !slices.Contains(got[:3], "quiet/1") {
		t.Errorf("the quiet group waits behind the loud one: %v", got)
	}
	cancel()
	<-done
}

func TestAHangingGroupHoldsNoOther(t *testing.T) {
	b := open(t, local.Memory)
	defer closed(t, b)
	l := newLog()
	release := make(chan struct{})
	o := options(func(_ context.Context, batch []queue.Message) []string {
		if batch[0].Group == "hangs" {
			<-release
		}
		l.add(string(batch[0].Body))
		return nil
	})
	o.Workers, o.PerGroup = 3, 2
	q, stop := start(t, b, "work", o)
	send(t, q, "hangs/1", "hangs/2", "hangs/3", "hangs/4")
	send(t, q, "fine/1", "fine/2")
	got := l.wait(2)
	slices.Sort(got)
	if !slices.Equal(got, []string{"fine/1", "fine/2"}) {
		t.Errorf("got %v", got)
	}
	close(release)
	l.wait(6)
	stop()
}

func TestOversizedMessagesAreRefused(t *testing.T) {
	b := open(t, local.Memory)
	defer closed(t, b)
	q, err := b.Queue("work", options(nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Send(t.Context(), []queue.Message{{Body: make([]byte, queue.MaxBatchBytes+1)}}); err == nil {
		t.Error("sent")
	}
}

func TestCheckpointsOutliveTheProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "queues.db")
	b := open(t, path)
	if s, err := b.Checkpoint(t.Context(), "audit", "0"); err != nil || s != "" {
		t.Errorf("got %q, %v", s, err)
	}
	if err := b.SaveCheckpoint(t.Context(), "audit", "0", "17"); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b = open(t, path)
	defer closed(t, b)
	if s, err := b.Checkpoint(t.Context(), "audit", "0"); err != nil || s != "17" {
		t.Errorf("got %q, %v", s, err)
	}
	if s, err := b.Checkpoint(t.Context(), "projector", "0"); err != nil || s != "" {
		t.Errorf("another reader got %q, %v", s, err)
	}
	if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("file %v, %v", fi.Mode(), err)
	}
}
