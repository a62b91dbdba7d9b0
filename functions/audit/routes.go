package audit

import (
	"net/http"
	"slices"

	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/httpapi"
)

// reads is the right that every route needs.
const reads = httpapi.Permission(entity.RightAuditRead)

// Endpoints are the function's routes, for a router whose principals are of
// package auth.
func (a *Audit) Endpoints() []httpapi.Endpoint {
	list := func(name, summary, pattern string) httpapi.Route {
		return httpapi.Route{
			Name: name, Summary: summary, Method: http.MethodGet, Pattern: pattern, Permission: reads, Success: []int{http.StatusOK},
			List: true, Query: slices.Clone(filterParams), Produces: []string{mediaNDJSON, mediaCSV},
		}
	}
	prove := func(name, summary, pattern string) httpapi.Route {
		return httpapi.Route{
			Name: name, Summary: summary, Method: http.MethodGet, Pattern: pattern, Permission: reads, Success: []int{http.StatusOK},
			Query: slices.Clone(proofParams), Errors: []fault.Code{fault.LimitExceeded},
		}
	}
	return []httpapi.Endpoint{
		httpapi.Bind(list("audit.scope.list", "List or export a scope's events", "/v1/scopes/{scope}/audit"), a.list(a.scopeSource)),
		httpapi.Bind(list("audit.org.list", "List or export an org's events, those of its scopes included", "/v1/orgs/{org}/audit"), a.list(a.orgSource)),
		httpapi.Bind(prove("audit.scope.proof", "Prove a range of a scope's events", "/v1/scopes/{scope}/audit/proof"), a.proof(a.scopeOf)),
		httpapi.Bind(prove("audit.org.proof", "Prove a range of an org's events without a scope", "/v1/orgs/{org}/audit/proof"), a.proof(a.orgChainOf)),
	}
}
