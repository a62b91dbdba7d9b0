package auth_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/wardenhq/warden/shared/auth"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/rbac"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func org(s string) rbac.OrgID          { return rbac.Must(rbac.ParseOrgID(s)) }
func scope(s string) rbac.ScopeID      { return rbac.Must(rbac.ParseScopeID(s)) }
func keyID(s string) rbac.APIKeyID     { return rbac.Must(rbac.ParseAPIKeyID(s)) }
func after(d time.Duration) *time.Time { return new(now.Add(d)) }

func TestKeysNameTheirOrgAndID(t *testing.T) {
	for _, name := range []string{"acme", "a_b_c", "Zoë", strings.Repeat("x", 128), "?>?>", "wdn_live_"} {
		id := auth.NewKeyID()
		text, hash := auth.NewAPIKey(org(name), id)
		c, ok := auth.Present(text)
		if !ok || c.Kind != auth.KindAPIKey || c.Org != org(name) || c.ID != id || !c.Is(hash) {
			t.Errorf("%s: %+v, %v", name, c, ok)
		}
		if !strings.HasPrefix(text, "wdn_live_"+id.String()+"_") || bytes.Contains(hash, []byte(text)) {
			t.Errorf("%s: text %s", name, text)
		}
	}
	id := auth.NewKeyID()
	text, hash := auth.NewOperatorKey(id)
	if c, ok := auth.Present(text); !ok || c.Kind != auth.KindOperator || c.ID != id || !c.Is(hash) {
		t.Errorf("operator: %+v, %v", c, ok)
	}
}

func TestKeysDiffer(t *testing.T) {
	id := auth.NewKeyID()
	a, _ := auth.NewAPIKey(org("acme"), id)
	b, hash := auth.NewAPIKey(org("acme"), id)
	if c, _ := auth.Present(a); a == b || c.Is(hash) || auth.NewKeyID() == id {
		t.Errorf("%s and %s", a, b)
	}
}

// A typo anywhere is told from a key without a look-up.
func TestTyposAreToldByTheChecksum(t *testing.T) {
	text, _ := auth.NewAPIKey(org("acme"), auth.NewKeyID())
	for i := range text {
		for _, c := range []byte("aA0-.") {
			typo := text[:i] + string(c) + text[i+1:]
			if typo == text {
				continue
			}
			if got, ok := auth.Present(typo); ok && got.Kind != auth.KindUnknown {
				t.Errorf("%s passes for %s", typo, text)
			}
		}
		if got, ok := auth.Present(text[:i]); ok && got.Kind != auth.KindUnknown {
			t.Errorf("%s passes", text[:i])
		}
	}
	if got, ok := auth.Present(text + "a"); ok {
		t.Errorf("a longer one passes: %+v", got)
	}
	if _, ok := auth.Present(""); ok {
		t.Error("nothing passes")
	}
}

func FuzzPresent(f *testing.F) {
	text, _ := auth.NewAPIKey(org("acme"), keyID("abc"))
	f.Add(text)
	f.Add("wdn_live_a_b_c")
	f.Add("wdn_operator_")
	f.Fuzz(func(t *testing.T, text string) {
		c, ok := auth.Present(text)
		if ok && c.Kind == auth.KindAPIKey && (c.Org.IsZero() || c.ID.IsZero()) {
			t.Fatalf("%q names nothing", text)
		}
	})
}

func TestOfAPIKey(t *testing.T) {
	id := keyID("abc")
	current, hash := auth.NewAPIKey(org("acme"), id)
	previous, previousHash := auth.NewAPIKey(org("acme"), id)
	_, otherHash := auth.NewAPIKey(org("acme"), id)
	past := func(hash []byte, end time.Duration) []entity.PastSecret {
		return []entity.PastSecret{{Hash: hash, Until: *after(end)}}
	}
	stored := func(edit func(*entity.APIKey)) *entity.APIKey {
		k := &entity.APIKey{ID: id, Org: org("acme"), Permissions: []entity.Right{entity.RightCheck}, Hash: hash}
		edit(k)
		return k
	}
	for name, c := range map[string]struct {
		text string
		key  *entity.APIKey
		ok   bool
	}{
		"good":                  {current, stored(func(*entity.APIKey) {}), true},
		"none stored":           {current, nil, false},
		"another secret":        {previous, stored(func(*entity.APIKey) {}), false},
		"of another org":        {current, stored(func(k *entity.APIKey) { k.Org = org("other") }), false},
		"of another id":         {current, stored(func(k *entity.APIKey) { k.ID = keyID("other") }), false},
		"not expired":           {current, stored(func(k *entity.APIKey) { k.ExpiresAt = after(1) }), true},
		"expired":               {current, stored(func(k *entity.APIKey) { k.ExpiresAt = after(0) }), false},
		"rotated, overlap":      {previous, stored(func(k *entity.APIKey) { k.Previous = past(previousHash, 1) }), true},
		"rotated, over":         {previous, stored(func(k *entity.APIKey) { k.Previous = past(previousHash, 0) }), false},
		"rotated, without end":  {previous, stored(func(k *entity.APIKey) { k.Previous = []entity.PastSecret{{Hash: previousHash}} }), false},
		"rotated, new secret":   {current, stored(func(k *entity.APIKey) { k.Previous = past(previousHash, 0) }), true},
		"rotated, then expired": {previous, stored(func(k *entity.APIKey) { k.Previous, k.ExpiresAt = past(previousHash, 1), after(0) }), false},
		"rotated twice, first":  {previous, stored(func(k *entity.APIKey) { k.Previous = append(past(previousHash, 2), past(hash, 1)...) }), true},
		"rotated twice, over":   {previous, stored(func(k *entity.APIKey) { k.Previous = append(past(previousHash, 0), past(otherHash, 1)...) }), false},
		"rotated twice, second": {previous, stored(func(k *entity.APIKey) { k.Previous = append(past(otherHash, 0), past(previousHash, 1)...) }), true},
		"without any hash":      {current, stored(func(k *entity.APIKey) { k.Hash = nil }), false},
	} {
		cred, _ := auth.Present(c.text)
		p, err := auth.OfAPIKey(cred, c.key, now)
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && (!errors.Is(err, auth.ErrUnauthenticated) || p.May(entity.RightCheck) || p.InOrg(org("acme"))) {
			t.Errorf("%s: %v, %+v", name, err, p)
		}
	}
}
