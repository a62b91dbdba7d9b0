package scheduler

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/shared/clock"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/head"
	"github.com/wardenhq/warden/shared/purge"
	"github.com/wardenhq/warden/shared/queue"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/recompute"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/write"
)

// Recomputes hands fan-outs on that rest longer than they should, or have
// waited long enough.
func Recomputes(q queue.Sender) Handler {
	return func(ctx context.Context, it *table.Item) error {
		r, err := stored.Decode[entity.Recompute](it)
		if err != nil {
			return err
		}
		return sendJob(ctx, q, recompute.Job{Scope: r.Scope, Name: r.Name})
	}
}

func sendJob(ctx context.Context, q queue.Sender, job recompute.Job) error {
	body, err := json.Marshal(job)
	if err != nil {
		return err
	}
	return q.Send(ctx, []queue.Message{{Group: job.Scope.String(), Body: body}})
}

// Policies takes roles that are over off policies.
func Policies(w *write.Writer) Handler {
	return func(ctx context.Context, it *table.Item) error {
		p, err := stored.Decode[entity.Policy](it)
		if err != nil {
			return err
		}
		s, err := keys.ParsePolicy(it.Key)
		if err != nil {
			return err
		}
		h, err := readHead(ctx, w.Table, s)
		if err != nil || h == nil || h.Deleted {
			return err // a purge takes the policy away
		}
		_, err = w.ExpireRoles(ctx, w.NewRequest(origin), write.Scope{Org: h.Org, ID: s, Incarnation: h.Incarnation}, p.Subject)
		if fault.CodeOf(err) == fault.NotFound {
			return nil
		}
		return err
	}
}

// origin is who asks for what the clock brings about.
var origin = write.Origin{Actor: events.Actor{Type: "system", ID: "scheduler"}}

func readHead(ctx context.Context, r table.Reader, s rbac.ScopeID) (*head.Head, error) {
	it, err := r.Get(ctx, keys.Head(s).Raw(), table.Strong)
	if err != nil || it == nil {
		return nil, err
	}
	return head.Decode(it)
}

// APIKeys ends the overlap of rotated keys.
func APIKeys(w *write.Writer) Handler {
	return func(ctx context.Context, it *table.Item) error {
		k, err := stored.Decode[entity.APIKey](it)
		if err != nil {
			return err
		}
		var canceled *table.CanceledError
		if err := w.EndOverlap(ctx, it, k); !errors.As(err, &canceled) {
			return err
		}
		return nil // rotated or revoked meanwhile
	}
}

// purgeSteps is how many steps one run gives one purge.
const purgeSteps = 50

// Scopes purges deleted scopes.
func Scopes(p *purge.Purger, r table.Reader) Handler {
	return func(ctx context.Context, it *table.Item) error {
		return steps(ctx, r, it, p.Scope)
	}
}

// Orgs purges deleted orgs. First of all it marks scopes that a deletion left
// unmarked when it was interrupted: checks in them would go on.
func Orgs(p *purge.Purger, w *write.Writer) Handler {
	return func(ctx context.Context, it *table.Item) error {
		o, err := stored.Decode[entity.Org](it)
		if err != nil {
			return err
		}
		if err := w.MarkScopes(ctx, w.NewRequest(origin), o.ID); err != nil {
			return err
		}
		return steps(ctx, w.Table, it, p.Org)
	}
}

func steps[E any](ctx context.Context, r table.Reader, it *table.Item, step func(context.Context, *table.Item, E) (purge.Next, error)) error {
	for range purgeSteps {
		e, err := stored.Decode[E](it)
		if err != nil {
			return err
		}
		next, err := step(ctx, it, e)
		if err != nil || next.Done || next.Wait > 0 {
			return err
		}
		if it, err = r.Get(ctx, it.Key, table.Strong); err != nil || it == nil {
			return err
		}
	}
	return nil
}

// Sweep takes up entries in flux that no fan-out works on: the stream forgets,
// the table does not.
func Sweep(e *recompute.Engine, q queue.Sender, c clock.Clock) Task {
	return Task{Name: "flux", Run: func(ctx context.Context) error {
		var failed error
		err := eachScope(ctx, e.Table, func(s rbac.ScopeID) {
			jobs, err := e.Abandoned(ctx, s, c.Now())
			failed = errors.Join(failed, err)
			for _, job := range jobs {
				failed = errors.Join(failed, sendJob(ctx, q, job))
			}
		})
		return errors.Join(err, failed)
	}}
}

// eachScope visits all scopes of all orgs.
func eachScope(ctx context.Context, r table.Reader, visit func(rbac.ScopeID)) error {
	var failed error
	err := stored.All(ctx, r, keys.OrgsByName(), func(o stored.Row[entity.Org]) bool {
		failed = errors.Join(failed, stored.All(ctx, r, keys.Scopes(o.Entity.ID), func(s stored.Row[entity.Scope]) bool {
			if !s.Entity.Deleting {
				visit(s.Entity.ID)
			}
			return true
		}))
		return ctx.Err() == nil
	})
	return errors.Join(err, failed)
}
