package check

import (
	"net/http"
	"reflect"

	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/httpapi"
)

// The routes, as every other function declares its own.
var (
	routeCheck = httpapi.Route{
		Name: "access.check", Summary: "Answer whether a subject may do an action on a resource in a scope",
		Method: http.MethodPost, Pattern: "/v1/access/check", Permission: httpapi.Permission(entity.RightCheck),
		Success: []int{http.StatusOK}, Errors: []fault.Code{fault.InvalidRevision, fault.RevisionUnknown, fault.LimitExceeded},
		Request: reflect.TypeFor[Question](), Response: reflect.TypeFor[Answer](),
	}
	routeBatch = httpapi.Route{
		Name: "access.batch_check", Summary: "Answer up to 1,000 checks, in their order",
		Method: http.MethodPost, Pattern: "/v1/access/batch-check", Permission: httpapi.Permission(entity.RightCheck),
		Success: []int{http.StatusOK}, Errors: []fault.Code{fault.InvalidRevision, fault.RevisionUnknown, fault.LimitExceeded},
		Request: reflect.TypeFor[Batch](), Response: reflect.TypeFor[Results](),
	}
)

// Routes declares what the function serves.
func Routes() []httpapi.Route { return []httpapi.Route{routeCheck, routeBatch} }
