package recompute_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/shared/access"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/head"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/recompute"
	"github.com/wardenhq/warden/shared/retry"
	"github.com/wardenhq/warden/shared/snapshot"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/table/weak/memory"
	"github.com/wardenhq/warden/shared/write"
)

// hand is a clock that is set by hand; sleeping moves it.
type hand struct{ now time.Time }

func (h *hand) Now() time.Time { return h.now }

func (h *hand) Sleep(_ context.Context, d time.Duration) error {
	h.now = h.now.Add(d)
	return nil
}

type world struct {
	*testing.T
	ctx    context.Context
	clock  *hand
	table  table.Store
	writer *write.Writer
	engine *recompute.Engine
	scope  write.Scope
}

func newWorld(t *testing.T) *world {
	c := &hand{time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	store := memory.New(c.Now)
	backoff := retry.Backoff{Clock: c, Jitter: rand.Float64, Base: time.Millisecond, Max: time.Second, Tries: 6}
	snapshots := &snapshot.Reader{Table: store, Cache: snapshot.NewCache(1000), Backoff: backoff}
	w := &world{T: t, ctx: t.Context(), clock: c, table: store}
	w.writer = &write.Writer{Table: store, Snapshots: snapshots, Clock: c, Backoff: backoff, EventID: func(at time.Time) string {
		return "evt_" + ulid.MustNewDefault(at).String()
	}}
	w.engine = &recompute.Engine{Table: store, Snapshots: snapshots, Clock: c, Backoff: backoff}
	org, scope := rbac.Must(rbac.ParseOrgID("acme")), rbac.Must(rbac.ParseScopeID("main"))
	_, _, err := w.writer.ProvisionOrg(w.ctx, w.request(), write.Provision{
		Org: org, Name: "Acme", Owner: rbac.Must(rbac.ParseSubjectID("owner")), Scope: scope, ScopeName: "Main",
		Key: entity.APIKey{ID: rbac.Must(rbac.ParseAPIKeyID("k")), Org: org},
	})
	w.must(err)
	w.scope = write.Scope{Org: org, ID: scope, Incarnation: w.head(scope).Incarnation}
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) request() *write.Request {
	return w.writer.NewRequest(write.Origin{Actor: events.Actor{Type: "operator", ID: "x"}})
}

func (w *world) head(s rbac.ScopeID) *head.Head {
	w.Helper()
	it, err := w.table.Get(w.ctx, keys.Head(s).Raw(), table.Strong)
	w.must(err)
	h, err := head.Decode(it)
	w.must(err)
	return h
}

func (w *world) permission(id string) {
	w.Helper()
	resource, action, _ := strings.Cut(id, ":")
	_, err := w.writer.PutPermission(w.ctx, w.request(), w.scope, entity.Permission{Permission: rbac.Permission{
		ID: rbac.Must(rbac.ParsePermissionID(id)), Effect: rbac.Allow,
		Resource: rbac.Must(rbac.ParseResourceID(resource)), Action: rbac.Must(rbac.ParseActionID(action)),
	}}, nil)
	w.must(err)
}

func (w *world) role(id string, refs ...string) {
	w.Helper()
	r := write.Role{ID: rbac.Must(rbac.ParseRoleID(id))}
	for _, ref := range refs {
		if parent, ok := strings.CutPrefix(ref, ">"); ok {
			r.Inherits = append(r.Inherits, rbac.Must(rbac.ParseRoleID(parent)))
		} else {
			r.Permissions = append(r.Permissions, rbac.Must(rbac.ParsePermissionID(ref)))
		}
	}
	_, err := w.writer.PutRole(w.ctx, w.request(), w.scope, r, nil)
	w.must(err)
}

func (w *world) assign(u, r string) {
	w.Helper()
	_, err := w.writer.AssignRole(w.ctx, w.request(), w.scope, rbac.Must(rbac.ParseSubjectID(u)), write.Grant{Role: rbac.Must(rbac.ParseRoleID(r))}, nil)
	w.must(err)
}

func (w *world) document(u string) (*table.Item, access.View) {
	w.Helper()
	it, err := w.table.Get(w.ctx, keys.Access(w.scope.ID, rbac.Must(rbac.ParseSubjectID(u))).Raw(), table.Strong)
	w.must(err)
	v, err := access.Parse(it.Blob)
	w.must(err)
	return it, v
}

// begin begins the fan-outs of all entries in flux, as the projector does.
func (w *world) begin(ids ...rbac.DefinitionID) (jobs []recompute.Job) {
	w.Helper()
	h := w.head(w.scope.ID)
	for _, id := range ids {
		for _, f := range h.Flux {
			if f.Name == id.Hash() {
				job, _, err := w.engine.Begin(w.ctx, w.scope.ID, h, f, id)
				w.must(err)
				jobs = append(jobs, job)
			}
		}
	}
	if h.All.Revision > 0 {
		job, _, err := w.engine.Begin(w.ctx, w.scope.ID, h, h.All, rbac.DefinitionID{})
		w.must(err)
		jobs = append(jobs, job)
	}
	return jobs
}

// run steps a job to its end, waiting as it asks; it returns how long it waited.
func (w *world) run(job recompute.Job) (steps int, waited time.Duration) {
	w.Helper()
	for steps < 1000 {
		steps++
		next, err := w.engine.Step(w.ctx, job)
		w.must(err)
		if next.Done {
			return steps, waited
		}
		waited += next.Wait
		w.clock.now = w.clock.now.Add(next.Wait)
	}
	w.Fatal("the fan-out does not end")
	return 0, 0
}

func role(id string) rbac.DefinitionID { return rbac.OfRole(rbac.Must(rbac.ParseRoleID(id))) }

func perm(id string) rbac.DefinitionID {
	return rbac.OfPermission(rbac.Must(rbac.ParsePermissionID(id)))
}

func TestFanOutBringsHoldersUpAndEndsTheEntry(t *testing.T) {
	w := newWorld(t)
	w.permission("a:x")
	w.role("base", "a:x")
	w.role("top", ">base")
	const holders = 3*recompute.Piece + 7
	for i := range holders {
		w.assign(fmt.Sprintf("u%03d", i), []string{"base", "top"}[i%2])
	}
	w.role("other")
	w.assign("bystander", "other")
	before, _ := w.document("bystander")
	for _, c := range []struct {
		change func()
		id     rbac.DefinitionID
	}{
		{func() { w.role("base") }, role("base")},
		{func() { w.role("base", "a:x") }, role("base")},
		{func() {
			_, err := w.writer.PutPermission(w.ctx, w.request(), w.scope, entity.Permission{Permission: rbac.Permission{
				ID: rbac.Must(rbac.ParsePermissionID("a:x")), Effect: rbac.Deny,
				Resource: rbac.Must(rbac.ParseResourceID("a")), Action: rbac.Must(rbac.ParseActionID("x")),
			}}, nil)
			w.must(err)
		}, perm("a:x")},
	} {
		c.change()
		h := w.head(w.scope.ID)
		jobs := w.begin(c.id)
		if len(jobs) != 1 {
			t.Fatalf("%d fan-outs of %s", len(jobs), c.id)
		}
		_, waited := w.run(jobs[0])
		if waited < recompute.MinimumAge-time.Minute {
			t.Errorf("the entry left after %s", waited)
		}
		after := w.head(w.scope.ID)
		if after.Pending() != 0 || after.Floor != h.Revision || after.Revision != h.Revision || after.Version != h.Version+1 {
			t.Errorf("HEAD %+v after %+v", after, h)
		}
		for i := range holders {
			if _, v := w.document(fmt.Sprintf("u%03d", i)); v.Revision() != h.Revision {
				t.Fatalf("document %d is at revision %d of %d", i, v.Revision(), h.Revision)
			}
		}
	}
	if now, _ := w.document("bystander"); now.Version != before.Version {
		t.Error("a document that names nothing of it was written")
	}
	if r, err := w.engine.Verify(w.ctx, w.scope.ID, 1000, "", false); err != nil || len(r.Drifted) != 0 || r.Checked != holders+2 {
		t.Errorf("verified %+v, %v", r, err)
	}
}

func TestBurstsBecomeOne(t *testing.T) {
	w := newWorld(t)
	w.role("r")
	w.assign("u", "r")
	w.permission("a:x")
	w.role("r", "a:x")
	first := w.begin(role("r"))[0]
	w.role("r")
	second := w.begin(role("r"))[0]
	if first != second {
		t.Fatalf("jobs %+v and %+v", first, second)
	}
	r, _, err := stored.Get(w.ctx, w.table, keys.Recompute(w.scope.ID, first.Name), table.Strong)
	w.must(err)
	if r.Revision != w.head(w.scope.ID).Revision {
		t.Errorf("the fan-out is for revision %d", r.Revision)
	}
	again := w.begin(role("r"))[0] // redelivered
	w.run(again)
	if h := w.head(w.scope.ID); h.Pending() != 0 {
		t.Errorf("HEAD %+v", h)
	}
	if next, err := w.engine.Step(w.ctx, again); err != nil || !next.Done {
		t.Errorf("a job of a fan-out that is over: %+v, %v", next, err)
	}
}

func TestCollapsedEntry(t *testing.T) {
	w := newWorld(t)
	for i := range head.MaxFlux + 1 {
		w.role(fmt.Sprintf("r%d", i))
	}
	w.assign("u", "r7")
	w.permission("a:x")
	for i := range head.MaxFlux + 1 {
		w.role(fmt.Sprintf("r%d", i), "a:x")
	}
	if w.head(w.scope.ID).All.Revision == 0 {
		t.Fatal("flux did not collapse")
	}
	for _, job := range w.begin() {
		w.run(job)
	}
	h := w.head(w.scope.ID)
	if _, v := w.document("u"); h.All.Revision != 0 || v.Revision() != h.Revision {
		t.Errorf("document at %d; HEAD %+v", v.Revision(), h)
	}
}

func TestAssignmentsInFlightFailAtTheFences(t *testing.T) {
	w := newWorld(t)
	w.role("r")
	w.assign("u", "r")
	w.permission("a:x")
	w.role("r", "a:x")
	before := make([]uint64, keys.Fences)
	for k := range before {
		it, err := w.table.Get(w.ctx, keys.Fence(w.scope.ID, k).Raw(), table.Strong)
		w.must(err)
		before[k] = table.VersionOf(it)
	}
	w.run(w.begin(role("r"))[0])
	for k := range before {
		it, err := w.table.Get(w.ctx, keys.Fence(w.scope.ID, k).Raw(), table.Strong)
		w.must(err)
		if table.VersionOf(it) <= before[k] {
			t.Fatalf("fence %d was not raised", k)
		}
	}
}

func TestVerifyFindsAndMends(t *testing.T) {
	for name, damage := range map[string]func(w *world) (op table.Op, kind recompute.DriftKind){
		"document lost": func(w *world) (table.Op, recompute.DriftKind) {
			it, _ := w.document("u")
			return table.Delete(it.Key, table.Any()), recompute.DriftNoDocument
		},
		"document of another subject": func(w *world) (table.Op, recompute.DriftKind) {
			it, _ := w.document("u")
			other, _ := w.document("owner")
			next := *it
			next.Blob = other.Blob
			return table.Put(&next, table.Any()), recompute.DriftAssignments
		},
		"grants of another time": func(w *world) (table.Op, recompute.DriftKind) {
			it, _ := w.document("u")
			next := *it
			next.Blob = append([]byte(nil), it.Blob...)
			next.Blob[len(next.Blob)-1] ^= 1
			return table.Put(&next, table.Any()), recompute.DriftGrants
		},
		"member lost": func(w *world) (table.Op, recompute.DriftKind) {
			k := keys.RoleMember(w.scope.ID, rbac.Must(rbac.ParseRoleID("r")), rbac.Must(rbac.ParseSubjectID("u")))
			return table.Delete(k.Raw(), table.Any()), recompute.DriftMember
		},
		"scope lost": func(w *world) (table.Op, recompute.DriftKind) {
			k := keys.SubjectScope(w.scope.Org, rbac.Must(rbac.ParseSubjectID("u")), w.scope.ID)
			return table.Delete(k.Raw(), table.Any()), recompute.DriftScope
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.permission("a:x")
			w.role("r", "a:x")
			w.assign("u", "r")
			op, kind := damage(w)
			w.must(w.table.Transact(w.ctx, table.Tx{Ops: []table.Op{op}}))
			found, err := w.engine.Verify(w.ctx, w.scope.ID, 100, "", false)
			w.must(err)
			if len(found.Drifted) != 1 || found.Drifted[0].Kind != kind || found.Drifted[0].Repaired {
				t.Fatalf("found %+v, want %s", found, kind)
			}
			mended, err := w.engine.Verify(w.ctx, w.scope.ID, 100, "", true)
			w.must(err)
			if len(mended.Drifted) != 1 || !mended.Drifted[0].Repaired {
				t.Fatalf("mended %+v", mended)
			}
			clean, err := w.engine.Verify(w.ctx, w.scope.ID, 100, "", false)
			w.must(err)
			if len(clean.Drifted) != 0 {
				t.Errorf("left %+v", clean)
			}
		})
	}
}
