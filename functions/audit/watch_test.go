package audit_test

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/functions/audit"
	"github.com/wardenhq/warden/shared/auth"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/write/writetest"
)

// later runs what the scheduler does for as long as a change may wait for its event.
func (w *world) later() {
	w.Helper()
	for range 15 {
		w.Clock.Advance(time.Minute)
		w.Must(w.audit.Sweep(w.Context(), w.Clock.Now()))
		w.drain()
	}
}

// outOfBand are the events of that type in an org's log, the oldest first.
func (w *world) outOfBand(org string) []events.Event {
	w.Helper()
	return w.all(operator, "/v1/orgs/"+org+"/audit?action=out_of_band&order=asc")
}

// tamper changes an item past Warden.
func (w *world) tamper(key keys.Raw, edit func(*table.Item)) {
	w.Helper()
	it, err := w.Table.Get(w.Context(), key, table.Strong)
	w.Must(err)
	if it == nil {
		w.Fatalf("no item %s", key)
	}
	next := *it
	edit(&next)
	w.PutItem(&next)
}

func (w *world) remove(key keys.Raw) {
	w.Helper()
	w.Must(w.Table.Transact(w.Context(), table.Tx{Ops: []table.Op{table.Delete(key, table.Present())}}))
}

func TestOutOfBand(t *testing.T) {
	for name, c := range map[string]struct {
		do     func(w *world, acme *writetest.Tenant)
		target events.Target
	}{
		"a policy rewritten under the name of its last event": {func(w *world, acme *writetest.Tenant) {
			w.tamper(keys.Policy(acme.Scope.ID, writetest.Subject("owner")).Raw(), func(it *table.Item) {
				it.Body, it.Version = []byte(`{"subject":"owner","assignments":[]}`), it.Version+1
			})
		}, events.Target{Type: "policy", ID: "owner"}},
		"a role rewritten under an event that is none": {func(w *world, acme *writetest.Tenant) {
			w.tamper(keys.Role(acme.Scope.ID, writetest.Role("admin")).Raw(), func(it *table.Item) {
				it.LastEvent, it.Version = "evt_none", it.Version+1
			})
		}, events.Target{Type: "role", ID: "admin"}},
		"an org that names no event": {func(w *world, acme *writetest.Tenant) {
			w.tamper(keys.Org(acme.Key.Org).Raw(), func(it *table.Item) { it.LastEvent = "" })
			w.tamper(keys.Org(acme.Key.Org).Raw(), func(it *table.Item) {
				it.Body = []byte(strings.Replace(string(it.Body), "365", "1", 1))
			})
		}, events.Target{Type: "org", ID: "acme"}},
		"a key put in": {func(_ *world, acme *writetest.Tenant) {
			key := acme.Key
			key.ID, key.Name = auth.NewKeyID(), "back door"
			acme.Put(keys.APIKey(key.Org, key.ID).Raw(), "APIKey", 1, key)
		}, events.Target{Type: "api_key"}},
		"a key taken away": {func(w *world, acme *writetest.Tenant) {
			w.remove(keys.APIKey(acme.Key.Org, acme.Key.ID).Raw())
		}, events.Target{Type: "api_key"}},
		"a policy taken away": {func(w *world, acme *writetest.Tenant) {
			acme.Assign("alice", "admin") // an event of that target that is no deletion
			w.remove(keys.Policy(acme.Scope.ID, writetest.Subject("alice")).Raw())
		}, events.Target{Type: "policy", ID: "alice"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			acme := w.Provision("acme", nil)
			w.drain()
			c.do(w, acme)
			w.drain()
			if got := w.outOfBand("acme"); len(got) != 0 {
				t.Fatalf("at once: %+v", got)
			}
			w.later()
			w.after = "" // told again, it is no other one
			w.drain()
			w.later()
			got := w.outOfBand("acme")
			if len(got) == 0 || got[0].Target.Type != c.target.Type || c.target.ID != "" && got[0].Target != c.target {
				t.Fatalf("got %+v, want %v", got, c.target)
			}
			seen := map[string]bool{}
			for _, e := range got {
				key := string(e.Before) + string(e.After)
				if seen[key] || strings.Contains(key, "hash\"") || strings.Contains(key, "assignments") {
					t.Errorf("event %+v", e)
				}
				seen[key] = true
			}
		})
	}
}

// What Warden does itself is never out of band, however its changes reach the
// function: in one batch, one by one, or from the first on again.
func TestNothingOfWardenIsOutOfBand(t *testing.T) {
	w := newWorld(t)
	acme := w.Provision("acme", nil)
	acme.Permission("invoice", "read", "allow")
	acme.Role("reader", []string{"invoice:read"})
	acme.Role("reader", nil)
	acme.Assign("alice", "reader")
	acme.AssignUntil("bob", "reader", w.Clock.Now().Add(time.Hour))
	acme.DeletePolicy("alice")
	second := acme.NewScope("second")
	second.DeleteScope()
	changes, _, err := w.Table.Changes(t.Context(), "memory", "", 1000)
	w.Must(err)
	one := func(c table.Change) {
		done, err := w.audit.Changes(t.Context(), []table.Change{c})
		if err != nil || done != 1 {
			t.Fatalf("%v: %v", c, err)
		}
	}
	for i := range changes { // every change apart from its event, which comes later
		one(changes[len(changes)-1-i])
	}
	w.drain()
	w.later()
	for _, c := range changes {
		one(c)
	}
	w.later()
	if got := w.outOfBand("acme"); len(got) > 0 {
		t.Errorf("got %+v", got)
	}
}

func TestTheStoreRemovingWhatIsOverIsNoChange(t *testing.T) {
	w := newWorld(t)
	acme := w.Provision("acme", nil)
	w.drain()
	policy := keys.Policy(acme.Scope.ID, writetest.Subject("owner")).Raw()
	w.tamper(policy, func(it *table.Item) { it.TTL = w.Clock.Now().Unix() }) // its content is as it was
	w.remove(policy)
	w.drain()
	w.later()
	if got := w.outOfBand("acme"); len(got) > 0 {
		t.Errorf("got %+v", got)
	}
}

// Every type of the catalogue is in one of the two tables.
func TestEveryTypeIsWatchedOrExempt(t *testing.T) {
	text, err := os.ReadFile("../../shared/DOMAIN_MODELS.md")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]string{ // whose items' Type is shorter
		"ScopeEvent": "Event", "OrgEvent": "Event", "ScopeAudit": "Audit", "OrgAudit": "Audit", "ScopeChain": "Chain", "OrgChain": "Chain",
		"ScopeCheckpoint": "Checkpoint", "OrgCheckpoint": "Checkpoint",
	}
	_, after, _ := strings.Cut(string(text), "\n## Entities\n")
	body, _, _ := strings.Cut(after, "\n## ")
	rows := regexp.MustCompile("(?m)^\\| ([A-Za-z]+) \\| `").FindAllStringSubmatch(body, -1)
	seen := map[string]bool{}
	for _, row := range rows {
		kind := row[1]
		if short, ok := named[kind]; ok {
			kind = short
		}
		seen[kind] = true
		if _, isWatched := audit.Watched[kind]; isWatched == (audit.Exempt[kind] != "") {
			t.Errorf("%s is in both tables, or in neither", kind)
		}
	}
	for kind := range audit.Watched {
		if !seen[kind] {
			t.Errorf("%s is not in the catalogue", kind)
		}
	}
	for kind := range audit.Exempt {
		if !seen[kind] {
			t.Errorf("%s is not in the catalogue", kind)
		}
	}
	if len(rows) < 30 {
		t.Errorf("%d rows", len(rows))
	}
}

func TestAKeyWhoseOverlapEndsIsQuiet(t *testing.T) {
	w := newWorld(t)
	acme := w.Provision("acme", nil)
	now := w.Clock.Now()
	past := []entity.PastSecret{{Hash: []byte("x"), Until: now.Add(time.Hour)}, {Hash: []byte("y"), Until: now.Add(3 * time.Hour)}}
	acme.Edit(func(k *entity.APIKey) { k.Previous = past })
	w.skip()
	w.Clock.Advance(2 * time.Hour)
	it, err := w.Table.Get(t.Context(), keys.APIKey(acme.Key.Org, acme.Key.ID).Raw(), table.Strong)
	w.Must(err)
	key := acme.Key
	key.Previous = past
	w.Must(w.Writer.EndOverlap(context.Background(), it, key))
	w.drain()
	w.later()
	if got := w.outOfBand("acme"); len(got) > 0 {
		t.Errorf("got %+v", got)
	}
}
