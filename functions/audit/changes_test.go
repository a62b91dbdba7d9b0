package audit_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/wardenhq/warden/events/chain"
	trail "github.com/wardenhq/warden/shared/audit"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/table/weak"
)

func TestEveryEventIsInItsChainOnce(t *testing.T) {
	w := newWorld(t)
	acme, other := w.Provision("acme", nil), w.Provision("other", nil)
	w.busy(acme, 60)
	w.busy(other, 3)
	w.drain()
	for _, tn := range []struct {
		path  string
		count uint64
	}{{"/v1/scopes/acme/audit", 60}, {"/v1/scopes/other/audit", 3}} {
		export := w.lines(operator, tn.path+"?order=asc")
		if head := w.verified(export, chain.Expectation{}); head.Seq != tn.count {
			t.Errorf("%s ends with seq %d, want %d", tn.path, head.Seq, tn.count)
		}
	}
	if len(w.published) != 65 { // and the creation of two orgs
		t.Errorf("%d events were published", len(w.published))
	}
	for _, e := range w.published {
		if hash, err := chain.HashOf(&e); err != nil || hash.String() != e.Hash || e.Seq == 0 {
			t.Errorf("published %+v: %v", e, err)
		}
	}
}

func TestRedeliveryWritesNothingTwice(t *testing.T) {
	w := newWorld(t)
	w.busy(w.Provision("acme", nil), 5)
	w.drain()
	first, n := w.lines(operator, "/v1/orgs/acme/audit?order=asc"), len(w.published)
	w.after = ""
	w.drain()
	if again := w.lines(operator, "/v1/orgs/acme/audit?order=asc"); again != first {
		t.Errorf("first\n%s\nagain\n%s", first, again)
	}
	for i, e := range w.published[n:] { // at least once, and the same
		if e.Hash != w.published[i].Hash {
			t.Errorf("published %+v, before %+v", e, w.published[i])
		}
	}
}

func TestWhatIsNotPublishedComesAgain(t *testing.T) {
	w := newWorld(t)
	w.busy(w.Provision("acme", nil), 2)
	changes, _, err := w.Table.Changes(t.Context(), "memory", "", 100)
	w.Must(err)
	w.refuse = errors.New("the bus is away")
	done, err := w.audit.Changes(t.Context(), changes)
	if !errors.Is(err, w.refuse) || !trail.IsOutbox(changes[done].New) {
		t.Fatalf("%d done, %v", done, err)
	}
	w.refuse = nil
	w.drain()
	if len(w.published) != 3 {
		t.Errorf("%d events were published", len(w.published))
	}
}

func TestAnUnreadableEventStopsWhereItStands(t *testing.T) {
	w := newWorld(t)
	acme := w.Provision("acme", nil)
	w.drain()
	w.busy(acme, 1)
	bad := &table.Item{Key: keys.ScopeEvent(acme.Scope.ID, 0, w.Clock.Now(), "evt_bad").Raw(), Type: "Event", Version: 1, Format: 1, Body: []byte(`{"event":7}`)}
	w.Must(w.Table.Transact(t.Context(), table.Tx{Ops: []table.Op{table.Put(bad, table.Absent())}}))
	w.busy(acme, 1)
	changes, _, err := w.Table.Changes(t.Context(), "memory", w.after, 100)
	w.Must(err)
	at := slices.IndexFunc(changes, func(c table.Change) bool { return c.New != nil && c.New.Key == bad.Key })
	done, err := w.audit.Changes(t.Context(), changes)
	if done != at || !errors.Is(err, trail.ErrOutbox) {
		t.Fatalf("%d done, want %d: %v", done, at, err)
	}
	done, err = w.audit.Changes(t.Context(), changes[at+1:]) // passed, once it is parked
	if err != nil || done != len(changes)-at-1 {
		t.Fatalf("%d done: %v", done, err)
	}
	if head := w.verified(w.lines(operator, "/v1/scopes/acme/audit?order=asc"), chain.Expectation{}); head.Seq != 2 {
		t.Errorf("seq %d", head.Seq)
	}
}

// An event item that is taken away before its time does not take the event along.
func TestAStolenEventItemIsAuditedOnce(t *testing.T) {
	w := newWorld(t)
	acme := w.Provision("acme", nil)
	w.drain()
	w.busy(acme, 1)
	changes, _, err := w.Table.Changes(t.Context(), "memory", w.after, 100)
	w.Must(err)
	for _, c := range changes {
		if trail.IsOutbox(c.New) {
			w.Must(w.Table.Transact(t.Context(), table.Tx{Ops: []table.Op{table.Delete(c.New.Key, table.Present())}}))
		}
	}
	for range 2 {
		w.after = changes[0].Sequence[:0]
		w.drain()
	}
	if head := w.verified(w.lines(operator, "/v1/scopes/acme/audit?order=asc"), chain.Expectation{}); head.Seq != 1 {
		t.Errorf("seq %d", head.Seq)
	}
}

func TestAnOccupiedPlaceIsAnError(t *testing.T) {
	w := newWorld(t)
	acme := w.Provision("acme", nil)
	w.Must(w.Table.Transact(t.Context(), table.Tx{Ops: []table.Op{table.Put(&table.Item{
		Key: keys.ScopeAudit(acme.Scope.ID, 1).Raw(), Type: "Audit", Version: 1, Format: 1, Body: []byte(`{}`),
	}, table.Absent())}}))
	w.busy(acme, 1)
	changes, _, err := w.Table.Changes(t.Context(), "memory", "", 100)
	w.Must(err)
	if _, err := w.audit.Changes(t.Context(), changes); !errors.Is(err, trail.ErrOccupied) {
		t.Errorf("got %v", err)
	}
}

// Two workers at once over a weak table, each told the changes doubled, in
// batches of any size, from anywhere before: every event is in its chain once.
func TestWorkersOverAWeakTable(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			acme, other := w.Provision("acme", nil), w.Provision("other", nil)
			w.busy(acme, 30)
			w.busy(other, 10)
			changes, _, err := w.Table.Changes(t.Context(), "memory", "", 1000)
			w.Must(err)
			rnd := rand.New(rand.NewPCG(seed, 1))
			knobs := weak.Draw(rnd)
			store := weak.New(w.Table, weak.Options{Knobs: knobs, Rand: rnd, Now: w.Clock.Now})
			var workers sync.WaitGroup
			for n := range uint64(2) {
				workers.Go(func() { work(t, w.over(store).Changes, changes, rand.New(rand.NewPCG(seed, 2+n))) })
			}
			workers.Wait()
			store.Settle()
			got := map[string]int{}
			for path, want := range map[string]uint64{"/v1/scopes/acme/audit": 30, "/v1/scopes/other/audit": 10} {
				export := w.lines(operator, path+"?order=asc")
				if head := w.verified(export, chain.Expectation{}); head.Seq != want {
					t.Errorf("%s: seq %d, want %d", path, head.Seq, want)
				}
			}
			for _, org := range []string{"acme", "other"} {
				for _, e := range w.all(operator, "/v1/orgs/"+org+"/audit") {
					got[e.ID]++
				}
			}
			published := map[string]bool{}
			for _, e := range w.published {
				published[e.ID] = true
			}
			for _, id := range committed(t, changes) {
				if got[id] != 1 || !published[id] {
					t.Errorf("event %s: %d times in the log, published %v", id, got[id], published[id])
				}
			}
		})
	}
}

// work consumes all changes, some of them again and out of order between keys,
// until each was done once at least.
func work(t *testing.T, handle func(context.Context, []table.Change) (int, error), changes []table.Change, rnd *rand.Rand) {
	shuffled := slices.Clone(changes)
	for i := range shuffled { // a little out of order, as shards of a stream are to each other
		j := min(len(shuffled)-1, i+rnd.IntN(6))
		shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
	}
	for at, failures := 0, 0; at < len(shuffled); {
		end := min(len(shuffled), at+1+rnd.IntN(80))
		batch := shuffled[at:end]
		if rnd.IntN(4) == 0 {
			batch = slices.Concat(batch, batch)
		}
		done, err := handle(t.Context(), batch)
		if err != nil {
			if failures++; failures > 100 {
				t.Errorf("gives up: %v", err)
				return
			}
		} else if done != len(batch) {
			t.Errorf("%d of %d done without an error", done, len(batch))
			return
		}
		at += min(done, end-at)
		if rnd.IntN(5) == 0 {
			at = max(0, at-rnd.IntN(40))
		}
	}
}

func committed(t *testing.T, changes []table.Change) (ids []string) {
	t.Helper()
	for _, c := range changes {
		if trail.IsOutbox(c.New) && c.Old == nil {
			p, err := trail.ReadPending(c.New)
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, p.Event.ID)
		}
	}
	return ids
}

func TestRetention(t *testing.T) {
	w := newWorld(t)
	acme := w.Provision("acme", nil)
	w.busy(acme, 1)
	w.drain()
	const day = 24 * time.Hour
	it, err := w.Table.Get(t.Context(), keys.ScopeAudit(acme.Scope.ID, 1).Raw(), table.Strong)
	w.Must(err)
	if want := w.Clock.Now().Add(365 * day).Unix(); it.TTL != want {
		t.Errorf("TTL %d, want %d", it.TTL, want)
	}
	w.Clock.Advance(366 * day) // the store may take its time to remove it
	w.busy(acme, 1)
	w.drain()
	left := w.all(operator, "/v1/scopes/acme/audit")
	if len(left) != 1 || left[0].Seq != 2 {
		t.Errorf("left %+v", left)
	}
	w.verified(w.lines(operator, "/v1/scopes/acme/audit?order=asc"), chain.Expectation{Partial: true})
}

// A retention that is changed holds for what is recorded from a minute later on.
func TestRetentionChanged(t *testing.T) {
	w := newWorld(t)
	acme := w.Provision("acme", nil)
	w.busy(acme, 1)
	w.drain()
	org, it, err := stored.Get(t.Context(), w.Table, keys.Org(acme.Key.Org), table.Strong)
	w.Must(err)
	org.AuditRetentionDays = 30
	acme.Put(it.Key, "Org", it.Version+1, org)
	w.Clock.Advance(time.Minute)
	w.busy(acme, 1)
	w.drain()
	got, err := w.Table.Get(t.Context(), keys.ScopeAudit(acme.Scope.ID, 2).Raw(), table.Strong)
	w.Must(err)
	if want := w.Clock.Now().Add(30 * 24 * time.Hour).Unix(); got == nil || got.TTL != want {
		t.Errorf("%+v, want TTL %d", got, want)
	}
}

func TestCosts(t *testing.T) {
	w := newWorld(t)
	acme := w.Provision("acme", nil)
	w.drain()
	w.busy(acme, 45)
	changes, _, err := w.Table.Changes(t.Context(), "memory", w.after, 1000)
	w.Must(err)
	var only []table.Change // the events
	for _, c := range changes {
		if trail.IsOutbox(c.New) {
			only = append(only, c)
		}
	}
	var m table.Meter
	if _, err := w.audit.Changes(table.WithMeter(t.Context(), &m), only); err != nil {
		t.Fatal(err)
	}
	got := m.Cost()
	if got.Ops != 2 || got.RRU != 1 { // the head; one transaction
		t.Errorf("45 events cost %s", got)
	}
	if perEvent := (got.WRU - 3) / 45; perEvent > 8 { // audit item and its index entry, mark of the event item; about 1 KB each
		t.Errorf("an event costs %.2f write units", perEvent)
	}
	m = table.Meter{}
	if _, err := w.audit.Changes(table.WithMeter(t.Context(), &m), changes); err != nil {
		t.Fatal(err)
	}
	if got := m.Cost(); got.WRU > 45*4+4 {
		t.Errorf("told again: %s", got)
	}
	m = table.Meter{}
	var quiet []table.Change
	for _, c := range changes {
		if c.New.Type == "Policy" {
			quiet = append(quiet, c)
		}
	}
	if _, err := w.audit.Changes(table.WithMeter(t.Context(), &m), quiet); err != nil {
		t.Fatal(err)
	}
	if got := m.Cost(); got.Ops != len(quiet) || got.RRU != float64(len(quiet)) || got.WRU != 0 { // a change whose event is in another batch
		t.Errorf("%d policies apart from their events: %s", len(quiet), got)
	}
}
