package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/functions/scheduler"
	"github.com/wardenhq/warden/shared/auth"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/purge"
	"github.com/wardenhq/warden/shared/queue"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/recompute"
	"github.com/wardenhq/warden/shared/retry"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/write"
	"github.com/wardenhq/warden/shared/write/writetest"
)

// outbox is a queue that keeps what was sent.
type outbox struct {
	mu   sync.Mutex
	sent []recompute.Job
}

func (o *outbox) Send(_ context.Context, ms []queue.Message) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, m := range ms {
		var job recompute.Job
		if err := json.Unmarshal(m.Body, &job); err != nil {
			return err
		}
		o.sent = append(o.sent, job)
	}
	return nil
}

type world struct {
	*writetest.Tenant
	engine    *recompute.Engine
	queue     *outbox
	scheduler *scheduler.Scheduler
	hourly    []string
}

func newWorld(t *testing.T) *world {
	tenant := writetest.New(t).Provision("acme", nil)
	w := &world{Tenant: tenant, queue: &outbox{}}
	w.engine = &recompute.Engine{Table: w.Table, Snapshots: w.Snapshots, Clock: w.Clock, Backoff: retry.Backoff{
		Clock: w.Clock, Jitter: func() float64 { return 0 }, Base: time.Millisecond, Max: time.Millisecond, Tries: 5,
	}}
	p := &purge.Purger{Engine: w.engine}
	w.scheduler = scheduler.New(scheduler.Config{
		Table: w.Table, Clock: w.Clock, Log: slog.New(slog.DiscardHandler),
		Due: map[string]scheduler.Handler{
			"Recompute": scheduler.Recomputes(w.queue), "Policy": scheduler.Policies(w.Writer), "APIKey": scheduler.APIKeys(w.Writer),
			"Scope": scheduler.Scopes(p, w.Table), "Org": scheduler.Orgs(p, w.Writer),
		},
		Hourly: []scheduler.Task{
			{Name: "noted", Run: func(context.Context) error { w.hourly = append(w.hourly, w.Clock.Now().Format("15:04")); return nil }},
			scheduler.Sweep(w.engine, w.queue, w.Clock),
		},
	})
	return w
}

func (w *world) tick() {
	w.T.Helper()
	w.Must(w.scheduler.Tick(w.T.Context()))
}

func (w *world) request() *write.Request {
	return w.Writer.NewRequest(write.Origin{Actor: events.Actor{Type: "operator", ID: "x"}})
}

func (w *world) role(id string) {
	w.T.Helper()
	_, err := w.Writer.PutRole(w.T.Context(), w.request(), w.Scope, write.Role{ID: writetest.Role(id)}, nil)
	w.Must(err)
}

func (w *world) assign(u, r string, until time.Time) {
	w.T.Helper()
	g := write.Grant{Role: writetest.Role(r)}
	if !until.IsZero() {
		g.Expiry = rbac.ExpiresAt(until)
	}
	_, err := w.Writer.AssignRole(w.T.Context(), w.request(), w.Scope, writetest.Subject(u), g, nil)
	w.Must(err)
}

func (w *world) held(u string) (roles []string) {
	w.T.Helper()
	p, _, err := stored.Get(w.T.Context(), w.Table, keys.Policy(w.Scope.ID, writetest.Subject(u)), table.Strong)
	w.Must(err)
	for _, a := range p.Assignments {
		roles = append(roles, a.Role.String())
	}
	return roles
}

// eventTypes are the types of all events, in the order they were written.
func (w *world) eventTypes() (types []string) {
	w.T.Helper()
	shards, err := w.Table.Shards(w.T.Context())
	w.Must(err)
	changes, _, err := w.Table.Changes(w.T.Context(), shards[0], "", 100000)
	w.Must(err)
	for _, c := range changes {
		if c.New == nil || c.New.Type != "Event" {
			continue
		}
		var body struct {
			Event events.Event `json:"event"`
		}
		w.Must(json.Unmarshal(c.New.Body, &body))
		types = append(types, body.Event.Type)
	}
	return types
}

func TestRolesThatAreOverLeaveTheirPolicy(t *testing.T) {
	w := newWorld(t)
	for _, r := range []string{"a", "b", "c"} {
		w.role(r)
	}
	now := w.Clock.Now()
	w.assign("u", "a", now.Add(time.Minute))
	w.assign("u", "b", now.Add(time.Hour))
	w.assign("u", "c", time.Time{})
	w.tick()
	if got := w.held("u"); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Fatalf("before: %v", got)
	}
	w.Clock.Advance(time.Minute)
	before := len(w.eventTypes())
	w.tick()
	w.tick() // nothing twice
	if got := w.held("u"); !slices.Equal(got, []string{"b", "c"}) {
		t.Errorf("after a minute: %v", got)
	}
	if got := w.eventTypes()[before:]; !slices.Equal(got, []string{"policy.role_expired"}) {
		t.Errorf("events %v", got)
	}
	w.Clock.Advance(5 * time.Hour) // a missed run is caught up
	w.tick()
	if got := w.held("u"); !slices.Equal(got, []string{"c"}) {
		t.Errorf("after hours: %v", got)
	}
}

func TestOverlapsEnd(t *testing.T) {
	w := newWorld(t)
	allow := func(entity.APIKey) error { return nil }
	for _, overlap := range []time.Duration{3 * time.Hour, time.Hour} {
		_, hash := auth.NewAPIKey(w.Key.Org, w.Key.ID)
		_, err := w.Writer.RotateAPIKey(t.Context(), w.request(), w.Key.Org, w.Key.ID, hash, overlap, allow, nil)
		w.Must(err)
	}
	previous := func() int {
		k, _, err := stored.Get(t.Context(), w.Table, keys.APIKey(w.Key.Org, w.Key.ID), table.Strong)
		w.Must(err)
		return len(k.Previous)
	}
	for _, step := range []struct {
		after time.Duration
		want  int
	}{{time.Hour - 1, 2}, {1, 1}, {2*time.Hour - 1, 1}, {1, 0}} {
		w.Clock.Advance(step.after)
		w.tick()
		if got := previous(); got != step.want {
			t.Fatalf("%d old secrets are stored %s later, want %d", got, step.after, step.want)
		}
	}
}

// work does the jobs in the queue, as the projector does.
func (w *world) work() (done int) {
	w.T.Helper()
	for len(w.queue.sent) > 0 {
		job := w.queue.sent[0]
		w.queue.sent = w.queue.sent[1:]
		next, err := w.engine.Step(w.T.Context(), job)
		w.Must(err)
		if next.Done {
			done++
		} else if next.Wait == 0 {
			w.queue.sent = append(w.queue.sent, job)
		}
	}
	return done
}

func TestFanOutsGoOnWhenTheyAreDue(t *testing.T) {
	w := newWorld(t)
	w.role("r")
	w.assign("u", "r", time.Time{})
	_, err := w.Writer.PutRole(t.Context(), w.request(), w.Scope, write.Role{ID: writetest.Role("r"), Name: "changed"}, nil)
	w.Must(err)
	// The stream lost the record: nobody began a fan-out. The sweep finds the entry.
	done := 0
	for range 90 { // the sweep of the second hour, and what follows
		w.Clock.Advance(time.Minute)
		w.tick()
		done += w.work()
	}
	h, err := w.engine.Head(t.Context(), w.Scope.ID)
	w.Must(err)
	if done != 1 || h.Pending() != 0 {
		t.Errorf("%d fan-outs ended, %d entries are left", done, h.Pending())
	}
}

func TestHourlyTasks(t *testing.T) {
	w := newWorld(t)
	w.tick()
	for range 59 {
		w.Clock.Advance(time.Minute)
		w.tick()
	}
	w.Clock.Advance(time.Minute)
	w.tick()
	w.Clock.Advance(150 * time.Minute)
	w.tick()
	if !slices.Equal(w.hourly, []string{"12:00", "13:00", "15:30"}) {
		t.Errorf("ran at %v", w.hourly)
	}
}

func TestAFailingItemHoldsNoOther(t *testing.T) {
	w := newWorld(t)
	w.role("r")
	for i := range 5 {
		w.assign(fmt.Sprintf("u%d", i), "r", w.Clock.Now().Add(time.Second))
	}
	inner := w.scheduler.Due["Policy"]
	w.scheduler.Due["Policy"] = func(ctx context.Context, it *table.Item) error {
		p, err := stored.Decode[entity.Policy](it)
		w.Must(err)
		if p.Subject == writetest.Subject("u2") {
			return errors.New("poison")
		}
		return inner(ctx, it)
	}
	w.Clock.Advance(time.Minute)
	w.tick()
	for i := range 5 {
		if got := len(w.held(fmt.Sprintf("u%d", i))); (got == 0) == (i == 2) {
			t.Errorf("u%d holds %d roles", i, got)
		}
	}
}

// left are all items by type, events and tasks apart.
func (w *world) left() map[string]int {
	w.T.Helper()
	n := make(map[string]int)
	shards, err := w.Table.Shards(w.T.Context())
	w.Must(err)
	changes, _, err := w.Table.Changes(w.T.Context(), shards[0], "", 100000)
	w.Must(err)
	seen := make(map[keys.Raw]bool)
	for _, c := range changes {
		k := c.New
		if k == nil || seen[k.Key] || k.Type == "Event" || k.Type == "Task" {
			continue
		}
		seen[k.Key] = true
		it, err := w.Table.Get(w.T.Context(), k.Key, table.Strong)
		w.Must(err)
		if it != nil {
			n[it.Type]++
		}
	}
	return n
}

func TestDeletedScopesArePurgedAndTheirIDKept(t *testing.T) {
	w := newWorld(t)
	w.role("r")
	for i := range 2 * purge.Piece {
		w.assign(fmt.Sprintf("u%d", i), "r", time.Time{})
	}
	_, err := w.Writer.DeleteScope(t.Context(), w.request(), w.Scope, nil, true)
	w.Must(err)
	again := entity.Scope{ID: w.Scope.ID, Org: w.Scope.Org, Name: "again"}
	_, err = w.Writer.CreateScope(t.Context(), w.request(), again)
	if fault.CodeOf(err) != fault.BeingDeleted {
		t.Fatalf("created while it is purged: %v", err)
	}
	for range 5 {
		w.Clock.Advance(time.Minute)
		w.tick()
	}
	if left := w.left(); len(left) != 6 || left["Head"] != 1 || left["Fence"] != keys.Fences || left["Org"] != 1 || left["Unique"] != 1 || left["Member"] != 1 || left["APIKey"] != 1 {
		t.Errorf("left %v", left)
	}
	_, err = w.Writer.CreateScope(t.Context(), w.request(), again)
	w.Must(err)
}

func TestDeletedOrgsArePurged(t *testing.T) {
	w := newWorld(t)
	w.role("r")
	w.assign("u", "r", time.Time{})
	_, err := w.Writer.DeleteOrg(t.Context(), w.request(), w.Scope.Org, nil, true)
	w.Must(err)
	for range 6 {
		w.Clock.Advance(time.Minute)
		w.tick()
	}
	if left := w.left(); len(left) != 2 || left["Head"] != 1 || left["Fence"] != keys.Fences {
		t.Errorf("left %v", left)
	}
	foreign := w.Provision("other", nil)
	_, err = w.Writer.CreateScope(t.Context(), w.request(), entity.Scope{ID: w.Scope.ID, Org: foreign.Scope.Org, Name: "taken over"})
	if fault.CodeOf(err) != fault.AlreadyExists {
		t.Errorf("another org took the scope's id: %v", err)
	}
	w.Provision("acme", nil) // the same org may
}

// An org's deletion that stopped after its first write is finished: no scope of it
// goes on allowing.
func TestInterruptedOrgDeletionsAreFinished(t *testing.T) {
	w := newWorld(t)
	other := w.NewScope("acme-2")
	org, it, err := stored.Get(t.Context(), w.Table, keys.Org(w.Scope.Org), table.Strong)
	w.Must(err)
	org.Status = entity.OrgDeleting
	body, err := json.Marshal(org)
	w.Must(err)
	marked := *it
	marked.Version++
	marked.Body = body
	marked.Index[keys.GSI4-1] = keys.Due(w.Clock.Now(), "org/acme")
	w.PutItem(&marked)
	w.tick()
	for _, s := range []rbac.ScopeID{w.Scope.ID, other.Scope.ID} {
		h, err := w.engine.Head(t.Context(), s)
		w.Must(err)
		if !h.Deleted {
			t.Errorf("scope %s still answers", s)
		}
	}
	for range 6 {
		w.Clock.Advance(time.Minute)
		w.tick()
	}
	if left := w.left(); left["Head"] != 2 || left["Scope"] != 0 || left["Org"] != 0 || left["Policy"] != 0 {
		t.Errorf("left %v", left)
	}
}
