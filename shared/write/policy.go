package write

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/shared/access"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/head"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/resource"
	"github.com/wardenhq/warden/shared/revision"
	"github.com/wardenhq/warden/shared/snapshot"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// Grant is a role to be held directly, and until when.
type Grant struct {
	Role   rbac.RoleID
	Expiry rbac.Expiry
}

// ErrNoPolicy is the fault of a subject without a policy in the scope.
var ErrNoPolicy = fault.New(fault.NotFound, "no such policy")

// PutPolicy replaces a subject's direct assignments, and creates its policy
// when there is none. Assignments from other sources stay.
func (w *Writer) PutPolicy(ctx context.Context, req *Request, s Scope, u rbac.SubjectID, grants []Grant, pre Precondition) (Outcome, error) {
	return w.writePolicy(ctx, req, policyWrite{scope: s, subject: u, pre: pre, roles: grants, wish: func(held held) (wish, error) {
		return wish{direct: grants, keep: held.other()}, nil
	}})
}

// DeletePolicy takes a subject's direct assignments away, and its policy with
// them unless it has assignments from other sources.
func (w *Writer) DeletePolicy(ctx context.Context, req *Request, s Scope, u rbac.SubjectID, pre Precondition) (Outcome, error) {
	return w.writePolicy(ctx, req, policyWrite{scope: s, subject: u, pre: pre, wish: func(held held) (wish, error) {
		if !held.exists {
			return wish{}, ErrNoPolicy
		}
		keep := held.other()
		return wish{keep: keep, delete: len(keep) == 0}, nil
	}})
}

// AssignRole gives a subject one role directly. Replaced tells that it held the
// role before: then the expiry is replaced.
func (w *Writer) AssignRole(ctx context.Context, req *Request, s Scope, u rbac.SubjectID, g Grant, pre Precondition) (Outcome, error) {
	return w.writePolicy(ctx, req, policyWrite{scope: s, subject: u, pre: pre, roles: []Grant{g}, wish: func(held held) (wish, error) {
		rest := held.without(g.Role)
		return wish{direct: []Grant{g}, one: true, keep: rest, replaces: len(rest) < len(held.assignments)}, nil
	}})
}

// RevokeRole takes one direct assignment away; fault.NotFound when there is none.
func (w *Writer) RevokeRole(ctx context.Context, req *Request, s Scope, u rbac.SubjectID, r rbac.RoleID, pre Precondition) (Outcome, error) {
	return w.writePolicy(ctx, req, policyWrite{scope: s, subject: u, pre: pre, wish: func(held held) (wish, error) {
		rest := held.without(r)
		if len(rest) == len(held.assignments) {
			return wish{}, fault.New(fault.NotFound, "the subject does not hold this role directly")
		}
		return wish{keep: rest}, nil
	}})
}

// policyWrite is one change of one subject's assignments.
type policyWrite struct {
	scope   Scope
	subject rbac.SubjectID
	pre     Precondition // of the policy
	roles   []Grant      // whose definitions the wish needs
	wish    func(held) (wish, error)
}

// held is what the subject holds before the change.
type held struct {
	exists      bool
	assignments []rbac.Assignment
}

func (h held) other() []rbac.Assignment {
	return filter(h.assignments, func(a rbac.Assignment) bool { return a.Source.Kind != rbac.SourceDirect })
}

func (h held) without(r rbac.RoleID) []rbac.Assignment {
	return filter(h.assignments, func(a rbac.Assignment) bool { return a.Source.Kind != rbac.SourceDirect || a.Role.ID != r })
}

func filter(as []rbac.Assignment, keep func(rbac.Assignment) bool) []rbac.Assignment {
	var out []rbac.Assignment
	for _, a := range as {
		if keep(a) {
			out = append(out, a)
		}
	}
	return out
}

// wish is what the subject is to hold after it.
type wish struct {
	direct []Grant // to be assigned anew, to the incarnation that lives
	keep   []rbac.Assignment
	delete bool
	one    bool // the request names one role, and no list
	// replaces says that the one direct assignment stood there before.
	replaces bool
	// event is the type of the event where it does not follow from the policy.
	event string
}

// with is what is read together with HEAD, in this order.
const (
	withPolicy = iota
	withAccess
	withFence
)

func (p policyWrite) keys() []keys.Raw {
	return []keys.Raw{
		withPolicy: keys.Policy(p.scope.ID, p.subject).Raw(),
		withAccess: keys.Access(p.scope.ID, p.subject).Raw(),
		withFence:  FenceOf(p.scope.ID, p.subject).Raw(),
	}
}

// FenceOf is the fence that every change of the subject's policy checks.
func FenceOf(s rbac.ScopeID, u rbac.SubjectID) keys.Key[entity.Fence] {
	h := fnv.New32a()
	_, _ = h.Write([]byte(u.String())) // never fails
	return keys.Fence(s, int(h.Sum32()%keys.Fences))
}

// writePolicy writes the policy, the document computed from it, who holds which
// role and where the subject has policies, in one transaction: conditioned on
// the versions of policy and document, and on the fence being as it was before
// the definitions were read (rules 2, 5, 6). It neither writes nor checks HEAD
// or a role's item.
func (w *Writer) writePolicy(ctx context.Context, req *Request, p policyWrite) (Outcome, error) {
	first := make([]rbac.DefinitionID, len(p.roles))
	for i, g := range p.roles {
		first[i] = rbac.OfRole(g.Role)
	}
	return w.commit(ctx, req, func(ctx context.Context) (*plan, error) {
		var at attempt
		s, err := w.Snapshots.Read(ctx, snapshot.Request{
			Scope: p.scope.ID, With: p.keys(), First: first,
			Wanted: func(s snapshot.State) (missing []rbac.DefinitionID, err error) {
				at, missing, err = p.attempt(s)
				return missing, err
			},
		})
		if err != nil {
			return nil, err
		}
		if err := p.scope.check(s.Head); err != nil {
			return nil, err
		}
		return at.plan(req, p, s)
	})
}

// attempt is a change as it looks under one snapshot.
type attempt struct {
	held       held
	policy     entity.Policy // before
	wish       wish
	after      []rbac.Assignment
	resolution *rbac.Resolution
}

func (p policyWrite) attempt(s snapshot.State) (at attempt, missing []rbac.DefinitionID, err error) {
	if err := p.scope.check(s.Head); err != nil {
		return at, nil, err
	}
	it := s.With[withPolicy]
	at.policy.Subject = p.subject
	if it != nil {
		if at.policy, err = stored.Decode[entity.Policy](it); err != nil {
			return at, nil, err
		}
	}
	at.held = held{exists: it != nil, assignments: at.policy.Domain()}
	if at.wish, err = p.wish(at.held); err != nil {
		return at, nil, err
	}
	if err := p.pre.test(at.held.exists, table.VersionOf(it)); err != nil {
		return at, nil, err
	}
	if at.after, missing, err = at.wish.resolve(s.Defs); err != nil || len(missing) > 0 {
		return at, missing, err
	}
	at.resolution = rbac.Resolve(at.after, s.Defs)
	return at, at.resolution.Missing, nil
}

// field is where the request names the i-th direct role.
func (w wish) field(i int) string {
	if w.one {
		return "role"
	}
	return fmt.Sprintf("roles[%d].role", i)
}

// resolve makes the assignments of a wish; roles must live.
func (w wish) resolve(defs *rbac.Definitions) (after []rbac.Assignment, missing []rbac.DefinitionID, err error) {
	after = w.keep[:len(w.keep):len(w.keep)]
	unknown := &fault.Error{Code: fault.UnknownReference, Detail: "the policy refers to what does not exist"}
	for i, g := range w.direct {
		r, known := defs.Role(g.Role)
		switch {
		case !known:
			missing = append(missing, rbac.OfRole(g.Role))
		case r == nil || r.Deleted:
			unknown.Fields = append(unknown.Fields, noSuch(w.field(i), "role", g.Role.String()))
		default:
			after = append(after, rbac.Assignment{
				Role: rbac.RoleRef{ID: g.Role, Incarnation: r.Incarnation}, Source: rbac.Direct(), Expiry: g.Expiry,
			})
		}
	}
	if len(missing) > 0 {
		return nil, missing, nil
	}
	if len(unknown.Fields) > 0 {
		return nil, nil, unknown
	}
	if len(after) > rbac.MaxRolesPerPolicy {
		return nil, nil, fault.InField(fault.LimitExceeded, "roles", "roles a policy: at most %d", rbac.MaxRolesPerPolicy)
	}
	rbac.SortAssignments(after)
	return after, nil, nil
}

func (at attempt) plan(req *Request, p policyWrite, s snapshot.State) (*plan, error) {
	oldPolicy, oldAccess, fence := s.With[withPolicy], s.With[withAccess], s.With[withFence]
	if at.held.exists && !at.wish.delete && rbac.SameAssignments(at.held.assignments, at.after) {
		return &plan{outcome: Outcome{
			Item: oldPolicy, Unchanged: true, Replaced: at.wish.replaces,
			Revision: revision.OfPolicy(p.scope.ID, s.Head.Revision, p.subject, table.VersionOf(oldAccess)).String(),
		}}, nil
	}
	// One version for both, and never one again that either had before.
	version := max(table.VersionOf(oldPolicy), table.VersionOf(oldAccess)) + 1
	doc, err := documentItem(req, p, s.Head, at.resolution, version, oldAccess)
	if err != nil {
		return nil, err
	}
	ops := []table.Op{
		table.Put(doc, table.VersionIs(table.VersionOf(oldAccess))),
		table.Check(p.keys()[withFence], table.VersionIs(table.VersionOf(fence))),
	}
	out := Outcome{Created: !at.held.exists, Replaced: at.wish.replaces, Revision: revision.OfPolicy(p.scope.ID, s.Head.Revision, p.subject, version).String()}
	e := &events.Event{
		Type: cmp.Or(at.wish.event, policyEvent(at.held.exists, at.wish.delete)), Org: p.scope.Org.String(), Scope: new(p.scope.ID.String()),
		Target: events.Target{Type: "policy", ID: p.subject.String()},
	}
	if at.held.exists {
		if e.Before, err = shown(resource.OfPolicy(oldPolicy, at.policy)); err != nil {
			return nil, err
		}
	}
	subject := keys.SubjectScope(p.scope.Org, p.subject, p.scope.ID).Raw()
	switch {
	case at.wish.delete:
		ops = append(ops,
			table.Delete(p.keys()[withPolicy], table.VersionIs(table.VersionOf(oldPolicy))),
			table.Delete(subject, table.Any()))
	default:
		next := entity.Policy{Subject: p.subject, Assignments: entity.OfAssignments(at.after)}
		it, err := req.body(p.keys()[withPolicy], "Policy", version, oldPolicy, next)
		if err != nil {
			return nil, err
		}
		it.Index[keys.GSI4-1] = policyDue(p.scope.ID, p.subject, at.after)
		ops = append(ops, table.Put(it, table.VersionIs(table.VersionOf(oldPolicy))))
		if !at.held.exists {
			where, err := req.body(subject, "SubjectScope", 1, nil, entity.SubjectScope{Scope: p.scope.ID})
			if err != nil {
				return nil, err
			}
			ops = append(ops, table.Put(where, table.Any()))
		}
		out.Item = it
		if e.After, err = shown(resource.OfPolicy(it, next)); err != nil {
			return nil, err
		}
	}
	members, err := memberOps(req, p, at.held.assignments, at.after, version)
	if err != nil {
		return nil, err
	}
	return &plan{outcome: out, ops: append(ops, members...), event: e}, nil
}

func policyEvent(existed, deleted bool) string {
	switch {
	case deleted:
		return events.PolicyDeleted
	case existed:
		return events.PolicyUpdated
	}
	return events.PolicyCreated
}

// documentItem is the access document: that of a deleted policy is an empty
// tombstone, so that its versions never restart.
func documentItem(req *Request, p policyWrite, h *head.Head, r *rbac.Resolution, version uint64, old *table.Item) (*table.Item, error) {
	b, err := access.Encode(access.Header{Org: h.Org, Incarnation: h.Incarnation, Revision: h.Revision}, r)
	if err != nil {
		return nil, err
	}
	it := req.item(keys.Access(p.scope.ID, p.subject).Raw(), "Access", version, old)
	it.Blob = b
	return it, nil
}

// memberOps keeps who holds which role: only what differs is written.
func memberOps(req *Request, p policyWrite, before, after []rbac.Assignment, version uint64) ([]table.Op, error) {
	was, is := members(before), members(after)
	var ops []table.Op
	for _, a := range before {
		if m, ok := was[a.Role.ID]; ok && is[a.Role.ID] == nil {
			ops = append(ops, table.Delete(keys.RoleMember(p.scope.ID, a.Role.ID, p.subject).Raw(), table.Any()))
			delete(was, m.Role.ID)
		}
	}
	for _, a := range after {
		m := is[a.Role.ID]
		old := was[a.Role.ID]
		if m == nil || (old != nil && old.Role == m.Role && old.Expiry.Equal(m.Expiry)) {
			continue
		}
		it, err := req.body(keys.RoleMember(p.scope.ID, a.Role.ID, p.subject).Raw(), "RoleMember", version, nil,
			entity.RoleMember{Subject: p.subject, Incarnation: m.Role.Incarnation, ExpiresAt: entity.ExpiresAt(m.Expiry)})
		if err != nil {
			return nil, err
		}
		ops = append(ops, table.Put(it, table.Any()))
		delete(is, a.Role.ID)
	}
	return ops, nil
}

// members are the roles held, each by the assignment that lasts longest.
func members(as []rbac.Assignment) map[rbac.RoleID]*rbac.Assignment {
	m := make(map[rbac.RoleID]*rbac.Assignment, len(as))
	for _, a := range as {
		if old := m[a.Role.ID]; old != nil {
			a.Expiry = a.Expiry.Later(old.Expiry)
		}
		m[a.Role.ID] = &a
	}
	return m
}
