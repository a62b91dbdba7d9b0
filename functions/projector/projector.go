// Package projector keeps access documents true: it sees definitions change in
// the stream, hands their fan-out on in pieces, and looks over every document
// that anyone writes.
package projector

import (
	"context"
	"log/slog"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/shared/head"
	"github.com/wardenhq/warden/shared/queue"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/recompute"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/write"
)

// Config is what the projector works with.
type Config struct {
	Engine *recompute.Engine
	Writer *write.Writer
	Queue  queue.Sender // recompute: one message a step
	Log    *slog.Logger
}

// Projector is the function.
type Projector struct{ Config }

// New makes the function.
func New(c Config) *Projector { return &Projector{c} }

// Changes is the stream.Handler. What it does not know is not for it.
func (p *Projector) Changes(ctx context.Context, batch []table.Change) (done int, err error) {
	for i, c := range batch {
		if err := p.change(ctx, c); err != nil {
			return i, err
		}
	}
	return len(batch), nil
}

func (p *Projector) change(ctx context.Context, c table.Change) error {
	switch {
	case c.New == nil:
		return nil
	case c.New.Type == "Head":
		return p.headChanged(ctx, c)
	case c.New.Type == "Access":
		return p.documentWritten(ctx, c.New)
	}
	return nil
}

// headChanged begins the fan-out of each entry that the change put into flux.
func (p *Projector) headChanged(ctx context.Context, c table.Change) error {
	now, err := head.Decode(c.New)
	if err != nil {
		return err
	}
	var was head.Head
	if c.Old != nil {
		old, err := head.Decode(c.Old)
		if err != nil {
			return err
		}
		was = *old
	}
	if now.Deleted || now.Revision == was.Revision {
		return nil
	}
	scope, err := keys.ParseHead(c.New.Key)
	if err != nil {
		return err
	}
	var fresh []head.Entry
	for _, e := range now.Flux {
		if e.Revision > was.Revision {
			fresh = append(fresh, e)
		}
	}
	if now.All.Revision > was.Revision {
		fresh = append(fresh, now.All)
	}
	for _, e := range fresh {
		var id rbac.DefinitionID
		if e.Name == now.Last.Hash() {
			id = now.Last
		}
		job, begun, err := p.Engine.Begin(ctx, scope, now, e, id)
		if err != nil {
			return err
		}
		if begun {
			if err := p.send(ctx, job); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *Projector) send(ctx context.Context, job recompute.Job) error {
	body, err := json.Marshal(job)
	if err != nil {
		return err
	}
	return p.Queue.Send(ctx, []queue.Message{{Group: job.Scope.String(), Body: body}})
}

// documentWritten is the second net (design rule 8): a document that its
// definitions don't bear out is mended and reported.
func (p *Projector) documentWritten(ctx context.Context, it *table.Item) error {
	scope, subject, err := keys.ParseAccess(it.Key)
	if err != nil {
		return err
	}
	suspicious, err := p.Engine.Suspicious(ctx, scope, it)
	if err != nil || !suspicious {
		return err
	}
	drift, found, err := p.Engine.Compare(ctx, scope, subject, true)
	if err != nil || !found {
		return err
	}
	p.Log.ErrorContext(ctx, "a document was not what its definitions grant", "scope", scope.String(), "kind", string(drift.Kind), "repaired", drift.Repaired)
	return p.report(ctx, scope, drift)
}

// report announces drift, so that it is audited and can be subscribed to.
func (p *Projector) report(ctx context.Context, scope rbac.ScopeID, drift recompute.Drift) error {
	h, err := p.Engine.Head(ctx, scope)
	if err != nil || h == nil {
		return err
	}
	after, err := json.Marshal(drift)
	if err != nil {
		return err
	}
	req := p.Writer.NewRequest(write.Origin{Actor: events.Actor{Type: "system", ID: "projector"}})
	return p.Writer.Announce(ctx, req, h.Org, scope, events.Event{
		Type: events.AccessDriftDetected, Target: events.Target{Type: "policy", ID: drift.Subject.String()}, After: after,
	})
}

// Work is the queue.Handler of fan-outs: it does some steps of each and hands the
// rest on. One that waits is taken up by the scheduler when it is due.
func (p *Projector) Work(ctx context.Context, batch []queue.Message) (failed []string) {
	for _, m := range batch {
		if err := p.step(ctx, m); err != nil {
			p.Log.ErrorContext(ctx, "a step of a fan-out failed", "message", m.ID, "attempt", m.Attempt, "error", err)
			failed = append(failed, m.ID)
		}
	}
	return slices.Clip(failed)
}

func (p *Projector) step(ctx context.Context, m queue.Message) error {
	var job recompute.Job
	if err := json.Unmarshal(m.Body, &job); err != nil {
		return err
	}
	for range stepsPerMessage {
		next, err := p.Engine.Step(ctx, job)
		if err != nil || next.Done || next.Wait > 0 {
			return err
		}
	}
	return p.send(ctx, job)
}

// stepsPerMessage is how many steps a message stands for, at most: enough to save
// most of what handing on costs, and over in a second or two, so that the scopes
// that wait have their turn.
const stepsPerMessage = 10
