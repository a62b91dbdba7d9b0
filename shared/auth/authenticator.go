package auth

import (
	"context"

	"github.com/wardenhq/warden/shared/clock"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// GivenOperator is the id of the operator whose key was given at start and is
// stored nowhere.
const GivenOperator = "given"

// Authenticator verifies bearers against what is stored, as it is now: a revoked
// key is refused at once. Safe for concurrent use.
type Authenticator struct {
	Table table.Reader
	Clock clock.Clock
	// Given is the hash of an operator key that holds for this run; nil: none.
	Given []byte
	// Charge counts a request against its caller's rate; its error refuses it. nil:
	// no limit.
	Charge func(Principal, int) error
}

// Authenticate verifies a bearer's text: an API key's, or an operator's.
// ErrUnauthenticated for any other, fault.TooManyRequests beyond its rate.
func (a *Authenticator) Authenticate(ctx context.Context, bearer string) (Principal, error) {
	p, err := a.verify(ctx, bearer)
	if err != nil || a.Charge == nil {
		return p, err
	}
	return p, a.Charge(p, 1)
}

func (a *Authenticator) verify(ctx context.Context, bearer string) (Principal, error) {
	c, ok := Present(bearer)
	if a.given(c) {
		return a.Operator(ctx, c)
	}
	if !ok {
		return Principal{}, ErrUnauthenticated
	}
	if c.Kind != KindAPIKey {
		return a.Operator(ctx, c)
	}
	key, it, err := stored.Get(ctx, a.Table, keys.APIKey(c.Org, c.ID), table.Strong)
	switch {
	case err != nil:
		return Principal{}, err
	case it == nil:
		return Principal{}, ErrUnauthenticated
	}
	return OfAPIKey(c, &key, a.Clock.Now())
}

// Operator verifies a credential that is no API key: the given operator key,
// which needs no read, or a stored one. ErrUnauthenticated for any other.
func (a *Authenticator) Operator(ctx context.Context, c Credential) (Principal, error) {
	if a.given(c) {
		return OfOperator(c, GivenOperator, a.Given)
	}
	if c.Kind != KindOperator {
		return Principal{}, ErrUnauthenticated
	}
	key, it, err := stored.Get(ctx, a.Table, keys.OperatorKey(c.ID), table.Strong)
	switch {
	case err != nil:
		return Principal{}, err
	case it == nil:
		return Principal{}, ErrUnauthenticated
	}
	return OfOperator(c, key.ID.String(), key.Hash)
}

// given tells the operator key of this run, whatever its text looks like. A
// credential that was not presented has no hash that could match.
func (a *Authenticator) given(c Credential) bool { return a.Given != nil && c.Is(a.Given) }
