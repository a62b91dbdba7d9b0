package snapshot_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/wardenhq/warden/shared/clock"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/head"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/retry"
	"github.com/wardenhq/warden/shared/snapshot"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/table/weak/memory"
)

var scope = rbac.Must(rbac.ParseScopeID("s"))

func role(id string) rbac.DefinitionID { return rbac.OfRole(rbac.Must(rbac.ParseRoleID(id))) }

// counting counts snapshot reads, and runs a hook before each.
type counting struct {
	table.Store
	reads  int
	before func(n int)
	err    error
}

func (c *counting) TransactGet(ctx context.Context, wanted []keys.Raw) ([]*table.Item, error) {
	c.reads++
	if c.before != nil {
		c.before(c.reads)
	}
	if c.err != nil {
		return nil, c.err
	}
	return c.Store.TransactGet(ctx, wanted)
}

// fixture is a scope whose roles each have a name, written one by one.
type fixture struct {
	t    *testing.T
	db   *counting
	head head.Head
}

func newFixture(t *testing.T) *fixture {
	f := &fixture{t: t, db: &counting{Store: memory.New(time.Now)}}
	f.head = head.Head{Org: rbac.Must(rbac.ParseOrgID("o")), Incarnation: 1, Version: 1}
	f.put(f.headItem())
	return f
}

func (f *fixture) headItem() *table.Item {
	return &table.Item{Key: keys.Head(scope).Raw(), Type: "Head", Version: f.head.Version, Format: entity.Format, Blob: f.head.Encode()}
}

func (f *fixture) put(items ...*table.Item) {
	f.t.Helper()
	var tx table.Tx
	for _, it := range items {
		tx.Ops = append(tx.Ops, table.Put(it, table.Any()))
	}
	if err := f.db.Transact(f.t.Context(), tx); err != nil {
		f.t.Fatal(err)
	}
}

// write writes a role as a definition write does; entry says whether its id was used before.
func (f *fixture) write(id string, entry bool) {
	f.t.Helper()
	f.head = f.head.Raised(role(id), entry, time.Now())
	r, _ := role(id).Role()
	body, err := json.Marshal(entity.Role{Role: rbac.Role{ID: r, State: rbac.State{Incarnation: 1, Revision: f.head.Revision}}})
	if err != nil {
		f.t.Fatal(err)
	}
	f.put(f.headItem(), &table.Item{Key: keys.Role(scope, r).Raw(), Type: "Role", Version: uint64(f.head.Revision), Format: entity.Format, Body: body})
}

func (f *fixture) reader(cache int) *snapshot.Reader {
	return &snapshot.Reader{Table: f.db, Cache: snapshot.NewCache(cache), Backoff: retry.Backoff{
		Clock: clock.System{}, Jitter: func() float64 { return 0 }, Tries: 3,
	}}
}

// read reads roles and returns the revisions at which they were written, 0 for absent.
func (f *fixture) read(r *snapshot.Reader, ids ...string) []rbac.Revision {
	f.t.Helper()
	s, err := r.Read(f.t.Context(), snapshot.Request{Scope: scope, Wanted: want(ids)})
	if err != nil {
		f.t.Fatal(err)
	}
	out := make([]rbac.Revision, len(ids))
	for i, id := range ids {
		rid, _ := role(id).Role()
		if d, known := s.Defs.Role(rid); !known {
			f.t.Fatalf("role %s was not read", id)
		} else if d != nil {
			out[i] = d.Revision
		}
	}
	return out
}

func want(ids []string) func(snapshot.State) ([]rbac.DefinitionID, error) {
	return func(s snapshot.State) (missing []rbac.DefinitionID, err error) {
		for _, id := range ids {
			rid, _ := role(id).Role()
			if _, known := s.Defs.Role(rid); !known {
				missing = append(missing, role(id))
			}
		}
		return missing, nil
	}
}

func equal(t *testing.T, what string, got []rbac.Revision, want ...rbac.Revision) {
	t.Helper()
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%s: got %v, want %v", what, got, want)
		}
	}
}

func TestCacheIsCarriedForwardByFlux(t *testing.T) {
	f := newFixture(t)
	f.write("a", false)
	f.write("b", false)
	r := f.reader(100)
	equal(t, "first", f.read(r, "a", "b", "new"), 1, 2, 0)
	reads := f.db.reads
	equal(t, "cached", f.read(r, "a", "b"), 1, 2)
	if f.db.reads-reads != 1 {
		t.Errorf("a warm read took %d snapshots, want 1 for HEAD", f.db.reads-reads)
	}
	f.write("a", true)
	f.write("new", false) // never used before: no entry, and it was cached as absent
	equal(t, "after changes", f.read(r, "a", "b", "new"), 3, 2, 4)
}

func TestCacheBelowFloorIsForgotten(t *testing.T) {
	f := newFixture(t)
	f.write("a", false)
	r := f.reader(100)
	equal(t, "first", f.read(r, "a"), 1)
	f.write("a", true)
	f.head.Flux, f.head.Floor = nil, 2 // the entry has left
	f.head.Version++
	f.put(f.headItem())
	equal(t, "after the entry left", f.read(r, "a"), 2)
}

func TestCacheOfAnotherIncarnationIsNotUsed(t *testing.T) {
	f := newFixture(t)
	f.write("a", false)
	r := f.reader(100)
	equal(t, "first", f.read(r, "a"), 1)
	rid, _ := role("a").Role()
	if err := f.db.Transact(t.Context(), table.Tx{Ops: []table.Op{table.Delete(keys.Role(scope, rid).Raw(), table.Any())}}); err != nil {
		t.Fatal(err)
	}
	f.head = head.Head{Org: f.head.Org, Incarnation: 2, Revision: 1, Version: 9}
	f.put(f.headItem())
	equal(t, "in its next life", f.read(r, "a"), 0)
}

func TestCacheIsBounded(t *testing.T) {
	f := newFixture(t)
	for _, id := range []string{"a", "b", "c"} {
		f.write(id, false)
	}
	r := f.reader(2)
	for range 3 {
		equal(t, "whatever is kept", f.read(r, "a", "b", "c"), 1, 2, 3)
	}
}

func TestPiecesShowOneRevision(t *testing.T) {
	f := newFixture(t)
	f.write("a", false)
	f.write("b", false)
	r := f.reader(100)
	r.Piece = 1
	f.db.before = func(n int) {
		if n == 3 { // between the two pieces
			f.db.before = nil
			f.write("a", true)
		}
	}
	equal(t, "pieces", f.read(r, "a", "b"), 3, 2)
}

func TestMovingHeadEndsBusy(t *testing.T) {
	f := newFixture(t)
	f.write("a", false)
	r := f.reader(100)
	f.db.before = func(n int) {
		if n%2 == 0 {
			f.write("a", true)
		}
	}
	_, err := r.Read(t.Context(), snapshot.Request{Scope: scope, Wanted: want([]string{"a"})})
	if fault.CodeOf(err) != fault.Busy {
		t.Errorf("got %v", err)
	}
}

func TestAtTellsThatHeadMoved(t *testing.T) {
	f := newFixture(t)
	f.write("a", false)
	old := f.head
	f.write("a", true)
	_, moved, err := f.reader(100).At(t.Context(), scope, &old, want([]string{"a"}))
	if err != nil || !moved {
		t.Errorf("moved %v, %v", moved, err)
	}
	s, moved, err := f.reader(100).At(t.Context(), scope, &f.head, want([]string{"a"}))
	rid, _ := role("a").Role()
	if d, _ := s.Defs.Role(rid); err != nil || moved || d.Revision != 2 {
		t.Errorf("moved %v, %v, %+v", moved, err, d)
	}
}

func TestConflictsAreBounded(t *testing.T) {
	f := newFixture(t)
	for _, cause := range []error{table.ErrConflict, table.ErrThrottled} {
		f.db.reads, f.db.err = 0, cause
		_, err := f.reader(100).Read(t.Context(), snapshot.Request{Scope: scope, Wanted: want([]string{"a"})})
		if fault.CodeOf(err) != fault.Busy || !errors.Is(err, cause) || f.db.reads != 3 {
			t.Errorf("%v: got %v after %d tries", cause, err, f.db.reads)
		}
	}
}

func TestUnknownFormatIsAnError(t *testing.T) {
	f := newFixture(t)
	rid, _ := role("a").Role()
	f.put(&table.Item{Key: keys.Role(scope, rid).Raw(), Type: "Role", Version: 1, Format: entity.Format + 1, Body: []byte(`{}`)})
	_, err := f.reader(100).Read(t.Context(), snapshot.Request{Scope: scope, Wanted: want([]string{"a"})})
	if !errors.Is(err, table.ErrFormat) {
		t.Errorf("got %v", err)
	}
}

func TestNoScopeIsNoHead(t *testing.T) {
	f := newFixture(t)
	s, err := f.reader(100).Read(t.Context(), snapshot.Request{Scope: rbac.Must(rbac.ParseScopeID("other")), Wanted: want(nil)})
	if err != nil || s.Head != nil {
		t.Errorf("got %+v, %v", s.Head, err)
	}
}
