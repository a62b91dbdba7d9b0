package serve

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/shared/egress"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/embedded"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/write"
)

// tenant is an org over an embedded store, with the functions behind it at work.
type tenant struct {
	parts
	scope write.Scope
}

func newTenant(b *testing.B, guard egress.Guard) *tenant {
	b.Helper()
	dir := b.TempDir()
	store, err := embedded.Open(embedded.Options{Dir: dir})
	if err != nil {
		b.Fatal(err)
	}
	keysOf, err := openSecrets(dir)
	if err != nil {
		b.Fatal(err)
	}
	t := &tenant{parts: newParts(store, nil, keysOf, guard)}
	behind, err := newBackground(t.parts, store, Options{Data: dir, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); behind.run(ctx) }()
	b.Cleanup(func() {
		stop()
		<-done
		if err := behind.broker.Close(); err != nil {
			b.Error(err)
		}
		if err := store.Close(); err != nil {
			b.Error(err)
		}
	})
	org, scope := rbac.Must(rbac.ParseOrgID("acme")), rbac.Must(rbac.ParseScopeID("acme"))
	_, _, err = t.writer.ProvisionOrg(ctx, t.request(), write.Provision{
		Org: org, Name: "Acme", Owner: rbac.Must(rbac.ParseSubjectID("owner")), Scope: scope, ScopeName: "Acme",
		Key: entity.APIKey{ID: rbac.Must(rbac.ParseAPIKeyID("k")), Org: org},
	})
	if err != nil {
		b.Fatal(err)
	}
	h, err := t.engine.Head(ctx, scope)
	if err != nil {
		b.Fatal(err)
	}
	t.scope = write.Scope{Org: org, ID: scope, Incarnation: h.Incarnation}
	return t
}

func (t *tenant) request() *write.Request {
	return t.writer.NewRequest(write.Origin{Actor: events.Actor{Type: "operator", ID: "bench"}})
}

func (t *tenant) putRole(id, name string) error {
	_, err := t.writer.PutRole(context.Background(), t.request(), t.scope, write.Role{ID: rbac.Must(rbac.ParseRoleID(id)), Name: name}, nil)
	return err
}

// assignAll gives a role to n subjects, through the writer, by 32 clients.
func (t *tenant) assignAll(b *testing.B, role string, n int) {
	b.Helper()
	next := make(chan int)
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for i := range next {
				g := write.Grant{Role: rbac.Must(rbac.ParseRoleID(role))}
				if _, err := t.writer.AssignRole(context.Background(), t.request(), t.scope, rbac.Must(rbac.ParseSubjectID(fmt.Sprintf("user-%06d", i))), g, nil); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// editOthers edits a role that nobody has until told to stop, and returns how long
// each edit took.
func (t *tenant) editOthers(b *testing.B, stop <-chan struct{}) (took []time.Duration) {
	b.Helper()
	for i := 0; ; i++ {
		select {
		case <-stop:
			slices.Sort(took)
			return took
		default:
		}
		began := time.Now()
		if err := t.putRole("other", fmt.Sprint(i)); err != nil {
			b.Error(err)
		}
		took = append(took, time.Since(began))
	}
}

func at(sorted []time.Duration, share float64) time.Duration {
	return sorted[int(share*float64(len(sorted)-1))]
}

// caughtUp says whether every holder's document has been brought up once.
func (t *tenant) caughtUp(b *testing.B, role string) bool {
	b.Helper()
	name := rbac.OfRole(rbac.Must(rbac.ParseRoleID(role))).Hash()
	r, it, err := stored.Get(b.Context(), t.store, keys.Recompute(t.scope.ID, name), table.Strong)
	if err != nil {
		b.Fatal(err)
	}
	return it != nil && r.Phase != entity.PhaseFirst
}

// BenchmarkFanOut edits a role that 100,000 subjects hold: how long until every
// document is recomputed (goal: 30 s), what edits of another role take meanwhile
// (p50 at most 2 times, p99 at most 5 times their usual), and what the heap in use
// grows by (goal: 300 MB).
func BenchmarkFanOut(b *testing.B) {
	const holders = 100_000
	t := newTenant(b, egress.Guard{})
	for _, role := range []string{"large", "other"} {
		if err := t.putRole(role, ""); err != nil {
			b.Fatal(err)
		}
	}
	t.assignAll(b, "large", holders)
	stop, usual := make(chan struct{}), make(chan []time.Duration)
	go func() { usual <- t.editOthers(b, stop) }()
	<-time.After(3 * time.Second)
	close(stop)
	before := <-usual
	runtime.GC()
	var base, now runtime.MemStats
	runtime.ReadMemStats(&base)
	for i := 0; b.Loop(); i++ {
		stop := make(chan struct{})
		began := time.Now()
		if err := t.putRole("large", fmt.Sprint("edition ", i)); err != nil {
			b.Fatal(err)
		}
		go func() { usual <- t.editOthers(b, stop) }()
		most := base.HeapInuse
		for !t.caughtUp(b, "large") {
			<-time.After(100 * time.Millisecond)
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapInuse)
		}
		took := time.Since(began)
		close(stop)
		during := <-usual
		b.ReportMetric(took.Seconds(), "s/fan-out")
		b.ReportMetric(float64(holders)/took.Seconds(), "documents/s")
		b.ReportMetric(at(during, 0.5).Seconds()/at(before, 0.5).Seconds(), "p50-ratio")
		b.ReportMetric(at(during, 0.99).Seconds()/at(before, 0.99).Seconds(), "p99-ratio")
		b.ReportMetric(float64(most-base.HeapInuse)/(1<<20), "heap-MB")
	}
	if drift, err := t.engine.Verify(b.Context(), t.scope.ID, table.MaxQueryLimit, "", false); err != nil || len(drift.Drifted) > 0 {
		b.Errorf("drifted: %+v, %v", drift, err)
	}
}
