package topology

// Entity is the name of a kind of item, a type in the catalogue
// shared/DOMAIN_MODELS.md, which says what each is for.
type Entity string

// The entities that the functions above touch.
const (
	Access        Entity = "Access"       // a subject's precomputed access in a scope
	APIKey        Entity = "APIKey"       // an org's API key, by hash
	Fence         Entity = "Fence"        // a version that policy writes check
	GroupMapping  Entity = "GroupMapping" // a SCIM group's role in a scope
	Head          Entity = "Head"         // a scope's definition revision and flux
	Idempotency   Entity = "Idempotency"  // the answer kept for an Idempotency-Key
	Member        Entity = "Member"       // a person who administers an org
	OperatorKey   Entity = "OperatorKey"  // a key to every org
	Org           Entity = "Org"          // a tenant
	OrgEvent      Entity = "OrgEvent"     // the event item of a change without a scope
	Permission    Entity = "Permission"   // a definition: resource, action, effect
	Policy        Entity = "Policy"       // a subject's assignments in a scope
	Recomputation Entity = "Recompute"    // the progress of a definition's fan-out
	Role          Entity = "Role"         // a definition: permissions and inherited roles
	RoleMember    Entity = "RoleMember"   // who has a role
	Scope         Entity = "Scope"        // a part of an org with definitions of its own
	ScopeEvent    Entity = "ScopeEvent"   // the event item of a change in a scope
	SubjectScope  Entity = "SubjectScope" // where a subject has a policy
	Task          Entity = "Task"         // when an hourly task last ran
	Unique        Entity = "Unique"       // the sentinel of a globally unique value
)
