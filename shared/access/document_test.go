package access_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wardenhq/warden/shared/access"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/rbac/rbactest"
)

func ask(resource, action string) rbac.Question {
	return rbac.Question{Resource: rbac.Must(rbac.ParseResourceID(resource)), Action: rbac.Must(rbac.ParseActionID(action))}
}

// sampleWorld has something of everything that a document can hold.
func sampleWorld() *rbactest.World {
	live := rbac.State{Incarnation: 2, Revision: 5}
	permission := func(id, resource, action string, effect rbac.Effect) *rbac.Permission {
		q := ask(resource, action)
		return &rbac.Permission{ID: rbac.Must(rbac.ParsePermissionID(id)), Resource: q.Resource, Action: q.Action, Effect: effect, State: live}
	}
	role := func(id string, permissions []string, inherits ...string) *rbac.Role {
		r := &rbac.Role{ID: rbac.Must(rbac.ParseRoleID(id)), State: live}
		for _, p := range permissions {
			r.Permissions = append(r.Permissions, rbac.PermissionRef{ID: rbac.Must(rbac.ParsePermissionID(p)), Incarnation: 2})
		}
		for _, p := range inherits {
			r.Inherits = append(r.Inherits, rbac.RoleRef{ID: rbac.Must(rbac.ParseRoleID(p)), Incarnation: 2})
		}
		return r
	}
	held := func(role string, s rbac.Source, end rbac.Expiry) rbac.Assignment {
		return rbac.Assignment{Role: rbac.RoleRef{ID: rbac.Must(rbac.ParseRoleID(role)), Incarnation: 2}, Source: s, Expiry: end}
	}
	return &rbactest.World{
		Permissions: []*rbac.Permission{
			permission("invoice:read", "invoice", "read", rbac.Allow),
			permission("reports", "report", "*", rbac.Allow),
			permission("*:list", "*", "list", rbac.Allow),
			permission("all", "*", "*", rbac.Allow),
			permission("no-vault", "vault", "*", rbac.Deny),
		},
		Roles: []*rbac.Role{
			role("viewer", []string{"invoice:read", "*:list"}),
			role("editor", []string{"reports"}, "viewer"),
			role("guest", []string{"no-vault"}),
			role("root", []string{"all"}),
		},
		Mappings: []*rbac.Mapping{{ID: rbac.Must(rbac.ParseMappingID("staff")), State: live}},
		Held: map[string][]rbac.Assignment{rbactest.Subject: {
			held("editor", rbac.Direct(), rbac.Expiry{}),
			held("guest", rbac.Source{Kind: rbac.SourceMapping, ID: "staff", Incarnation: 2}, rbac.ExpiresAt(rbactest.Now.Add(time.Hour))),
			held("root", rbac.Source{Kind: rbac.SourceApproval, ID: "appr_1"}, rbac.ExpiresAt(rbactest.Now.Add(1))),
		}},
	}
}

func sampleQuestions() []rbac.Question {
	return []rbac.Question{
		ask("invoice", "read"), ask("report", "burn"), ask("x", "list"), ask("vault", "read"), ask("*", "*"), ask("x", "y"), ask("vault", "list"),
	}
}

// TestLayoutStaysAsItIs pins the bytes: stored documents are read by later
// builds, so a change here needs another Format.
func TestLayoutStaysAsItIs(t *testing.T) {
	golden, err := os.ReadFile("testdata/format1.hex")
	if err != nil {
		t.Fatal(err)
	}
	want, err := hex.DecodeString(strings.Join(strings.Fields(string(golden)), ""))
	if err != nil {
		t.Fatal(err)
	}
	got, _ := encode(t, sampleWorld().Resolve(rbactest.Subject))
	if diff := cmp.Diff(hex.Dump(want), hex.Dump(got)); diff != "" {
		t.Errorf("the layout changed and Format did not (-want +got)\n%s", diff)
	}
}

func TestTombstone(t *testing.T) {
	_, view := encode(t, rbac.Resolve(nil, &rbac.Definitions{}))
	reason, err := view.Decide(ask("a", "b"), time.Time{})
	if err != nil || reason != rbac.ReasonNoPolicy {
		t.Errorf("Decide = %q, %v; want no-policy", reason, err)
	}
	d, err := view.Explain(ask("a", "b"), rbactest.Now)
	if err != nil || d.Reason != rbac.ReasonNoPolicy || len(d.Matched) > 0 {
		t.Errorf("Explain = %v, %v; want no-policy", d, err)
	}
	if as, err := view.Assignments(); err != nil || len(as) > 0 {
		t.Errorf("Assignments = %v, %v; want none", as, err)
	}
	if !view.GrantsKept() || view.Names(0) {
		t.Error("a tombstone has to be complete, and to name nothing")
	}
}

func TestOfAnotherOrgOrIncarnation(t *testing.T) {
	_, view := encode(t, sampleWorld().Resolve(rbactest.Subject))
	for _, c := range []struct {
		org         string
		incarnation uint64
		want        bool
	}{
		{"acme", 3, true},
		{"acme", 2, false},
		{"acme", 4, false},
		{"acm", 3, false},
		{"acme2", 3, false},
		{"ACME", 3, false},
	} {
		if got := view.Of(rbac.Must(rbac.ParseOrgID(c.org)), c.incarnation); got != c.want {
			t.Errorf("of %s, incarnation %d: %v", c.org, c.incarnation, got)
		}
	}
}

func TestEncodeRefuses(t *testing.T) {
	sample := func() *rbac.Resolution { return sampleWorld().Resolve(rbactest.Subject) }
	with := func(change func(*rbac.Resolution)) *rbac.Resolution {
		r := sample()
		change(r)
		return r
	}
	long := strings.Repeat("x", rbac.MaxLongID+1)
	for name, c := range map[string]struct {
		h    access.Header
		r    *rbac.Resolution
		want error
	}{
		"no org":       {access.Header{}, sample(), access.ErrInvalid},
		"missing":      {header, rbac.Resolve(sampleWorld().Held[rbactest.Subject], &rbac.Definitions{}), access.ErrIncomplete},
		"source kind":  {header, with(func(r *rbac.Resolution) { r.Assignments[0].Source.Kind = "inherited" }), access.ErrInvalid},
		"long source":  {header, with(func(r *rbac.Resolution) { r.Assignments[1].Source.ID = long }), access.ErrInvalid},
		"no role":      {header, with(func(r *rbac.Resolution) { r.Assignments[0].Role = rbac.RoleRef{} }), access.ErrInvalid},
		"no resource":  {header, with(func(r *rbac.Resolution) { r.Grants[0].Permission = &rbac.Permission{} }), access.ErrInvalid},
		"no room":      {header, &rbac.Resolution{Assignments: repeated(sample().Assignments[0], access.MaxBytes/36)}, access.ErrTooManyAssignments},
		"nothing else": {header, sample(), nil},
	} {
		doc, err := access.Encode(c.h, c.r)
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) || (err == nil) != (doc != nil) {
			t.Errorf("%s: %d bytes, %v; want %v", name, len(doc), err, c.want)
		}
	}
}

func repeated[T any](of T, n int) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = of
	}
	return out
}

// grantsWorld is a subject with n grants by one role.
func grantsWorld(n int) *rbactest.World {
	w := &rbactest.World{Held: map[string][]rbac.Assignment{}}
	role := &rbac.Role{ID: rbac.Must(rbac.ParseRoleID("role")), State: rbac.State{Incarnation: 1}}
	for i := range n {
		q := ask(fmt.Sprintf("resource-%05d", i), "read")
		p := &rbac.Permission{
			ID:       rbac.Must(rbac.ParsePermissionID(fmt.Sprintf("p%05d", i))),
			Resource: q.Resource, Action: q.Action, Effect: rbac.Allow, State: rbac.State{Incarnation: 1},
		}
		w.Permissions = append(w.Permissions, p)
		role.Permissions = append(role.Permissions, rbac.PermissionRef{ID: p.ID, Incarnation: 1})
	}
	w.Roles = []*rbac.Role{role}
	w.Held[rbactest.Subject] = []rbac.Assignment{{
		Role: rbac.RoleRef{ID: role.ID, Incarnation: 1}, Source: rbac.Direct(), Expiry: rbac.ExpiresAt(rbactest.Now),
	}}
	return w
}

// TestGrantsAreKeptAsLongAsTheyFit finds the number of grants at which they are
// let go, and looks at both sides of it.
func TestGrantsAreKeptAsLongAsTheyFit(t *testing.T) {
	kept := func(n int) bool {
		doc, view := encode(t, grantsWorld(n).Resolve(rbactest.Subject))
		if len(doc) > access.MaxBytes {
			t.Fatalf("%d grants make a document of %d bytes", n, len(doc))
		}
		return view.GrantsKept()
	}
	low, high := 1, 20000
	for low+1 < high {
		if middle := (low + high) / 2; kept(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	perGrant := 8 + 12 + 2 + 4 + len("-resource-00000") + len("-p00000") // name, cell, bucket, entry, texts
	if doc, _ := encode(t, grantsWorld(low).Resolve(rbactest.Subject)); len(doc)+perGrant <= access.MaxBytes {
		t.Errorf("%d grants are %d bytes, and one more would still have fitted", low, len(doc))
	}
	before := rbactest.Now.Add(-1)
	_, full := encode(t, grantsWorld(low).Resolve(rbactest.Subject))
	last := ask(fmt.Sprintf("resource-%05d", low-1), "read")
	if reason, err := full.Decide(last, before); err != nil || reason != rbac.ReasonAllowed {
		t.Errorf("%d grants: the last is %q, %v", low, reason, err)
	}

	w := grantsWorld(high)
	_, bare := encode(t, w.Resolve(rbactest.Subject))
	if _, err := bare.Decide(last, before); !errors.Is(err, access.ErrNoGrants) {
		t.Errorf("Decide without grants: %v, want ErrNoGrants", err)
	}
	if _, err := bare.Explain(last, before); !errors.Is(err, access.ErrNoGrants) {
		t.Errorf("Explain without grants: %v, want ErrNoGrants", err)
	}
	if reason, err := bare.Decide(last, rbactest.Now); err != nil || reason != rbac.ReasonNoPolicy {
		t.Errorf("Decide without grants, all over: %q, %v; want no-policy", reason, err)
	}
	if !bare.Names(0) || !bare.Names(rbac.OfRole(w.Roles[0].ID).Hash()) {
		t.Error("a document without grants has to name everything")
	}
	as, err := bare.Assignments()
	if diff := cmp.Diff(w.Held[rbactest.Subject], as, exact...); err != nil || diff != "" {
		t.Errorf("Assignments without grants: %v (-want +got)\n%s", err, diff)
	}
}

// TestDecideDoesNotAllocate covers what a check calls on a document.
func TestDecideDoesNotAllocate(t *testing.T) {
	for _, size := range sizes {
		doc, name := sized(t, size.resource, size.action)
		org := header.Org
		for _, c := range questions {
			q := name(c.resource, c.action)
			allocs := testing.AllocsPerRun(100, func() {
				view, err := access.Parse(doc)
				if err != nil || view.Of(org, 99) || !view.GrantsKept() || view.Names(1) {
					t.Error("another document")
				}
				if reason, err := view.Decide(q, benchNow); err != nil || reason != c.want {
					t.Errorf("%s, %s: %q, %v; want %q", size.name, c.name, reason, err, c.want)
				}
			})
			if allocs != 0 {
				t.Errorf("%s, %s: %v allocations, want 0", size.name, c.name, allocs)
			}
		}
	}
}
