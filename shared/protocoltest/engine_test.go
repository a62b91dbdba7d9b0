package protocoltest

import (
	"time"

	"github.com/wardenhq/warden/shared/recompute"
)

// engine runs the real fan-out: whoever is at hand takes a job's next step, so
// that two may be at the same one.
func (s *sim) engine(rounds int) func(*actor) {
	return func(a *actor) {
		t := a.store()
		e := &recompute.Engine{Table: t, Snapshots: a.snapshots(t), Clock: watch{a}, Backoff: a.backoff(), Changed: a.process.items.Drop}
		for range rounds {
			if err := a.fanOut(e, newFanout(a)); err != nil {
				if a.dead {
					return
				}
				a.log("gives up: %v", err)
			}
		}
	}
}

// fanOut takes one entry to its end, from a stream record, which comes late,
// twice and in any order, or from what flux holds.
func (a *actor) fanOut(e *recompute.Engine, f *fanout) error {
	s := a.sim
	c, err := f.choose()
	if err != nil || c.head == nil {
		return err
	}
	entry := entryOf(c.head, c.id)
	job, begun, err := e.Begin(s.ctx, s.scope.ID, c.head, entry, c.id)
	if err != nil || !begun && a.rnd.IntN(2) == 0 {
		return err
	}
	for {
		next, err := e.Step(s.ctx, job)
		if err != nil || next.Done {
			return err
		}
		if err := f.sleep(max(next.Wait, 100*time.Millisecond)); err != nil { // a step that does not show yet is done again
			return err
		}
	}
}
