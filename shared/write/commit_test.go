package write_test

import (
	"context"
	"strings"
	"testing"

	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/table"
)

// faulty answers transactions by a script: before nil, the store's own answer.
type faulty struct {
	table.Store
	script []func(context.Context, table.Store, table.Tx) error
	calls  int
}

func (f *faulty) Transact(ctx context.Context, tx table.Tx) error {
	f.calls++
	if len(f.script) == 0 {
		return f.Store.Transact(ctx, tx)
	}
	next := f.script[0]
	f.script = f.script[1:]
	return next(ctx, f.Store, tx)
}

func fails(err error) func(context.Context, table.Store, table.Tx) error {
	return func(context.Context, table.Store, table.Tx) error { return err }
}

// lost commits, and the answer never comes.
func lost(ctx context.Context, s table.Store, tx table.Tx) error {
	if err := s.Transact(ctx, tx); err != nil {
		return err
	}
	return table.ErrUnknownOutcome
}

func (w *world) script(steps ...func(context.Context, table.Store, table.Tx) error) *faulty {
	f := &faulty{Store: w.table, script: steps}
	w.writer.Table = f
	return f
}

func (w *world) events() (n int) {
	feed, ok := w.table.(table.Feed)
	if !ok {
		w.t.Fatal("the table has no feed")
	}
	shards, err := feed.Shards(w.ctx)
	must(w.t, err)
	changes, _, err := feed.Changes(w.ctx, shards[0], "", 10000)
	must(w.t, err)
	for _, c := range changes {
		if c.New != nil && c.New.Type == "Event" {
			n++
		}
	}
	return n
}

func TestLostAnswersTakeEffectOnce(t *testing.T) {
	for name, steps := range map[string][]func(context.Context, table.Store, table.Tx) error{
		"lost once":               {lost},
		"lost, then a conflict":   {lost, fails(table.ErrConflict)},
		"nothing happened":        {fails(table.ErrUnknownOutcome)},
		"throttled, then lost":    {fails(table.ErrThrottled), lost},
		"lost, and the retry too": {lost, fails(table.ErrUnknownOutcome)},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.mustRole("r")
			before := w.events()
			w.script(steps...)
			out, err := w.writer.AssignRole(w.ctx, w.request(), w.scope, subject("u"), grants("r")[0], nil)
			must(t, err)
			if out.Replaced || !out.Created || out.Item == nil || out.Item.Version != 1 {
				t.Errorf("outcome %+v", out)
			}
			if got := w.events() - before; got != 1 {
				t.Errorf("%d events", got)
			}
		})
	}
}

func TestLostDefinitionAnswersTakeEffectOnce(t *testing.T) {
	w := newWorld(t)
	w.script(lost)
	out := w.putPermission("a:x")
	if !out.Created || out.Item.Version != 1 {
		t.Errorf("outcome %+v", out)
	}
	if h := w.readHead(); h.Revision != 2 {
		t.Errorf("revision %d", h.Revision)
	}
}

func TestConflictsAreBounded(t *testing.T) {
	w := newWorld(t)
	for _, cause := range []error{table.ErrConflict, table.ErrThrottled, table.ErrUnknownOutcome} {
		var steps []func(context.Context, table.Store, table.Tx) error
		for range 50 {
			steps = append(steps, fails(cause))
		}
		f := w.script(steps...)
		_, err := w.writer.PutPolicy(w.ctx, w.request(), w.scope, subject("u"), grants("admin"), nil)
		refusedAs(t, err, fault.Busy)
		if f.calls != w.writer.Backoff.Tries {
			t.Errorf("%v: %d tries", cause, f.calls)
		}
	}
}

// TestStaleReadsArePlannedAnew: what changed between reading and committing is
// read again, never overwritten.
func TestStaleReadsArePlannedAnew(t *testing.T) {
	w := newWorld(t)
	w.mustRole("a")
	w.mustRole("b")
	plain := *w.writer
	w.script(func(ctx context.Context, s table.Store, tx table.Tx) error {
		_, err := plain.AssignRole(ctx, w.request(), w.scope, subject("u"), grants("a")[0], nil)
		must(t, err)
		return s.Transact(ctx, tx)
	})
	w.assign("u", "b")
	if w.members("a") != "u" || w.members("b") != "u" {
		t.Errorf("members %q, %q", w.members("a"), w.members("b"))
	}
}

// TestFencesStopAssignmentsInFlight: whoever raises the fences knows that what
// commits later has read the definitions after.
func TestFencesStopAssignmentsInFlight(t *testing.T) {
	w := newWorld(t)
	w.mustRole("r")
	raised := 0
	f := w.script(func(ctx context.Context, s table.Store, tx table.Tx) error {
		for _, op := range tx.Ops {
			if op.Action == table.ActionCheck && strings.HasPrefix(op.Key.SK(), "FENCE#") {
				raised++
				must(t, s.Transact(ctx, table.Tx{Ops: []table.Op{table.Put(&table.Item{Key: op.Key, Type: "Fence", Version: 1}, table.Any())}}))
			}
		}
		return s.Transact(ctx, tx)
	})
	w.assign("u", "r")
	if raised != 1 || f.calls != 2 {
		t.Errorf("%d fences checked, %d transactions", raised, f.calls)
	}
}

func TestWritersTellWhatTheyTouched(t *testing.T) {
	w := newWorld(t)
	w.mustRole("r")
	w.assign("u", "r")
	if got := w.ask("u", "a", "x", false); got != rbac.ReasonNoMatch { // document and HEAD are cached now
		t.Fatalf("got %s", got)
	}
	w.script(lost)
	_, err := w.writer.DeletePolicy(w.ctx, w.request(), w.scope, subject("u"), nil)
	must(t, err)
	if got := w.ask("u", "a", "x", false); got != rbac.ReasonNoPolicy {
		t.Errorf("got %s: the process is behind its own write", got)
	}
}
