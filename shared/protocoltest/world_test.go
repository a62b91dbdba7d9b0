package protocoltest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/shared/auth"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/head"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/table/weak"
	"github.com/wardenhq/warden/shared/table/weak/memory"
	"github.com/wardenhq/warden/shared/write"
)

// world is what a schedule is about, small enough that actors meet.
type world struct {
	scope       write.Scope
	subjects    []string
	resources   []string
	permissions []string
	roles       []string
	late        bool // actors are stopped where it hurts most: see ambush
	crowded     bool // flux stands just below its limit
	share       bool // all in one process
	newborn     bool // roles that were never there before are asked for
	told        bool // by hand: one role with one permission, that nobody holds
	real        bool // the fan-out is the real one
	minute      time.Duration
	minAge      time.Duration
	enough      int // steps of the schedule
	piece       int // how many definitions one read takes; 0: any number
	cast        cast
}

// cast is how many actors of a kind there are, and what the longest of them does.
type cast struct {
	policy, define, project, strong, byDefault, atLeast, mixed, deleteScope int

	changes int // of a definition writer, at most
}

// tenant is the org, scope and key that every world begins with.
type tenant struct {
	scope      write.Scope
	credential auth.Credential
	items      []*table.Item
}

// provisioned makes the tenant once, by the real code.
var provisioned = sync.OnceValue(func() tenant {
	store := memory.New(func() time.Time { return epoch.Add(longAgo) })
	w := &write.Writer{Table: store, Clock: stopped{}, EventID: func(time.Time) string { return "evt-provision" }}
	org, scope, id := rbac.Must(rbac.ParseOrgID("acme")), rbac.Must(rbac.ParseScopeID(scopeName)), auth.NewKeyID()
	text, hash := auth.NewAPIKey(org, id)
	_, _, err := w.ProvisionOrg(context.Background(), w.NewRequest(write.Origin{Actor: events.Actor{Type: "operator", ID: "x"}}), write.Provision{
		Org: org, Name: "Acme", Owner: subjectID("owner"), Scope: scope, ScopeName: "Main", Retention: 365,
		Key: entity.APIKey{ID: id, Org: org, Name: "first", Permissions: entity.AllRights, Hash: hash, CreatedBy: "operator:x"},
	})
	if err != nil {
		panic(err)
	}
	t := tenant{scope: write.Scope{Org: org, ID: scope, Incarnation: uint64(epoch.Add(longAgo).UnixNano())}}
	t.credential, _ = auth.Present(text)
	shards := rbac.Must(store.Shards(context.Background()))
	changes, _, err := store.Changes(context.Background(), shards[0], "", 1000)
	if err != nil {
		panic(err)
	}
	for _, c := range changes {
		t.items = append(t.items, c.New)
	}
	return t
})

// stopped is the clock while the world is made.
type stopped struct{}

func (stopped) Now() time.Time                             { return epoch.Add(longAgo) }
func (stopped) Sleep(context.Context, time.Duration) error { return nil }

// draw chooses the world, and who is in it.
func (s *sim) draw() {
	r := s.rnd
	s.late = chance(r, 0.4) // few actors
	small := s.late || chance(r, 0.4)
	s.crowded = chance(r, 0.15)
	s.subjects = []string{"u0"}
	if !small {
		s.subjects = []string{"u0", "u1", "u2"}[:pick(r, 2, 2, 3)]
	}
	s.resources = []string{"x", "y"}[:pick(r, 1, 2)]
	s.permissions = []string{"p0", "p1"}
	s.roles = []string{"r0", "r1", "r2"}[:pick(r, 2, 2, 3)]
	if small {
		s.roles = s.roles[:pick(r, 1, 2, len(s.roles))]
	}
	c := &s.cast
	*c = cast{policy: 1, define: 1, project: pick(r, 0, 1, 1, 2), changes: 3}
	if small {
		c.changes = 2
	} else {
		c.policy = pick(r, 1, 2)
	}
	if s.late {
		c.project = pick(r, 1, 1, 2)
	} else {
		c.define = pick(r, 1, 1, 2)
	}
	c.strong, c.byDefault, c.atLeast = pick(r, 0, 1, 1, 2), pick(r, 0, 1, 1, 2), pick(r, 0, 1, 1, 2)
	if s.late {
		c.byDefault = pick(r, 1, 2)
	}
	if chance(r, 0.2) {
		c.mixed = 1
	}
	if chance(r, 0.04) {
		c.deleteScope = 1
	}
	s.real = chance(r, 0.15)
	if s.mutant != nil && s.mutant.stage != nil {
		s.mutant.stage(&s.world)
	}
	s.minute, s.minAge, s.enough = minute, minAge, 1500
	if s.real {
		s.minute, s.minAge, s.enough = realMinute, realMinAge, 4000
	}
}

// enter puts the actors on the stage. Some of them share a process.
func (s *sim) enter() {
	r := s.rnd
	var shared *process
	if s.share || chance(r, 0.4) {
		shared = s.process()
	}
	enter := func(count int, d duty, body func() func(*actor)) {
		for range count {
			p := shared
			if p == nil || !s.share && chance(r, 0.4) {
				p = s.process()
			}
			s.spawn(d, p, body())
		}
	}
	enter(s.cast.policy, dutyPolicy, func() func(*actor) { return s.policyWriter(pick(r, 1, 1, 2, 3)) })
	enter(s.cast.define, dutyDefine, func() func(*actor) { return s.definitionWriter(min(pick(r, 1, 2, 3), s.cast.changes)) })
	enter(s.cast.project, dutyProject, func() func(*actor) {
		if s.real {
			return s.engine(pick(r, 1, 2, 3))
		}
		return s.projector(pick(r, 1, 2, 3))
	})
	enter(s.cast.strong, dutyStrong, func() func(*actor) { return s.checker(pick(r, 1, 2, 4)) })
	enter(s.cast.byDefault, dutyDefault, func() func(*actor) { return s.checker(pick(r, 1, 2, 4)) })
	enter(s.cast.atLeast, dutyAtLeast, func() func(*actor) { return s.checker(pick(r, 1, 2, 4)) })
	enter(s.cast.mixed, dutyMixed, func() func(*actor) { return s.checker(pick(r, 1, 2)) })
	enter(s.cast.deleteScope, dutyDefine, func() func(*actor) { return s.scopeDeleter })
}

// build makes the world by the real code, before anything is weak. Documents
// may be behind the definitions already, then flux says so.
func (s *sim) build() {
	r, t := s.rnd, provisioned()
	s.clock = longAgo
	s.scope = t.scope
	base := recorder{memory.New(s.now), s}
	ops := make([]table.Op, len(t.items))
	for i, it := range t.items {
		ops[i] = table.Put(it, table.Absent())
	}
	s.must(base.Transact(s.ctx, table.Tx{Ops: ops}))
	calm := &actor{sim: s, rnd: r, process: s.process()}
	w := &write.Writer{
		Table: base, Snapshots: calm.snapshots(base), Clock: stopped{}, Backoff: calm.backoff(),
		EventID: func(time.Time) string { return fmt.Sprintf("evt-%d", s.served) },
	}
	s.populate(w)
	s.clock = 0
	s.acked = len(s.history.commits) - 1
	s.base = base
	s.table = weak.New(base, weak.Options{Knobs: weak.Draw(r), Rand: rand.New(rand.NewPCG(s.seed, 2)), Now: s.now})
}

func (s *sim) populate(w *write.Writer) {
	r := s.rnd
	if s.told {
		s.must2(w.PutPermission(s.ctx, s.request(w), s.scope, s.permission("p0", rbac.Allow), nil))
		s.must2(w.PutRole(s.ctx, s.request(w), s.scope, role("r0", s.permissions, nil), nil))
		return
	}
	for _, p := range s.permissions {
		s.must2(w.PutPermission(s.ctx, s.request(w), s.scope, s.permission(p, pick(r, rbac.Allow, rbac.Allow, rbac.Deny)), nil))
	}
	for i, id := range s.roles {
		s.must2(w.PutRole(s.ctx, s.request(w), s.scope, role(id, some(r, s.permissions), some(r, s.roles[:i])), nil))
	}
	for _, u := range s.subjects {
		if chance(r, 0.6) {
			s.must2(w.AssignRole(s.ctx, s.request(w), s.scope, subjectID(u), write.Grant{Role: roleID(pick(r, s.roles...))}, nil))
		}
	}
	if chance(r, 0.2) { // a change that no document has caught up with
		s.must2(w.PutPermission(s.ctx, s.request(w), s.scope, s.permission(pick(r, s.permissions...), pick(r, rbac.Allow, rbac.Deny)), nil))
	}
	if s.crowded {
		s.crowd(w)
	}
}

// crowd fills flux with changes of definitions that nobody holds, up to a few
// below the limit.
func (s *sim) crowd(w *write.Writer) {
	key := keys.Head(s.scope.ID).Raw()
	it, err := w.Table.Get(s.ctx, key, table.Strong)
	s.must(err)
	h, err := head.Decode(it)
	s.must(err)
	for i := len(h.Flux); i < head.MaxFlux-s.rnd.IntN(3); i++ {
		h.Revision++
		h.Flux = append(h.Flux, head.Entry{Name: filler(i).Hash(), Revision: h.Revision, Since: s.now()})
	}
	sortFlux(h)
	h.Last = rbac.DefinitionID{} // of none of them there is an item to wait for
	h.Version++
	next := *it
	next.Version, next.Blob, next.RequestID = h.Version, h.Encode(), ""
	s.must(w.Table.Transact(s.ctx, table.Tx{Ops: []table.Op{table.Put(&next, table.VersionIs(it.Version))}}))
	s.must2(w.PutPermission(s.ctx, s.request(w), s.scope, s.permission("unused", rbac.Allow), nil))
}

func filler(i int) rbac.DefinitionID { return rbac.OfRole(roleID(fmt.Sprintf("filler%03d", i))) }

// isFiller says whether an entry of flux is of no definition of the world.
func isFiller(name uint64) bool { return fillers()[name] }

var fillers = sync.OnceValue(func() map[uint64]bool {
	names := map[uint64]bool{}
	for i := range head.MaxFlux {
		names[filler(i).Hash()] = true
	}
	return names
})

func (s *sim) permission(id string, e rbac.Effect) entity.Permission {
	resource := pick(s.rnd, s.resources...)
	if s.rnd.IntN(10) == 0 {
		resource = rbac.Wildcard
	}
	return entity.Permission{Permission: rbac.Permission{ID: permissionID(id), Resource: resourceID(resource), Action: action, Effect: e}}
}

func role(id string, permissions, inherits []string) write.Role {
	r := write.Role{ID: roleID(id)}
	for _, p := range permissions {
		r.Permissions = append(r.Permissions, permissionID(p))
	}
	for _, i := range inherits {
		r.Inherits = append(r.Inherits, roleID(i))
	}
	return r
}

// request is the next request, with an id of its own.
func (s *sim) request(w *write.Writer) *write.Request {
	s.served++
	return w.NewRequest(write.Origin{Actor: events.Actor{Type: "operator", ID: "x"}, RequestID: fmt.Sprintf("req-%d", s.served)})
}

func (s *sim) must(err error) {
	if err != nil {
		panic(fmt.Sprintf("seed %d: the world can't be made: %v", s.seed, err))
	}
}

func (s *sim) must2(_ write.Outcome, err error) { s.must(err) }
