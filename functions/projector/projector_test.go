package projector_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/functions/projector"
	"github.com/wardenhq/warden/shared/access"
	"github.com/wardenhq/warden/shared/head"
	"github.com/wardenhq/warden/shared/queue"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/recompute"
	"github.com/wardenhq/warden/shared/retry"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/write/writetest"
)

// jobs is the queue `recompute`.
type jobs struct {
	sent []queue.Message
	err  error
}

func (j *jobs) Send(_ context.Context, ms []queue.Message) error {
	if j.err != nil {
		return j.err
	}
	j.sent = append(j.sent, ms...)
	return nil
}

type world struct {
	*writetest.Tenant
	projector *projector.Projector
	queue     *jobs
	at        string // how far the stream was consumed
}

func newWorld(t *testing.T) *world {
	tenant := writetest.New(t).Provision("acme", nil)
	w := &world{Tenant: tenant, queue: &jobs{}}
	engine := &recompute.Engine{Table: w.Table, Snapshots: w.Snapshots, Clock: w.Clock, Backoff: retry.Backoff{
		Clock: w.Clock, Jitter: func() float64 { return 0 }, Base: time.Millisecond, Max: time.Millisecond, Tries: 5,
	}}
	w.projector = projector.New(projector.Config{Engine: engine, Writer: w.Writer, Queue: w.queue, Log: slog.New(slog.DiscardHandler)})
	return w
}

// changes are those of the stream since the last call.
func (w *world) changes() []table.Change {
	w.T.Helper()
	shards, err := w.Table.Shards(w.T.Context())
	w.Must(err)
	changes, next, err := w.Table.Changes(w.T.Context(), shards[0], w.at, 10000)
	w.Must(err)
	w.at = next
	return changes
}

func (w *world) consume(changes []table.Change) {
	w.T.Helper()
	done, err := w.projector.Changes(w.T.Context(), changes)
	w.Must(err)
	if done != len(changes) {
		w.T.Fatalf("%d of %d changes done", done, len(changes))
	}
}

// run works on the queue until nothing is left that need not wait.
func (w *world) run() {
	w.T.Helper()
	for len(w.queue.sent) > 0 {
		m := w.queue.sent[0]
		w.queue.sent = w.queue.sent[1:]
		if failed := w.projector.Work(w.T.Context(), []queue.Message{m}); len(failed) > 0 {
			w.T.Fatalf("message %s failed", m.Body)
		}
	}
}

func (w *world) revision(u string) rbac.Revision {
	w.T.Helper()
	it, err := w.Table.Get(w.T.Context(), keys.Access(w.Scope.ID, writetest.Subject(u)).Raw(), table.Strong)
	w.Must(err)
	v, err := access.Parse(it.Blob)
	w.Must(err)
	return v.Revision()
}

func TestDefinitionChangesReachTheirHolders(t *testing.T) {
	w := newWorld(t)
	w.Permission("a", "x", rbac.Allow)
	w.Role("base", []string{"a:x"})
	w.Role("top", nil, "base")
	w.Assign("u", "top")
	w.consume(w.changes())
	if len(w.queue.sent) != 0 {
		t.Fatalf("ids that were never used before begin %d fan-outs", len(w.queue.sent))
	}
	w.Role("base", nil)
	changed := w.changes()
	w.consume(changed)
	w.consume(changed) // redelivered
	w.run()
	if got, want := w.revision("u"), w.Head().Revision; got != want {
		t.Errorf("the document is at revision %d of %d", got, want)
	}
	if w.Head().Pending() != 1 {
		t.Errorf("%d entries: one leaves only after its waits", w.Head().Pending())
	}
}

func TestAFailedSendIsToldAndTriedAgain(t *testing.T) {
	w := newWorld(t)
	w.Role("r", nil)
	w.Assign("u", "r")
	w.consume(w.changes())
	w.Permission("a", "x", rbac.Allow)
	w.Role("r", []string{"a:x"})
	changed := w.changes()
	w.queue.err = errors.New("no queue")
	done, err := w.projector.Changes(t.Context(), changed)
	if err == nil || done == len(changed) {
		t.Fatalf("%d of %d done, %v", done, len(changed), err)
	}
	w.queue.err = nil
	w.consume(changed[done:])
	w.run()
	if got, want := w.revision("u"), w.Head().Revision; got != want {
		t.Errorf("the document is at revision %d of %d", got, want)
	}
}

// TestSecondNet: a document that its definitions don't bear out is mended, and
// that is an event.
func TestSecondNet(t *testing.T) {
	w := newWorld(t)
	w.Permission("a", "x", rbac.Allow)
	w.Role("r", []string{"a:x"})
	w.Assign("u", "r")
	w.Assign("rich", "admin")
	w.consume(w.changes())
	get := func(u string) *table.Item {
		it, err := w.Table.Get(t.Context(), keys.Access(w.Scope.ID, writetest.Subject(u)).Raw(), table.Strong)
		w.Must(err)
		return it
	}
	forged := *get("u")
	forged.Blob = append([]byte(nil), forged.Blob...)
	forged.Blob[len(forged.Blob)-1] ^= 1
	forged.Version++
	w.PutItem(&forged)
	w.consume(w.changes())
	if mended := get("u"); mended.Version <= forged.Version {
		t.Fatal("the document was left as it was")
	}
	drift := 0
	for _, c := range w.changes() {
		if c.New == nil || c.New.Type != "Event" {
			continue
		}
		var body struct {
			Event events.Event `json:"event"`
		}
		w.Must(json.Unmarshal(c.New.Body, &body))
		if body.Event.Type == events.AccessDriftDetected && body.Event.Target.ID == "u" && body.Event.Actor.Type == "system" {
			drift++
		}
	}
	if drift != 1 {
		t.Errorf("%d events of drift", drift)
	}
}

func TestPoisonIsAnError(t *testing.T) {
	w := newWorld(t)
	w.changes()
	bad := &table.Item{Key: keys.Head(w.Scope.ID).Raw(), Type: "Head", Version: 9, Blob: []byte{99}}
	if done, err := w.projector.Changes(t.Context(), []table.Change{{New: bad}}); err == nil || done != 0 {
		t.Errorf("%d done, %v", done, err)
	}
	if failed := w.projector.Work(t.Context(), []queue.Message{{ID: "1", Body: []byte("no job")}}); len(failed) != 1 {
		t.Errorf("failed %v", failed)
	}
	gone := head.Head{Org: w.Scope.Org, Incarnation: 1, Revision: 5, Deleted: true}
	it := &table.Item{Key: keys.Head(w.Scope.ID).Raw(), Type: "Head", Version: 9, Blob: gone.Encode()}
	w.consume([]table.Change{{New: it}, {Old: it}}) // a deleted scope begins nothing, a removal neither
	if len(w.queue.sent) != 0 {
		t.Errorf("%d fan-outs", len(w.queue.sent))
	}
}
