package admin

import (
	"context"
	"crypto/rand"
	"net/http"
	"strings"

	"github.com/wardenhq/warden/shared/auth"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/httpapi"
	"github.com/wardenhq/warden/shared/httpapi/wire"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/resource"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/write"
)

// defaultRetention and maxRetention are days that an org's audit events are kept.
const (
	defaultRetention = 365
	maxRetention     = 3650
)

// firstKeyName is the name of the API key that provisioning makes.
const firstKeyName = "first key"

// cascade lets a deletion take what is in the way.
var cascade = httpapi.QueryParam{Name: "cascade", Kind: httpapi.Bool, Doc: "delete what it contains, too"}

func (a *api) orgs() []httpapi.Endpoint {
	return []httpapi.Endpoint{
		httpapi.Bind(httpapi.Route{
			Name: "orgs.create", Summary: "Provision an org with a first scope, an owner and an API key",
			Method: http.MethodPost, Pattern: "/v1/orgs", Permission: httpapi.OperatorOnly,
			Success: []int{http.StatusCreated}, Creates: true, ShowsSecret: true,
			Errors: []fault.Code{fault.AlreadyExists, fault.BeingDeleted, fault.LimitExceeded},
		}, a.createOrg),
		httpapi.Bind(httpapi.Route{
			Name: "orgs.list", Summary: "List all orgs by name",
			Method: http.MethodGet, Pattern: "/v1/orgs", Permission: httpapi.OperatorOnly,
			Success: []int{http.StatusOK}, List: true,
		}, a.listOrgs),
		httpapi.Bind(httpapi.Route{
			Name: "orgs.get", Summary: "Show an org",
			Method: http.MethodGet, Pattern: "/v1/orgs/{org}", Permission: reads,
			Success: []int{http.StatusOK}, Versioned: true,
		}, inOrg(a.getOrg)),
		httpapi.Bind(httpapi.Route{
			Name: "orgs.update", Summary: "Change an org's name and settings",
			Method: http.MethodPatch, Pattern: "/v1/orgs/{org}", Permission: writes,
			Success: []int{http.StatusOK}, Versioned: true,
			Errors: []fault.Code{fault.AlreadyExists, fault.LimitExceeded},
		}, inOrg(a.updateOrg)),
		httpapi.Bind(httpapi.Route{
			Name: "orgs.delete", Summary: "Delete an org",
			Method: http.MethodDelete, Pattern: "/v1/orgs/{org}", Permission: writes,
			Success: []int{http.StatusNoContent}, Versioned: true, Query: []httpapi.QueryParam{cascade},
			Errors: []fault.Code{fault.InUse},
		}, inOrg(a.deleteOrg)),
	}
}

type newOrg struct {
	ID    rbac.OrgID     `json:"id,omitzero"`
	Name  string         `json:"name"`
	Owner rbac.SubjectID `json:"owner"`
	Scope *firstScope    `json:"scope"`
}

type firstScope struct {
	ID   rbac.ScopeID `json:"id"`
	Name string       `json:"name"`
}

// provisioned is all that a caller needs to begin with. The key's text is shown
// here and never again.
type provisioned struct {
	Org   resource.Org   `json:"org"`
	Scope resource.Scope `json:"scope"`
	Key   keyWithText    `json:"api_key"`
}

func (a *api) createOrg(ctx context.Context, c *httpapi.Call, body newOrg) (httpapi.Reply[provisioned], error) {
	p, err := a.provision(c, body)
	if err != nil {
		return httpapi.Reply[provisioned]{}, err
	}
	text, hash := auth.NewAPIKey(p.Org, p.Key.ID)
	p.Key.Hash = hash
	return create(ctx, a, c, change[provisioned]{
		make: func(req *write.Request) (write.Outcome, error) {
			out, _, err := a.writer.ProvisionOrg(ctx, req, p)
			return out, err
		},
		answer: func(out write.Outcome) (httpapi.Reply[provisioned], error) {
			org, err := changed(out, resource.OfOrg)
			// All of it was written at once, so the org's item stamps the others too.
			scope := resource.OfScope(out.Item, entity.Scope{ID: p.Scope, Org: p.Org, Name: p.ScopeName, Edition: 1, EditedAt: out.Item.CreatedAt})
			return httpapi.Reply[provisioned]{
				Body:    provisioned{org.Body, scope, keyWithText{resource.OfAPIKey(out.Item, p.Key), text}},
				Version: org.Version, Revision: org.Revision, Location: path("orgs", p.Org.String()),
			}, err
		},
	})
}

// provision fills in what the caller left out.
func (a *api) provision(c *httpapi.Call, body newOrg) (write.Provision, error) {
	var f fields
	f.name("name", body.Name)
	if body.Scope != nil {
		f.name("scope.name", body.Scope.Name)
	}
	if err := f.err(); err != nil {
		return write.Provision{}, err
	}
	p := write.Provision{Org: body.ID, Name: body.Name, Owner: body.Owner, Retention: defaultRetention}
	if p.Org.IsZero() {
		p.Org = rbac.Must(rbac.ParseOrgID("org_" + strings.ToLower(rand.Text())))
	}
	if body.Scope != nil {
		p.Scope, p.ScopeName = body.Scope.ID, body.Scope.Name
	} else {
		p.Scope, p.ScopeName = rbac.Must(rbac.ParseScopeID(p.Org.String())), p.Name
	}
	p.Key = entity.APIKey{
		ID: auth.NewKeyID(), Org: p.Org, Name: firstKeyName, Permissions: entity.AllRights, CreatedBy: createdBy(c),
	}
	return p, nil
}

func (a *api) listOrgs(ctx context.Context, c *httpapi.Call, _ httpapi.None) (httpapi.Reply[httpapi.Page[resource.Org]], error) {
	return list(ctx, a, c, keys.OrgsByName(), orgAlive, resource.OfOrg)
}

func orgAlive(e entity.Org) bool { return e.Status != entity.OrgDeleting }

func (a *api) getOrg(ctx context.Context, _ *httpapi.Call, o rbac.OrgID, _ httpapi.None) (httpapi.Reply[resource.Org], error) {
	return one(ctx, a, keys.Org(o), write.ErrNoOrg, orgAlive, resource.OfOrg)
}

// patchOrg is a merge patch: a null retention is the default's.
type patchOrg struct {
	Name      wire.Optional[string]           `json:"name,omitzero"`
	Retention wire.Optional[int]              `json:"audit_retention_days,omitzero"`
	Status    wire.Optional[entity.OrgStatus] `json:"status,omitzero"`
}

func (p patchOrg) check() error {
	var f fields
	if name, ok := p.Name.Get(); ok {
		f.name("name", name)
	}
	if p.Name.IsNull() {
		f.refuse(fault.Invalid, "name", "an org has a name")
	}
	if days, ok := p.Retention.Get(); ok {
		f.within("audit_retention_days", days, maxRetention)
	}
	if status, ok := p.Status.Get(); p.Status.IsNull() || ok && status != entity.OrgActive {
		f.refuse(fault.Invalid, "status", "an org can't be suspended yet; its status is %q", entity.OrgActive)
	}
	return f.err()
}

func (p patchOrg) apply(e *entity.Org) {
	p.Name.Merge(&e.Name)
	p.Retention.Merge(&e.AuditRetentionDays)
	if p.Retention.IsNull() {
		e.AuditRetentionDays = defaultRetention
	}
}

func (a *api) updateOrg(ctx context.Context, c *httpapi.Call, o rbac.OrgID, body patchOrg) (httpapi.Reply[resource.Org], error) {
	if err := wholeOrg(c); err != nil {
		return httpapi.Reply[resource.Org]{}, err
	}
	if err := body.check(); err != nil {
		return httpapi.Reply[resource.Org]{}, err
	}
	out, err := a.writer.UpdateOrg(ctx, a.request(c), o, c.CheckPreconditions, func(e *entity.Org) error {
		body.apply(e)
		return nil
	})
	if err != nil {
		return httpapi.Reply[resource.Org]{}, err
	}
	return changed(out, resource.OfOrg)
}

func (a *api) deleteOrg(ctx context.Context, c *httpapi.Call, o rbac.OrgID, _ httpapi.None) (httpapi.Reply[httpapi.None], error) {
	if err := wholeOrg(c); err != nil {
		return httpapi.Reply[httpapi.None]{}, err
	}
	out, err := a.writer.DeleteOrg(ctx, a.request(c), o, c.CheckPreconditions, c.Flag(cascade.Name))
	if err != nil {
		return httpapi.Reply[httpapi.None]{}, err
	}
	return deleted(out), nil
}
