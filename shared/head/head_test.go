package head_test

import (
	"errors"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wardenhq/warden/shared/head"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

var now = time.Date(2026, 11, 30, 12, 0, 0, 5, time.UTC)

func role(id string) rbac.DefinitionID { return rbac.OfRole(rbac.Must(rbac.ParseRoleID(id))) }

func newHead() head.Head {
	return head.Head{Org: rbac.Must(rbac.ParseOrgID("acme")), Incarnation: 7, Version: 1}
}

// doc is a document's revision and names.
type doc struct {
	revision rbac.Revision
	names    []rbac.DefinitionID
}

func (d doc) Revision() rbac.Revision { return d.revision }

func (d doc) Names(hash uint64) bool {
	for _, n := range d.names {
		if n.Hash() == hash {
			return true
		}
	}
	return false
}

func TestStaleOnlyAboveTheDocumentsRevision(t *testing.T) {
	h := newHead().Raised(role("a"), false, now).Raised(role("a"), true, now).Raised(role("b"), true, now)
	for _, c := range []struct {
		name string
		doc  doc
		want bool
	}{
		{"names what changed later", doc{1, []rbac.DefinitionID{role("a")}}, true},
		{"computed at the change", doc{2, []rbac.DefinitionID{role("a")}}, false},
		{"names another", doc{1, []rbac.DefinitionID{role("c")}}, false},
		{"one of several", doc{2, []rbac.DefinitionID{role("c"), role("b")}}, true},
		{"names none", doc{0, nil}, false},
	} {
		if got := h.Stale(c.doc); got != c.want {
			t.Errorf("%s: stale is %v", c.name, got)
		}
	}
	if h.Revision != 3 || h.Version != 4 || h.Last != role("b") || h.Pending() != 2 {
		t.Errorf("HEAD is %+v", h)
	}
}

func TestNewIDsNeedNoEntry(t *testing.T) {
	h := newHead().Raised(role("a"), false, now)
	if h.Pending() != 0 || h.Revision != 1 {
		t.Errorf("HEAD is %+v", h)
	}
}

func TestFluxCollapses(t *testing.T) {
	h := newHead()
	for i := range head.MaxFlux {
		h = h.Raised(role(strconv.Itoa(i)), true, now)
	}
	if len(h.Flux) != head.MaxFlux || h.All.Revision != 0 {
		t.Fatalf("%d entries, all %+v", len(h.Flux), h.All)
	}
	again := h.Raised(role("3"), true, now) // replaces its own entry
	if len(again.Flux) != head.MaxFlux {
		t.Fatalf("%d entries", len(again.Flux))
	}
	h = h.Raised(role("one more"), true, now)
	if len(h.Flux) != 0 || h.All.Revision != h.Revision {
		t.Fatalf("%d entries, all %+v", len(h.Flux), h.All)
	}
	if !h.Stale(doc{h.Revision - 1, nil}) || h.Stale(doc{h.Revision, []rbac.DefinitionID{role("3")}}) {
		t.Error("every document below the collapsed entry is stale, and none above")
	}
	if !h.ChangedSince(role("never").Hash(), h.Revision-1) || h.ChangedSince(role("3").Hash(), h.Revision) {
		t.Error("every definition may have changed below the collapsed entry, and none above")
	}
}

func TestRaisedLeavesItsReceiver(t *testing.T) {
	h := newHead().Raised(role("a"), true, now).Raised(role("b"), true, now)
	before := append([]head.Entry(nil), h.Flux...)
	_ = h.Raised(role("a"), true, now)
	_ = h.Raised(role("c"), true, now)
	if !reflect.DeepEqual(before, h.Flux) {
		t.Error("raising changed the HEAD that it was made from")
	}
}

func item(h head.Head) *table.Item {
	return &table.Item{Version: h.Version, Blob: h.Encode(), Key: keys.Head(rbac.Must(rbac.ParseScopeID("s"))).Raw()}
}

func TestRoundTrip(t *testing.T) {
	full := newHead()
	for i := range head.MaxFlux {
		full = full.Raised(role(strconv.Itoa(i)), true, now.Add(time.Duration(i)*time.Minute))
	}
	collapsed := full.Raised(role("x"), true, now).Raised(role("y"), true, now.Add(-time.Hour))
	deleted := newHead().Raised(role("a"), false, now)
	deleted.Deleted, deleted.Purged = true, true
	deleted.Floor, deleted.Permissions, deleted.Roles = 1, 10000, 3
	for name, h := range map[string]head.Head{"empty": newHead(), "full": full, "collapsed": collapsed, "deleted": deleted} {
		got, err := head.Decode(item(h))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !reflect.DeepEqual(*got, h) {
			t.Errorf("%s: got %+v, want %+v", name, *got, h)
		}
	}
}

func TestFullHeadStaysBelow4KB(t *testing.T) {
	id := strings.Repeat("#", rbac.MaxID)
	h := head.Head{Org: rbac.Must(rbac.ParseOrgID(id)), Incarnation: 1 << 62, Revision: 1 << 40, Version: 1 << 40, Floor: 1 << 39, Permissions: 10000, Roles: 10000}
	for i := range head.MaxFlux {
		h = h.Raised(role(id[:rbac.MaxID-3]+strconv.Itoa(100+i)), true, now.Add(time.Duration(i)*time.Hour))
	}
	it := item(h)
	it.Key = keys.Head(rbac.Must(rbac.ParseScopeID(id))).Raw()
	it.Type, it.Actor, it.RequestID, it.LastEvent, it.Format = "Head", "scim_token:"+id, id, strings.Repeat("e", 30), 1
	if n := table.Size(it); n > 4096 {
		t.Errorf("HEAD has %d bytes: a check would cost more than 0.5 units", n)
	}
}

func TestDecodeRefusesWhatItDoesNotKnow(t *testing.T) {
	good := newHead().Raised(role("a"), true, now).Encode()
	newer := append([]byte{2}, good[1:]...)
	for name, b := range map[string][]byte{"none": nil, "newer": newer, "cut": good[:len(good)-1], "longer": append(append([]byte{}, good...), 0)} {
		if _, err := head.Decode(&table.Item{Blob: b}); !errors.Is(err, table.ErrFormat) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(newHead().Encode())
	f.Add(newHead().Raised(role("a"), true, now).Raised(role("b"), true, now).Encode())
	f.Fuzz(func(_ *testing.T, b []byte) {
		h, err := head.Decode(&table.Item{Blob: b})
		if err != nil {
			return
		}
		h.Stale(doc{0, []rbac.DefinitionID{role("a")}})
		h.ChangedSince(role("a").Hash(), 0)
	})
}
