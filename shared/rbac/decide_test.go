package rbac_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/rbac/rbactest"
)

func TestCorpus(t *testing.T) {
	cases, err := rbactest.Corpus()
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) == 0 {
		t.Fatal("the corpus is empty")
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			for _, q := range c.Questions {
				res := c.World.Resolve(q.Subject)
				if got := res.Decide(q.Ask, q.At); got != q.Reason {
					t.Errorf("%s asks (%s, %s) at %s: %s, want %s: %s", q.Subject, q.Ask.Resource, q.Ask.Action, q.At, got, q.Reason, q.Why)
				}
				want := rbac.Decision{Reason: q.Reason, Matched: q.Matched}
				if diff := cmp.Diff(want, res.Explain(q.Ask, q.At), exact...); diff != "" {
					t.Errorf("%s asks (%s, %s) at %s: %s (-want +got)\n%s", q.Subject, q.Ask.Resource, q.Ask.Action, q.At, q.Why, diff)
				}
				if err := c.World.CheckDecision(q.Subject, q.Ask, q.At, want); err != nil {
					t.Errorf("%s asks (%s, %s): the corpus disagrees with the reference: %v", q.Subject, q.Ask.Resource, q.Ask.Action, err)
				}
			}
		})
	}
}

// exact compares ids byte for byte, and nil lists like empty ones.
var exact = []cmp.Option{
	cmpopts.EquateEmpty(),
	cmpopts.EquateComparable(
		rbac.RoleID{}, rbac.PermissionID{}, rbac.ResourceID{}, rbac.ActionID{}, rbac.DefinitionID{}, rbac.Expiry{},
	),
	cmp.AllowUnexported(rbac.Reach{}),
}

func TestDecisionsAgreeWithReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := rbactest.DrawWorld(t)
		res := w.Resolve(rbactest.Subject)
		for range 10 {
			q, now := w.DrawQuestion(t), rbactest.DrawInstant(t)
			got := res.Explain(q, now)
			if err := w.CheckDecision(rbactest.Subject, q, now, got); err != nil {
				t.Fatalf("(%s, %s) at %s: %v", q.Resource, q.Action, now, err)
			}
			if reason := res.Decide(q, now); reason != got.Reason {
				t.Fatalf("Decide says %q, Explain %q", reason, got.Reason)
			}
		}
	})
}

func TestUndecidedWhileDefinitionsAreMissing(t *testing.T) {
	role := rbac.RoleRef{ID: rbac.Must(rbac.ParseRoleID("admin")), Incarnation: 1}
	res := rbac.Resolve([]rbac.Assignment{{Role: role, Source: rbac.Direct()}}, &rbac.Definitions{})
	q := rbac.Question{Resource: rbac.Must(rbac.ParseResourceID("a")), Action: rbac.Must(rbac.ParseActionID("b"))}
	if got := res.Decide(q, time.Now()); got != rbac.ReasonUndecided || got.Allowed() {
		t.Errorf("Decide = %q, want no answer", got)
	}
	if got := res.Explain(q, time.Now()); got.Reason != rbac.ReasonUndecided || len(got.Matched) > 0 {
		t.Errorf("Explain = %v, want no answer", got)
	}
}

func TestOnlyAllowedIsAYes(t *testing.T) {
	for _, reason := range []rbac.Reason{rbac.ReasonUndecided, rbac.ReasonDenied, rbac.ReasonNoMatch, rbac.ReasonNoPolicy} {
		if reason.Allowed() {
			t.Errorf("%q counts as a yes", reason)
		}
	}
	if !rbac.ReasonAllowed.Allowed() {
		t.Error("allowed does not count as a yes")
	}
}
