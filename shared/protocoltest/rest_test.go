package protocoltest

import (
	"slices"
	"time"

	"github.com/wardenhq/warden/shared/access"
	"github.com/wardenhq/warden/shared/decide"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/head"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/table/weak"
)

// rest is after all: everyone is done or killed, everything is visible. Then all
// must be true, before the fan-out has run to its end and after.
func (s *sim) rest() {
	s.log("----", "rest")
	s.table.Settle()
	s.table = weak.New(s.base, weak.Options{Rand: s.rnd, Now: s.now})
	s.advance(age + lag + visible)
	s.restDefinitions()
	s.restMembers()
	s.restAnswers()
	if s.broken != nil || s.history.now().deleted {
		return
	}
	s.fanOut()
	s.advance(age + lag + visible)
	if h := s.headNow(); s.broken == nil && (h.All.Revision > 0 || slices.ContainsFunc(h.Flux, func(e head.Entry) bool { return !isFiller(e.Name) })) {
		s.violation("at rest: flux is not empty: %+v %+v", h.All, h.Flux)
	}
	s.restDocuments()
	s.restAnswers()
	if s.suspect != "" {
		s.violation("%s", s.suspect)
	}
}

// fanOut works until flux is empty.
func (s *sim) fanOut() {
	a := s.spawn(dutyProject, s.process(), func(a *actor) {
		f := newFanout(a)
		for range 12 {
			h, err := f.head()
			if err != nil {
				return
			}
			for _, e := range f.entries(h) {
				if err := f.work(e); err != nil {
					a.log("gives up: %v", err)
				}
			}
		}
	})
	s.alone(a)
}

// alone lets one actor run to its end, its sleeps at once.
func (s *sim) alone(a *actor) {
	for a.step() {
		s.steps++
		if a.wake > s.clock {
			s.advance(a.wake - s.clock)
		}
	}
	s.actors = slices.DeleteFunc(s.actors, func(o *actor) bool { return o == a })
}

func (s *sim) headNow() *head.Head {
	it, err := s.base.Get(s.ctx, keys.Head(s.scope.ID).Raw(), table.Strong)
	s.must(err)
	h, err := head.Decode(it)
	s.must(err)
	return h
}

// restDefinitions: every reference is to what lives, no role inherits itself,
// and HEAD counts right.
func (s *sim) restDefinitions() {
	defs := s.history.now()
	permissions, roles := 0, 0
	for _, p := range defs.permissions {
		if !p.Deleted {
			permissions++
		}
	}
	for _, id := range byName(defs.roles) {
		r := defs.roles[id]
		if r.Deleted {
			continue
		}
		roles++
		for _, ref := range r.Permissions {
			if p, there := defs.permissions[ref.ID.String()]; !there || p.Deleted || p.Incarnation != ref.Incarnation {
				s.violation("at rest: role %s refers to permission %s, which is gone", id, ref.ID)
			}
		}
		for _, ref := range r.Inherits {
			if i, there := defs.roles[ref.ID.String()]; !there || i.Deleted || i.Incarnation != ref.Incarnation {
				s.violation("at rest: role %s refers to role %s, which is gone", id, ref.ID)
			}
			if defs.reaches(ref.ID.String(), id) {
				s.violation("at rest: a cycle through roles %s and %s", id, ref.ID)
			}
		}
	}
	if h := s.headNow(); h.Permissions != permissions || h.Roles != roles {
		s.violation("at rest: HEAD counts %d permissions and %d roles of %d and %d", h.Permissions, h.Roles, permissions, roles)
	}
}

// restMembers: who holds which role, and where a subject has policies, follow
// from the policies.
func (s *sim) restMembers() {
	for _, u := range s.subjects {
		held := s.held(u)
		for _, r := range append(slices.Clone(s.roles), newborn...) {
			it, err := s.base.Get(s.ctx, keys.RoleMember(s.scope.ID, roleID(r), subjectID(u)).Raw(), table.Strong)
			s.must(err)
			i := slices.IndexFunc(held, func(a entity.Assignment) bool { return a.Role == roleID(r) })
			if (it == nil) != (i < 0) {
				s.violation("at rest: %s holds %v, member of %s: %v", u, held, r, it != nil)
				return
			}
			if it == nil {
				continue
			}
			m, err := stored.Decode[entity.RoleMember](it)
			s.must(err)
			if a := held[i]; m.Incarnation != a.Incarnation || !sameEnd(m.ExpiresAt, a.ExpiresAt) {
				s.violation("at rest: %s holds %+v, as a member %+v", u, a, m)
			}
		}
		where, err := s.base.Get(s.ctx, keys.SubjectScope(s.scope.Org, subjectID(u), s.scope.ID).Raw(), table.Strong)
		s.must(err)
		policy, err := s.base.Get(s.ctx, keys.Policy(s.scope.ID, subjectID(u)).Raw(), table.Strong)
		s.must(err)
		if (where == nil) != (policy == nil) {
			s.violation("at rest: policy of %s: %v, in its list of scopes: %v", u, policy != nil, where != nil)
		}
	}
}

func sameEnd(a, b *time.Time) bool { return (a == nil) == (b == nil) && (a == nil || a.Equal(*b)) }

func (s *sim) held(u string) []entity.Assignment {
	return s.history.heldAt(u, len(s.history.commits)).assignments
}

// restDocuments: every document has the policy's assignments and equals a
// recomputation, but for its revision.
func (s *sim) restDocuments() {
	if s.broken != nil {
		return
	}
	known := s.history.now().known()
	for _, u := range s.subjects {
		it, err := s.base.Get(s.ctx, keys.Access(s.scope.ID, subjectID(u)).Raw(), table.Strong)
		s.must(err)
		if it == nil {
			if len(s.held(u)) > 0 {
				s.violation("at rest: %s has a policy and no document", u)
			}
			continue
		}
		v, err := access.Parse(it.Blob)
		s.must(err)
		as, err := v.Assignments()
		s.must(err)
		if !sameAssignments(as, s.held(u)) {
			s.violation("at rest: document of %s has %v, the policy %v", u, as, s.held(u))
		}
		res := rbac.Resolve(as, known)
		res.Missing = nil // never used ids, which no document can name without having read them
		fresh, err := access.Encode(access.Header{Org: s.scope.Org, Incarnation: v.Incarnation(), Revision: v.Revision()}, res)
		s.must(err)
		if !slices.Equal(fresh, it.Blob) {
			s.violation("at rest: document of %s (revision %d) is not what its definitions come to", u, v.Revision())
		}
	}
}

func sameAssignments(as []rbac.Assignment, held []entity.Assignment) bool {
	return slices.EqualFunc(as, held, func(a rbac.Assignment, b entity.Assignment) bool {
		return a.Role.ID == b.Role && a.Role.Incarnation == b.Incarnation && a.Expiry.Never() == (b.ExpiresAt == nil) &&
			(b.ExpiresAt == nil || a.Expiry.Time().Equal(*b.ExpiresAt))
	})
}

// restAnswers: a cold process answers every question as first principles do, at
// both consistencies.
func (s *sim) restAnswers() {
	if s.broken != nil {
		return
	}
	a := s.spawn(dutyMixed, s.process(), func(a *actor) {
		for _, u := range s.subjects {
			for _, res := range s.resources {
				for _, strong := range []bool{false, true} {
					got, err := a.checker().Check(s.ctx, provisioned().credential, []decide.Question{{
						Scope: s.scope.ID, Subject: subjectID(u), Strong: strong, Ask: rbac.Question{Resource: resourceID(res), Action: action},
					}})
					if err != nil {
						s.violation("at rest: a check failed: %v", err)
						return
					}
					if right := oracle(s.held(u), s.history.now(), res, s.now()); got[0].Reason != right {
						s.violation("at rest: %s; right is %q (strong %v)", show([]asked{{subject: u, resource: res, reason: got[0].Reason}}), right, strong)
						return
					}
				}
			}
		}
	})
	s.alone(a)
}
