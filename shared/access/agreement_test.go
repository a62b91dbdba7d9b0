package access_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/wardenhq/warden/shared/access"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/rbac/rbactest"
)

var header = access.Header{Org: rbac.Must(rbac.ParseOrgID("acme")), Incarnation: 3, Revision: 7}

// exact compares ids byte for byte, and nil lists like empty ones.
var exact = []cmp.Option{
	cmpopts.EquateEmpty(),
	cmpopts.EquateComparable(rbac.RoleID{}, rbac.PermissionID{}, rbac.Expiry{}),
}

type failer interface {
	Helper()
	Fatal(args ...any)
}

func encode(t failer, r *rbac.Resolution) ([]byte, access.View) {
	t.Helper()
	doc, err := access.Encode(header, r)
	if err != nil {
		t.Fatal(err)
	}
	view, err := access.Parse(doc)
	if err != nil {
		t.Fatal(err)
	}
	return doc, view
}

func TestCorpus(t *testing.T) {
	cases, err := rbactest.Corpus()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			for _, q := range c.Questions {
				_, view := encode(t, c.World.Resolve(q.Subject))
				got, err := view.Explain(q.Ask, q.At)
				if err != nil {
					t.Fatal(err)
				}
				want := rbac.Decision{Reason: q.Reason, Matched: q.Matched}
				if diff := cmp.Diff(want, got, exact...); diff != "" {
					t.Errorf("%s asks (%s, %s) at %s: %s (-want +got)\n%s", q.Subject, q.Ask.Resource, q.Ask.Action, q.At, q.Why, diff)
				}
				if reason, err := view.Decide(q.Ask, q.At); err != nil || reason != q.Reason {
					t.Errorf("%s asks (%s, %s): Decide says %q, %v; want %q", q.Subject, q.Ask.Resource, q.Ask.Action, reason, err, q.Reason)
				}
			}
		})
	}
}

// TestThreeWayAgreement holds the live resolver, the document matched in place
// and the naive reference to the same answers.
func TestThreeWayAgreement(t *testing.T) { rapid.Check(t, checkAgreement) }

func checkAgreement(t *rapid.T) {
	w := rbactest.DrawWorld(t)
	res := w.Resolve(rbactest.Subject)
	_, view := encode(t, res)
	for range 10 {
		q, now := w.DrawQuestion(t), rbactest.DrawInstant(t)
		live := res.Explain(q, now)
		stored, err := view.Explain(q, now)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(live, stored, exact...); diff != "" {
			t.Fatalf("(%s, %s) at %s: the document disagrees with the resolver (-live +document)\n%s", q.Resource, q.Action, now, diff)
		}
		if reason, err := view.Decide(q, now); err != nil || reason != live.Reason {
			t.Fatalf("(%s, %s) at %s: Decide says %q, %v; Explain %q", q.Resource, q.Action, now, reason, err, live.Reason)
		}
		if err := w.CheckDecision(rbactest.Subject, q, now, stored); err != nil {
			t.Fatalf("(%s, %s) at %s: %v", q.Resource, q.Action, now, err)
		}
		if view.InForce(now) != rbac.InForce(res.Assignments, now) {
			t.Fatalf("at %s: the document says in force: %v", now, view.InForce(now))
		}
	}
}

// TestRoundTrip holds what a document gives back to what went in.
func TestRoundTrip(t *testing.T) { rapid.Check(t, checkRoundTrip) }

func checkRoundTrip(t *rapid.T) {
	w := rbactest.DrawWorld(t)
	res := w.Resolve(rbactest.Subject)
	doc, view := encode(t, res)
	assignments, err := view.Assignments()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(w.Held[rbactest.Subject], assignments, exact...); diff != "" {
		t.Fatalf("assignments (-want +got)\n%s", diff)
	}
	if !view.Of(header.Org, header.Incarnation) || view.Incarnation() != header.Incarnation || view.Revision() != header.Revision {
		t.Fatal("the header is another one")
	}
	for _, d := range drawnNames(w) {
		if got, want := view.Names(d.Hash()), slices.Contains(res.Names, d); got != want {
			t.Fatalf("names %s: %v, want %v", d, got, want)
		}
	}
	w.Held[rbactest.Subject] = assignments
	if again, _ := encode(t, w.Resolve(rbactest.Subject)); !bytes.Equal(doc, again) {
		t.Fatal("the same content gives other bytes")
	}
}

// drawnNames are the names of all that is in a world.
func drawnNames(w *rbactest.World) []rbac.DefinitionID {
	var all []rbac.DefinitionID
	for _, p := range w.Permissions {
		all = append(all, rbac.OfPermission(p.ID))
	}
	for _, r := range w.Roles {
		all = append(all, rbac.OfRole(r.ID))
	}
	for _, m := range w.Mappings {
		all = append(all, rbac.OfMapping(m.ID))
	}
	return all
}
