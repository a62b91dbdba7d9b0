package write

import (
	"context"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/shared/rbac"
)

// Announce writes an event that no change of an entity goes with: what Warden
// itself noticed. Type, Target, Before and After are the caller's.
func (w *Writer) Announce(ctx context.Context, req *Request, o rbac.OrgID, s rbac.ScopeID, e events.Event) error {
	_, err := w.commit(ctx, req, func(context.Context) (*plan, error) {
		next := e
		next.Org = o.String()
		if !s.IsZero() {
			next.Scope = new(s.String())
		}
		return &plan{event: &next}, nil
	})
	return err
}
