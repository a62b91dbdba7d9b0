package auth_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/wardenhq/warden/shared/auth"
	"github.com/wardenhq/warden/shared/clock"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/table/weak/memory"
)

const given = "sixteen bytes and more"

// stands is a clock that does not move.
type stands struct{ clock.System }

func (stands) Now() time.Time { return now }

type store struct {
	*testing.T
	*memory.Store
	auth *auth.Authenticator
}

func newStore(t *testing.T) *store {
	s := &store{T: t, Store: memory.New(func() time.Time { return now })}
	s.auth = &auth.Authenticator{Table: s.Store, Clock: stands{}, Given: auth.Hash(given)}
	return s
}

func (s *store) put(key keys.Raw, kind string, content any) {
	s.Helper()
	body, err := json.Marshal(content)
	if err == nil {
		it := &table.Item{Key: key, Type: kind, Version: 1, Format: entity.Format, CreatedAt: now, UpdatedAt: now, Body: body}
		err = s.Transact(context.Background(), table.Tx{Ops: []table.Op{table.Put(it, table.Any())}})
	}
	if err != nil {
		s.Fatal(err)
	}
}

func TestAuthenticate(t *testing.T) {
	s := newStore(t)
	id := keyID("abc")
	text, hash := auth.NewAPIKey(org("acme"), id)
	s.put(keys.APIKey(org("acme"), id).Raw(), "APIKey", entity.APIKey{ID: id, Org: org("acme"), Permissions: []entity.Right{entity.RightAdminRead}, Hash: hash})
	operator, operatorHash := auth.NewOperatorKey(id)
	s.put(keys.OperatorKey(id).Raw(), "OperatorKey", entity.OperatorKey{ID: id, Hash: operatorHash})
	unknown, _ := auth.NewAPIKey(org("acme"), keyID("unknown"))
	forged, _ := auth.NewAPIKey(org("acme"), id)
	noOperator, _ := auth.NewOperatorKey(keyID("unknown"))
	forgedOperator, _ := auth.NewOperatorKey(id)
	for name, c := range map[string]struct {
		bearer, id string
		operator   bool
	}{
		"an API key":             {text, "abc", false},
		"a stored operator key":  {operator, "abc", true},
		"the given operator key": {given, auth.GivenOperator, true},
		"an unknown key":         {unknown, "", false},
		"another secret":         {forged, "", false},
		"an unknown operator":    {noOperator, "", false},
		"a forged operator":      {forgedOperator, "", false},
		"any text":               {"secret", "", false},
		"a typo":                 {text[:len(text)-1] + "!", "", false},
		"nothing":                {"", "", false},
	} {
		p, err := s.auth.Authenticate(t.Context(), c.bearer)
		if c.id == "" {
			if !errors.Is(err, auth.ErrUnauthenticated) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || p.ID() != c.id || p.Operator() != c.operator {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}

// A given key holds whatever it looks like, and none is no key.
func TestGivenOperatorKey(t *testing.T) {
	s := newStore(t)
	like := "wdn_live_looks like a key"
	s.auth.Given = auth.Hash(like)
	if p, err := s.auth.Authenticate(t.Context(), like); err != nil || !p.Operator() {
		t.Errorf("%+v, %v", p, err)
	}
	s.auth.Given = nil
	for _, bearer := range []string{"", given, like} {
		if p, err := s.auth.Authenticate(t.Context(), bearer); err == nil {
			t.Errorf("%q: %+v", bearer, p)
		}
	}
}

// A table that can't be read lets nobody in, and is not the caller's fault.
func TestAuthenticateFailsClosed(t *testing.T) {
	s := newStore(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	key, _ := auth.NewAPIKey(org("acme"), keyID("abc"))
	operator, _ := auth.NewOperatorKey(keyID("abc"))
	for _, bearer := range []string{key, operator} {
		if p, err := s.auth.Authenticate(ctx, bearer); !errors.Is(err, context.Canceled) || p.Operator() || p.May(entity.RightCheck) {
			t.Errorf("%+v, %v", p, err)
		}
	}
}
