package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/embedded"
)

// gate is a clock that can hold the writer inside a commit.
type gate struct {
	entered chan struct{} // one for each commit that began
	leave   chan struct{} // closed: nobody is held
}

func newGate() *gate { return &gate{make(chan struct{}, 1000), make(chan struct{})} }

func (g *gate) now() time.Time {
	g.entered <- struct{}{}
	<-g.leave
	return time.Now()
}

// queued tells when a transaction is about to wait for the writer.
type queued struct {
	context.Context

	once sync.Once
	at   chan<- struct{}
}

func (q *queued) Done() <-chan struct{} {
	q.once.Do(func() { q.at <- struct{}{} })
	return q.Context.Done()
}

// crowd holds the writer in one commit while the transactions queue up behind
// it, then lets all go; it returns their results and how many commits they took.
func crowd(t *testing.T, dir string, txs []table.Tx) (*embedded.Store, []error, int) {
	t.Helper()
	g := newGate()
	s := open(t, embedded.Options{Dir: dir, Now: g.now})
	first := make(chan error)
	go func() { first <- s.Transact(t.Context(), tx(item("FIRST", 1))) }()
	<-g.entered
	before := s.Commits(t)
	at := make(chan struct{})
	results := make([]error, len(txs))
	var all sync.WaitGroup
	for i, one := range txs {
		all.Go(func() { results[i] = s.Transact(&queued{Context: t.Context(), at: at}, one) })
		<-at // so they queue in order, but for the last step of each
	}
	close(g.leave)
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	all.Wait()
	return s, results, s.Commits(t) - before - 1
}

func TestWhateverWaitsIsCommittedTogether(t *testing.T) {
	var txs []table.Tx
	for i := range 100 {
		txs = append(txs, tx(item(fmt.Sprint("A#", i), 1), item(fmt.Sprint("B#", i), 1)))
	}
	s, results, commits := crowd(t, t.TempDir(), txs)
	if err := errors.Join(results...); err != nil {
		t.Fatal(err)
	}
	if commits > 10 {
		t.Errorf("%d commits for 100 transactions that waited", commits)
	}
	for i := range txs {
		want(t, s, fmt.Sprint("A#", i), 1)
		want(t, s, fmt.Sprint("B#", i), 1)
	}
}

func TestFailedConditionLeavesItsNeighboursAlone(t *testing.T) {
	var txs []table.Tx
	for i := range 30 {
		mine := table.Put(item(fmt.Sprint("MINE#", i), 1), table.Any())
		switch i % 3 {
		case 0: // holds
			txs = append(txs, table.Tx{Ops: []table.Op{mine}})
		case 1: // only one of these can hold
			txs = append(txs, table.Tx{Ops: []table.Op{mine, table.Put(item("ONCE", uint64(i)), table.Absent())}})
		case 2: // never holds
			txs = append(txs, table.Tx{Ops: []table.Op{mine, table.Check(key("FIRST"), table.VersionIs(9))}})
		}
	}
	s, results, _ := crowd(t, embedded.Memory, txs)
	winners := 0
	for i, err := range results {
		var canceled *table.CanceledError
		switch refused := errors.As(err, &canceled); {
		case err != nil && !refused, i%3 == 0 && refused, i%3 == 2 && !refused:
			t.Errorf("transaction %d: %v", i, err)
		case refused:
			want(t, s, fmt.Sprint("MINE#", i), 0)
			if r := canceled.Reasons; len(r) != 2 || r[0].Failed || !r[1].Failed || r[1].Found == nil {
				t.Errorf("transaction %d: reasons %+v", i, r)
			}
		default:
			want(t, s, fmt.Sprint("MINE#", i), 1)
			if i%3 == 1 {
				winners++
				want(t, s, "ONCE", uint64(i))
			}
		}
	}
	if winners != 1 {
		t.Errorf("%d transactions put the item that must be absent", winners)
	}
}

// A bubble's clock moves only when everyone waits for it.
func TestLoneWriterWaitsForNoTimer(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, embedded.Options{Dir: dir})
		began := time.Now()
		for v := uint64(1); v <= 10; v++ {
			put(t, s, item("A", v))
		}
		if waited := time.Since(began); waited != 0 {
			t.Errorf("ten transactions waited %v for timers", waited)
		}
	})
}

func TestRefusedBatchIsNotCommitted(t *testing.T) {
	s := open(t, embedded.Options{Dir: embedded.Memory})
	put(t, s, item("A", 1))
	before := s.Commits(t)
	var canceled *table.CanceledError
	if err := s.Transact(t.Context(), table.Tx{Ops: []table.Op{table.Check(key("A"), table.Absent())}}); !errors.As(err, &canceled) {
		t.Fatal(err)
	}
	for _, harmless := range []table.Op{
		table.Check(key("A"), table.Present()), table.Delete(key("B"), table.Any()), table.Put(item("A", 1), table.Any()),
	} {
		if err := s.Transact(t.Context(), table.Tx{Ops: []table.Op{harmless}}); err != nil {
			t.Fatal(err)
		}
	}
	if n := s.Commits(t) - before; n != 0 {
		t.Errorf("%d commits for nothing", n)
	}
}

func TestContextEnds(t *testing.T) {
	g := newGate()
	s := open(t, embedded.Options{Dir: embedded.Memory, Now: g.now})
	ended, end := context.WithCancel(t.Context())
	end()
	if err := s.Transact(ended, tx(item("ENDED", 1))); !errors.Is(err, context.Canceled) || errors.Is(err, table.ErrUnknownOutcome) {
		t.Errorf("ended before the call: %v", err)
	}

	start := func(sk string) (func(), <-chan error) {
		ctx, end := context.WithCancel(t.Context())
		at, result := make(chan struct{}), make(chan error, 1)
		go func() { result <- s.Transact(&queued{Context: ctx, at: at}, tx(item(sk, 1))) }()
		<-at
		return end, result
	}
	endHeld, held := start("HELD")
	<-g.entered // the writer has taken it up, and can't know yet whether it begins it
	endQueued, queuedResult := start("QUEUED")
	endQueued()
	if err := <-queuedResult; !errors.Is(err, context.Canceled) || errors.Is(err, table.ErrUnknownOutcome) {
		t.Errorf("ended in the queue: %v", err)
	}
	endHeld()
	if err := <-held; !errors.Is(err, context.Canceled) || errors.Is(err, table.ErrUnknownOutcome) {
		t.Errorf("ended before it was begun: %v", err)
	}
	close(g.leave)
	put(t, s, item("LAST", 1))
	for _, sk := range []string{"ENDED", "HELD", "QUEUED"} {
		want(t, s, sk, 0)
	}
}

func TestCloseAnswersEverybody(t *testing.T) {
	g := newGate()
	s := open(t, embedded.Options{Dir: embedded.Memory, Now: g.now})
	results, at := make(chan error, 50), make(chan struct{})
	for i := range 50 {
		go func() { results <- s.Transact(&queued{Context: t.Context(), at: at}, tx(item(fmt.Sprint(i), 1))) }()
		<-at
	}
	<-g.entered
	closed := make(chan error)
	go func() { closed <- s.Close() }()
	close(g.leave)
	done := 0
	for range 50 {
		switch err := <-results; {
		case err == nil:
			done++
		case !errors.Is(err, embedded.ErrClosed):
			t.Error(err)
		}
	}
	if err := <-closed; err != nil || done == 0 {
		t.Errorf("close: %v; %d transactions done, want the one at work at least", err, done)
	}
}

func TestPanicStopsWritesAndHangsNobody(t *testing.T) {
	var broken atomic.Bool
	s := open(t, embedded.Options{Dir: embedded.Memory, Now: func() time.Time {
		if broken.Load() {
			panic("the clock is broken")
		}
		return time.Now()
	}})
	put(t, s, item("A", 1))
	if err := s.Health(); err != nil {
		t.Fatal(err)
	}
	broken.Store(true)
	if err := s.Transact(t.Context(), tx(item("A", 2))); !errors.Is(err, table.ErrUnknownOutcome) {
		t.Fatalf("error %v, want ErrUnknownOutcome", err)
	}
	broken.Store(false)
	var stopped *embedded.StoppedError
	err := s.Transact(t.Context(), tx(item("A", 3)))
	if !errors.As(err, &stopped) || !errors.Is(err, table.ErrThrottled) || !errors.As(s.Health(), &stopped) {
		t.Fatalf("error %v, health %v, want a StoppedError", err, s.Health())
	}
	want(t, s, "A", 1)
}
