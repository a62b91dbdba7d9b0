package admin

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/wardenhq/warden/shared/auth"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/httpapi"
	"github.com/wardenhq/warden/shared/httpapi/wire"
	"github.com/wardenhq/warden/shared/instant"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/resource"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/write"
)

const (
	defaultOverlap = 24 * time.Hour
	maxOverlap     = 30 * day
	// maxKeyScopes keeps a key small: every check of its bearer reads it.
	maxKeyScopes = 100
)

func (a *api) apiKeys() []httpapi.Endpoint {
	const collection = "/v1/orgs/{org}/api-keys"
	return []httpapi.Endpoint{
		httpapi.Bind(httpapi.Route{
			Name: "api_keys.create", Summary: "Make an API key",
			Method: http.MethodPost, Pattern: collection, Permission: writes,
			Success: []int{http.StatusCreated}, Creates: true, ShowsSecret: true,
			Errors: []fault.Code{fault.WouldEscalate, fault.UnknownReference, fault.LimitExceeded},
		}, inOrg(a.createAPIKey)),
		httpapi.Bind(httpapi.Route{
			Name: "api_keys.list", Summary: "List the API keys that the key reaches",
			Method: http.MethodGet, Pattern: collection, Permission: reads,
			Success: []int{http.StatusOK}, List: true,
		}, inOrg(a.listAPIKeys)),
		httpapi.Bind(httpapi.Route{
			Name: "api_keys.get", Summary: "Show an API key, without its secret",
			Method: http.MethodGet, Pattern: collection + "/{key}", Permission: reads,
			Success: []int{http.StatusOK}, Versioned: true,
		}, inOrg(a.getAPIKey)),
		httpapi.Bind(httpapi.Route{
			Name: "api_keys.revoke", Summary: "Revoke an API key",
			Method: http.MethodDelete, Pattern: collection + "/{key}", Permission: writes,
			Success: []int{http.StatusNoContent}, Versioned: true,
		}, inOrg(a.revokeAPIKey)),
		httpapi.Bind(httpapi.Route{
			Name: "api_keys.rotate", Summary: "Give an API key a new secret, and keep the old one for a while",
			Method: http.MethodPost, Pattern: collection + "/{key}/rotate", Permission: writes,
			Success: []int{http.StatusOK}, Creates: true, ShowsSecret: true, Versioned: true, BodyOptional: true,
			Errors: []fault.Code{fault.WouldEscalate, fault.LimitExceeded},
		}, inOrg(a.rotateAPIKey)),
	}
}

type newAPIKey struct {
	Name        string                        `json:"name"`
	Permissions []entity.Right                `json:"permissions"`
	Scopes      wire.Optional[[]rbac.ScopeID] `json:"scopes,omitzero"`
	ExpiresAt   instant.Time                  `json:"expires_at,omitzero"`
}

// keyWithText is a key with what its bearers present, which is shown once.
type keyWithText struct {
	resource.APIKey
	Text string `json:"key"`
}

func (n *newAPIKey) check() error {
	var f fields
	f.name("name", n.Name)
	if len(n.Permissions) == 0 {
		f.refuse(fault.Invalid, "permissions", "must not be empty")
	}
	for i, r := range n.Permissions {
		if !slices.Contains(entity.AllRights, r) {
			f.refuse(fault.Invalid, fmt.Sprintf("permissions[%d]", i), "must be one of %s", rightNames())
		}
	}
	once(&f, "permissions", "", n.Permissions)
	scopes, given := n.Scopes.Get()
	if (given && len(scopes) == 0) || n.Scopes.IsNull() { // neither may come to mean all
		f.refuse(fault.Invalid, "scopes", "must name scopes; leave it out for every scope of the org")
	}
	f.atMost("scopes", len(scopes), maxKeyScopes, "scopes")
	once(&f, "scopes", "", scopes)
	return f.err()
}

func rightNames() string {
	names := make([]string, len(entity.AllRights))
	for i, r := range entity.AllRights {
		names[i] = string(r)
	}
	return strings.Join(names, ", ")
}

func (a *api) createAPIKey(ctx context.Context, c *httpapi.Call, o rbac.OrgID, body newAPIKey) (httpapi.Reply[keyWithText], error) {
	none := httpapi.Reply[keyWithText]{}
	if err := body.check(); err != nil {
		return none, err
	}
	scopes, _ := body.Scopes.Get()
	if caller(c).Outlives(body.ExpiresAt.Pointer()) {
		return none, fault.InField(fault.WouldEscalate, "expires_at", "the key would outlive yours")
	}
	if err := covered(c, body.Permissions, scopes); err != nil {
		return none, err
	}
	key := entity.APIKey{
		ID: auth.NewKeyID(), Org: o, Name: body.Name, Permissions: body.Permissions, Scopes: scopes,
		ExpiresAt: body.ExpiresAt.Pointer(), CreatedBy: createdBy(c),
	}
	text, hash := auth.NewAPIKey(o, key.ID)
	key.Hash = hash
	return create(ctx, a, c, change[keyWithText]{
		make: func(req *write.Request) (write.Outcome, error) {
			if err := currentSecret(c); err != nil {
				return write.Outcome{}, err
			}
			return a.writer.CreateAPIKey(ctx, req, key)
		},
		answer: func(out write.Outcome) (httpapi.Reply[keyWithText], error) {
			reply, err := shownKey(out, text)
			reply.Location = path("orgs", o.String(), "api-keys", key.ID.String())
			return reply, err
		},
	})
}

func shownKey(out write.Outcome, text string) (httpapi.Reply[keyWithText], error) {
	return changed(out, func(it *table.Item, e entity.APIKey) keyWithText { return keyWithText{resource.OfAPIKey(it, e), text} })
}

// createdBy is a caller as a key remembers who made it.
func createdBy(c *httpapi.Call) string {
	actor := caller(c).Actor()
	return actor.Type + ":" + actor.ID
}

// covered refuses to give a key more than the caller has, and names what that is.
func covered(c *httpapi.Call, rights []entity.Right, scopes []rbac.ScopeID) error {
	p := caller(c)
	if p.Covers(rights, scopes) {
		return nil
	}
	e := fault.New(fault.WouldEscalate, "nobody can give a key permissions or scopes that they don't have")
	lacks := func(field, message string) { e.Fields = append(e.Fields, fault.Field{Field: field, Message: message}) }
	for i, r := range rights {
		if !p.May(r) {
			lacks(fmt.Sprintf("permissions[%d]", i), "your key does not have it")
		}
	}
	for i := range scopes {
		if !p.Covers(nil, scopes[i:i+1]) {
			lacks(fmt.Sprintf("scopes[%d]", i), "your key does not reach it")
		}
	}
	if len(scopes) == 0 && !p.EveryScope() {
		lacks("scopes", "must name scopes that your key reaches, as it does not reach every one")
	}
	return e
}

// reaches says whether a key is within the caller's sight: one that is limited to
// scopes sees the keys that are limited to some of these.
func reaches(c *httpapi.Call, key entity.APIKey) bool {
	return caller(c).Covers(nil, key.Scopes)
}

func (a *api) listAPIKeys(ctx context.Context, c *httpapi.Call, o rbac.OrgID, _ httpapi.None) (httpapi.Reply[httpapi.Page[resource.APIKey]], error) {
	if err := a.liveOrg(ctx, o); err != nil {
		return httpapi.Reply[httpapi.Page[resource.APIKey]]{}, err
	}
	return list(ctx, a, c, keys.APIKeys(o), func(k entity.APIKey) bool { return reaches(c, k) }, resource.OfAPIKey)
}

func (a *api) getAPIKey(ctx context.Context, c *httpapi.Call, o rbac.OrgID, _ httpapi.None) (httpapi.Reply[resource.APIKey], error) {
	none := httpapi.Reply[resource.APIKey]{}
	id, err := httpapi.ParamID(c, "key", rbac.ParseAPIKeyID)
	if err != nil {
		return none, err
	}
	if err := a.liveOrg(ctx, o); err != nil {
		return none, err
	}
	return one(ctx, a, keys.APIKey(o, id), write.ErrNoAPIKey, func(k entity.APIKey) bool { return reaches(c, k) }, resource.OfAPIKey)
}

func (a *api) revokeAPIKey(ctx context.Context, c *httpapi.Call, o rbac.OrgID, _ httpapi.None) (httpapi.Reply[httpapi.None], error) {
	id, err := httpapi.ParamID(c, "key", rbac.ParseAPIKeyID)
	if err != nil {
		return httpapi.Reply[httpapi.None]{}, err
	}
	out, err := a.writer.RevokeAPIKey(ctx, a.request(c), o, id, func(k entity.APIKey) error {
		if !reaches(c, k) {
			return write.ErrNoAPIKey
		}
		return currentSecret(c)
	}, c.CheckPreconditions)
	if err != nil {
		return httpapi.Reply[httpapi.None]{}, err
	}
	return deleted(out), nil
}

// currentSecret refuses callers with a secret that was replaced: else whoever
// found it could rotate the key away from its owner.
func currentSecret(c *httpapi.Call) error {
	if caller(c).Replaced() {
		return fault.New(fault.Forbidden, "this secret was replaced: it can't make, rotate or revoke keys")
	}
	return nil
}

type rotateAPIKey struct {
	Overlap *duration `json:"overlap"`
}

func (r rotateAPIKey) overlap() (time.Duration, error) {
	if r.Overlap == nil {
		return defaultOverlap, nil
	}
	if r.Overlap.Duration > maxOverlap {
		return 0, fault.InField(fault.Invalid, "overlap", "must be at most %dd", maxOverlap/day)
	}
	return r.Overlap.Duration, nil
}

// rotateAPIKey shows the new secret: whoever rotates a key can use it, so nobody
// rotates one that can do more than they.
func (a *api) rotateAPIKey(ctx context.Context, c *httpapi.Call, o rbac.OrgID, body rotateAPIKey) (httpapi.Reply[keyWithText], error) {
	none := httpapi.Reply[keyWithText]{}
	id, err := httpapi.ParamID(c, "key", rbac.ParseAPIKeyID)
	if err != nil {
		return none, err
	}
	overlap, err := body.overlap()
	if err != nil {
		return none, err
	}
	if err := a.liveOrg(ctx, o); err != nil {
		return none, err
	}
	allow := func(k entity.APIKey) error {
		if !reaches(c, k) {
			return write.ErrNoAPIKey
		}
		if !caller(c).Covers(k.Permissions, k.Scopes) || caller(c).Outlives(k.ExpiresAt) {
			return fault.New(fault.WouldEscalate, "the key can do more than yours, or for longer, and its new secret would give that")
		}
		return currentSecret(c)
	}
	text, hash := auth.NewAPIKey(o, id)
	return create(ctx, a, c, change[keyWithText]{
		make: func(req *write.Request) (write.Outcome, error) {
			return a.writer.RotateAPIKey(ctx, req, o, id, hash, overlap, allow, c.CheckPreconditions)
		},
		answer: func(out write.Outcome) (httpapi.Reply[keyWithText], error) { return shownKey(out, text) },
	})
}
