package rbac

import "fmt"

// The contract's limits (api.md, "limits").
const (
	MaxRolesPerPolicy     = 40
	MaxPermissionsPerRole = 1000
	MaxInheritsPerRole    = 50
	MaxInheritanceDepth   = 32  // steps from a role to the farthest that it inherits
	MaxRolesInClosure     = 200 // a role and all that it inherits
	MaxPermissionsInScope = 10000
	MaxRolesInScope       = 10000
	MaxScopesInOrg        = 10000
	MaxWebhooksInScope    = 20
	MaxAPIKeysInOrg       = 1000
	MaxPastSecrets        = 5 // of an API key that work beside its newest one
	MaxChecksInBatch      = 1000
	MaxMappingsOfGroup    = 50
	MaxNameBytes          = 256
	MaxDescriptionBytes   = 1024
)

// LimitError says which limit something would pass.
type LimitError struct {
	Limit string // as the contract names it: "inheritance depth"
	Max   int
	Role  RoleID // the role that would pass it, where it is not the one that is written; else zero
}

func (e *LimitError) Error() string {
	if e.Role.IsZero() {
		return fmt.Sprintf("limit exceeded: %s: at most %d", e.Limit, e.Max)
	}
	return fmt.Sprintf("limit exceeded: %s of role %q: at most %d", e.Limit, e.Role, e.Max)
}
