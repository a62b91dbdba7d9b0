package write

import (
	"context"
	"slices"
	"time"

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

// working are the past secrets that have not ended.
func working(past []entity.PastSecret, now time.Time) []entity.PastSecret {
	return slices.DeleteFunc(slices.Clone(past), func(p entity.PastSecret) bool { return !now.Before(p.Until) })
}

// firstEnd is when the first of some past secrets ends.
func firstEnd(past []entity.PastSecret) time.Time {
	return slices.MinFunc(past, func(a, b entity.PastSecret) int { return a.Until.Compare(b.Until) }).Until
}

// overlapDue is a key's place among due work: when the first of its past secrets
// ends. That they work no longer never waits for it.
func overlapDue(key entity.APIKey) keys.IndexKey {
	if len(key.Previous) == 0 {
		return keys.IndexKey{}
	}
	return keys.Due(firstEnd(key.Previous), "key/"+key.Org.String()+"/"+key.ID.String())
}

// EndOverlap forgets the secrets that a key had before rotations and that no
// longer work. No event: the rotations said when they end.
func (w *Writer) EndOverlap(ctx context.Context, it *table.Item, key entity.APIKey) error {
	rest := working(key.Previous, w.Clock.Now())
	if len(rest) == len(key.Previous) {
		return nil
	}
	key.Previous = rest
	req := &Request{Origin: Origin{Actor: events.Actor{Type: "system", ID: "scheduler"}}, Time: w.Clock.Now().UTC(), EventID: it.LastEvent}
	next, err := req.body(it.Key, it.Type, it.Version+1, it, key)
	if err != nil {
		return err
	}
	next.Index[keys.GSI4-1] = overlapDue(key)
	return w.transact(ctx, table.Tx{Ops: []table.Op{table.Put(next, table.VersionIs(it.Version))}})
}
