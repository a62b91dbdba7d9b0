package audit_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/events/chain"
	"github.com/wardenhq/warden/shared/audit"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/retry"
	"github.com/wardenhq/warden/shared/seal"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/write/writetest"
)

// pending commits n events that each show the given resource.
func pending(t *testing.T, w *writetest.World, n int, shown string) (all []audit.Pending) {
	t.Helper()
	for i := range n {
		op, err := audit.Outbox(events.Event{
			ID: fmt.Sprintf("evt_%03d", i), Type: events.OutOfBand, Org: "acme", Actor: events.Actor{Type: "system", ID: "test"},
			Target: events.Target{Type: "role", ID: "r"}, Before: []byte(shown), After: []byte(shown),
		}, w.Clock.Now())
		w.Must(err)
		w.Must(w.Table.Transact(t.Context(), table.Tx{Ops: []table.Op{op}}))
		p, err := audit.ReadPending(op.Item)
		w.Must(err)
		all = append(all, p)
	}
	return all
}

func newLog(w *writetest.World) *audit.Log {
	return &audit.Log{Table: w.Table, Clock: w.Clock, Backoff: retry.Backoff{Clock: w.Clock, Jitter: func() float64 { return 1 }, Base: time.Second, Max: time.Second, Tries: 3}}
}

// Events as large as they get are put into transactions that are small enough.
func TestAppendFitsItsTransactions(t *testing.T) {
	for name, c := range map[string]struct {
		events, ops int
		shown       string
	}{
		"one":              {1, 2, "null"},
		"as many as fit":   {audit.MaxAppend, 2, "null"},
		"one more":         {audit.MaxAppend + 1, 4, "null"},
		"as large as ever": {100, 10, `"` + strings.Repeat("x", events.MaxShown-2) + `"`},
	} {
		w := writetest.New(t)
		batch := pending(t, w, c.events, c.shown)
		log := newLog(w)
		var warm, m table.Meter
		_, err := log.Append(table.WithMeter(t.Context(), &warm), batch[:1]) // and the org's retention is read
		w.Must(err)
		sealed, err := log.Append(table.WithMeter(t.Context(), &m), batch)
		w.Must(err)
		var head chain.Head
		for i := range sealed {
			if sealed[i].ID != batch[i].Event.ID || sealed[i].PreviousHash != head.Hash.String() {
				t.Fatalf("%s: event %d: %+v", name, i, sealed[i])
			}
			head.Seq++
			w.Must(head.Hash.UnmarshalText([]byte(sealed[i].Hash)))
			if sealed[i].Seq != head.Seq {
				t.Fatalf("%s: seq %d, want %d", name, sealed[i].Seq, head.Seq)
			}
		}
		if len(sealed) != c.events || m.Cost().Ops > c.ops+2 { // the first one is found appended
			t.Errorf("%s: %d events by %s", name, len(sealed), m.Cost())
		}
	}
}

func TestWhatIsNoEventItem(t *testing.T) {
	w := writetest.New(t)
	good, err := audit.Outbox(events.Event{ID: "evt_1", Org: "acme"}, w.Clock.Now())
	w.Must(err)
	for name, edit := range map[string]func(*table.Item){
		"another type":   func(it *table.Item) { it.Type = "Role" },
		"another format": func(it *table.Item) { it.Format = 9 },
		"no JSON":        func(it *table.Item) { it.Body = []byte("{") },
		"no event":       func(it *table.Item) { it.Body = []byte(`{"event":1}`) },
		"no id":          func(it *table.Item) { it.Body = []byte(`{"event":{"org":"acme"}}`) },
		"no org":         func(it *table.Item) { it.Body = []byte(`{"event":{"id":"e","org":""}}`) },
		"no scope":       func(it *table.Item) { it.Body = []byte(`{"event":{"id":"e","org":"acme","scope":""}}`) },
	} {
		it := *good.Item
		edit(&it)
		if _, err := audit.ReadPending(&it); !errors.Is(err, audit.ErrOutbox) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Marking an event item keeps all else of it: a writer whose answer was lost
// reads it.
func TestMarkKeepsTheEventItem(t *testing.T) {
	w := writetest.New(t)
	batch := pending(t, w, 1, "null")
	changes, _, err := w.Table.Changes(t.Context(), "memory", "", 10)
	w.Must(err)
	before := changes[0].New
	_, err = newLog(w).Append(t.Context(), batch)
	w.Must(err)
	it, err := w.Table.Get(t.Context(), before.Key, table.Strong)
	w.Must(err)
	var old, now map[string]json.RawMessage
	w.Must(json.Unmarshal(before.Body, &old))
	w.Must(json.Unmarshal(it.Body, &now))
	if string(now["seq"]) != "1" || it.Version != 2 || it.TTL != before.TTL {
		t.Errorf("%+v %s", it, it.Body)
	}
	for member, value := range old {
		if !bytes.Equal(value, now[member]) {
			t.Errorf("%s is %s, was %s", member, now[member], value)
		}
	}
}

func TestBadWindows(t *testing.T) {
	log := newLog(writetest.New(t))
	id := audit.ID{Org: rbac.Must(rbac.ParseOrgID("acme")), Scope: rbac.Must(rbac.ParseScopeID("main"))}
	for _, w := range []audit.Window{{}, {From: "0", To: "1"}, {From: "1", To: "x"}, {From: "-1", To: "1"}} {
		if _, err := log.Chain(id, w, audit.How{Page: 1, Queries: 1}); !errors.Is(err, audit.ErrBadWindow) {
			t.Errorf("%+v: %v", w, err)
		}
		if _, err := log.Org(id.Org, w, audit.How{Page: 1, Queries: 1}); !errors.Is(err, audit.ErrBadWindow) {
			t.Errorf("%+v: %v", w, err)
		}
	}
}

func TestSigningKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), audit.SigningKeyFile)
	first, err := audit.OpenSigningKey(path, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	again, err := audit.OpenSigningKey(path, rand.Reader)
	if err != nil || !first.Equal(again) {
		t.Errorf("another key after a restart: %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	var refused *seal.KeyFileError
	if _, err := audit.OpenSigningKey(path, rand.Reader); !errors.As(err, &refused) {
		t.Errorf("a key that others can read: %v", err)
	}
}
