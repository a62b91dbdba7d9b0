package auth_test

import (
	"testing"

	"github.com/wardenhq/warden/shared/auth"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/rbac"
)

// bearer is the principal of an API key of org acme.
func bearer(t *testing.T, rights []entity.Right, scopes ...rbac.ScopeID) auth.Principal {
	t.Helper()
	text, hash := auth.NewAPIKey(org("acme"), keyID("abc"))
	c, _ := auth.Present(text)
	p, err := auth.OfAPIKey(c, &entity.APIKey{ID: keyID("abc"), Org: org("acme"), Permissions: rights, Scopes: scopes, Hash: hash}, now)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func theOperator(t *testing.T) auth.Principal {
	t.Helper()
	text, hash := auth.NewOperatorKey(keyID("op"))
	c, _ := auth.Present(text)
	p, err := auth.OfOperator(c, "op", hash)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestReach(t *testing.T) {
	whole := bearer(t, []entity.Right{entity.RightCheck})
	narrow := bearer(t, []entity.Right{entity.RightCheck}, scope("a"), scope("b"))
	operator, nobody := theOperator(t), auth.Principal{}
	for name, c := range map[string]struct{ got, want bool }{
		"its right":                   {whole.May(entity.RightCheck), true},
		"another right":               {whole.May(entity.RightAdminRead), false},
		"its org":                     {whole.InOrg(org("acme")), true},
		"another org":                 {whole.InOrg(org("Acme")), false},
		"a scope of its org":          {whole.InScope(org("acme"), scope("z")), true},
		"a scope of another org":      {whole.InScope(org("other"), scope("z")), false},
		"its scope":                   {narrow.InScope(org("acme"), scope("b")), true},
		"another scope":               {narrow.InScope(org("acme"), scope("z")), false},
		"its scope of another org":    {narrow.InScope(org("other"), scope("a")), false},
		"all scopes":                  {whole.EveryScope() && operator.EveryScope(), true},
		"not all":                     {narrow.EveryScope(), false},
		"an operator's right":         {operator.May(entity.RightSCIMManage), true},
		"an operator's org":           {operator.InOrg(org("any")) && operator.InScope(org("any"), scope("any")), true},
		"nobody's right":              {nobody.May(entity.RightCheck) || nobody.Operator(), false},
		"nobody's org":                {nobody.InOrg(org("acme")) || nobody.InOrg(rbac.OrgID{}), false},
		"nobody's scope":              {nobody.InScope(rbac.OrgID{}, scope("a")), false},
		"covers less":                 {whole.Covers([]entity.Right{entity.RightCheck}, []rbac.ScopeID{scope("z")}), true},
		"covers the same":             {whole.Covers([]entity.Right{entity.RightCheck}, nil), true},
		"covers no other right":       {whole.Covers([]entity.Right{entity.RightAdminRead}, nil), false},
		"covers its scopes":           {narrow.Covers(nil, []rbac.ScopeID{scope("a")}), true},
		"covers no other scope":       {narrow.Covers(nil, []rbac.ScopeID{scope("a"), scope("z")}), false},
		"covers not every scope":      {narrow.Covers(nil, nil), false},
		"an operator covers all":      {operator.Covers(entity.AllRights, nil), true},
		"nobody covers not one right": {nobody.Covers([]entity.Right{entity.RightCheck}, nil), false},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v", name, c.got)
		}
	}
	if a := operator.Actor(); a.Type != "operator" || a.ID != "op" {
		t.Errorf("actor %+v", a)
	}
	if a := narrow.Actor(); a.Type != "api_key" || a.ID != "abc" || narrow.Org() != org("acme") {
		t.Errorf("actor %+v", a)
	}
}
