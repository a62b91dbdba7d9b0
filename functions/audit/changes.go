package audit

import (
	"context"

	"github.com/wardenhq/warden/events"
	trail "github.com/wardenhq/warden/shared/audit"
	"github.com/wardenhq/warden/shared/table"
)

// Changes is the stream.Handler: it appends the events that the batch brings,
// publishes them, and looks at every other change for the event that claims it.
func (a *Audit) Changes(ctx context.Context, batch []table.Change) (done int, err error) {
	claims := claimsOf(batch)
	b := newAppends()
	for i, c := range batch {
		if !trail.IsOutbox(c.New) || c.Old != nil {
			continue
		}
		p, err := trail.ReadPending(c.New)
		if err != nil {
			done, failed := a.consume(ctx, batch[:i], b, claims)
			if failed != nil {
				return done, failed
			}
			return i, err
		}
		b.add(i, p)
	}
	return a.consume(ctx, batch, b, claims)
}

// consume says how many changes of the batch are over: all before the first one
// that failed. What is done beyond it is found done when it comes again.
func (a *Audit) consume(ctx context.Context, batch []table.Change, b *appends, claims claims) (done int, err error) {
	done = len(batch)
	failed := func(at int, cause error) {
		if at < done {
			done, err = at, cause
		}
	}
	for _, id := range b.order {
		if at, err := a.append(ctx, b.of[id]); err != nil {
			failed(at, err)
		}
	}
	for i, c := range batch[:done] {
		if cause := a.watch(ctx, c, claims); cause != nil {
			failed(i, cause)
			break
		}
	}
	return done, err
}

// appends are a batch's events by chain.
type appends struct {
	of    map[trail.ID]*series
	order []trail.ID
}

// series is one chain's events with their places in the batch.
type series struct {
	pending []trail.Pending
	at      []int
}

func newAppends() *appends { return &appends{of: make(map[trail.ID]*series)} }

func (b *appends) add(at int, p trail.Pending) {
	s := b.of[p.Chain]
	if s == nil {
		s = new(series)
		b.of[p.Chain] = s
		b.order = append(b.order, p.Chain)
	}
	s.pending, s.at = append(s.pending, p), append(s.at, at)
}

// append appends and publishes a chain's events. On an error at is the place of
// the first one that is not over.
func (a *Audit) append(ctx context.Context, s *series) (at int, err error) {
	appended, err := a.Log.Append(ctx, s.pending)
	if len(appended) > 0 {
		if failed := a.Publish(ctx, appended); failed != nil {
			return s.at[0], failed
		}
	}
	if err == nil {
		return 0, nil
	}
	over := make(map[string]bool, len(appended))
	for i := range appended {
		over[appended[i].ID] = true
	}
	for i := range s.pending {
		if !over[s.pending[i].Event.ID] {
			return s.at[i], err
		}
	}
	return s.at[0], err
}

// claims are what events of a batch say happened.
type claims struct {
	ids     map[string]bool
	targets map[events.Target]bool // of what they say is gone
}

// removes says whether an event is of something that is gone.
func removes(e *events.Event) bool { return e.After == nil || string(e.After) == "null" }

func claimsOf(batch []table.Change) claims {
	c := claims{ids: make(map[string]bool), targets: make(map[events.Target]bool)}
	for _, change := range batch {
		if !trail.IsOutbox(change.New) {
			continue
		}
		if p, err := trail.ReadPending(change.New); err == nil {
			c.ids[p.Event.ID] = true
			if removes(&p.Event) {
				c.targets[p.Event.Target] = true
			}
		}
	}
	return c
}
