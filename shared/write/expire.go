package write

import (
	"context"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// policyDue is a policy's place among due work: when the first of its
// assignments is over. Decisions never wait for it: an assignment counts until
// its instant and no longer.
func policyDue(s rbac.ScopeID, u rbac.SubjectID, as []rbac.Assignment) keys.IndexKey {
	var first rbac.Expiry
	for _, a := range as {
		if !a.Expiry.Never() && (first.Never() || first.Later(a.Expiry).Equal(first)) {
			first = a.Expiry
		}
	}
	if first.Never() {
		return keys.IndexKey{}
	}
	return keys.Due(first.Time(), "policy/"+s.String()+"/"+u.String())
}

// ExpireRoles takes the assignments off a policy that are over, with one
// `policy.role_expired`. Unchanged when there are none.
func (w *Writer) ExpireRoles(ctx context.Context, req *Request, s Scope, u rbac.SubjectID) (Outcome, error) {
	return w.writePolicy(ctx, req, policyWrite{scope: s, subject: u, wish: func(held held) (wish, error) {
		if !held.exists {
			return wish{}, ErrNoPolicy
		}
		now := w.Clock.Now()
		keep := filter(held.assignments, func(a rbac.Assignment) bool { return a.Expiry.InForce(now) })
		return wish{keep: keep, event: events.PolicyRoleExpired}, nil
	}})
}

// EndOverlap forgets the secret that a key had before its rotation, once it no
// longer works. No event: the rotation said when it ends.
func (w *Writer) EndOverlap(ctx context.Context, it *table.Item, key entity.APIKey) error {
	if key.PreviousEnd == nil || w.Clock.Now().Before(*key.PreviousEnd) {
		return nil
	}
	key.Previous, key.PreviousEnd = nil, nil
	req := &Request{Origin: Origin{Actor: events.Actor{Type: "system", ID: "scheduler"}}, Time: w.Clock.Now().UTC(), EventID: it.LastEvent}
	next, err := req.body(it.Key, it.Type, it.Version+1, it, key)
	if err != nil {
		return err
	}
	next.Index[keys.GSI4-1] = keys.IndexKey{}
	return w.transact(ctx, table.Tx{Ops: []table.Op{table.Put(next, table.VersionIs(it.Version))}})
}
