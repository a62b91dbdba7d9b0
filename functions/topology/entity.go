package topology

// Entity is the name of a kind of item, a type in the catalogue
// shared/DOMAIN_MODELS.md, which says what each is for.
type Entity string

// The entities that the functions above touch.
const (
	Access          Entity = "Access"          // a subject's precomputed access in a scope
	APIKey          Entity = "APIKey"          // an org's API key, by hash
	Delivery        Entity = "Delivery"        // an event on its way to an endpoint
	Fence           Entity = "Fence"           // a version that policy writes check
	GroupMapping    Entity = "GroupMapping"    // a SCIM group's role in a scope
	Head            Entity = "Head"            // a scope's definition revision and flux
	Idempotency     Entity = "Idempotency"     // the answer kept for an Idempotency-Key
	Member          Entity = "Member"          // a person who administers an org
	OperatorKey     Entity = "OperatorKey"     // a key to every org
	Org             Entity = "Org"             // a tenant
	OrgAudit        Entity = "OrgAudit"        // an audited event without a scope
	OrgChain        Entity = "OrgChain"        // the head of an org's hash chain
	OrgCheckpoint   Entity = "OrgCheckpoint"   // a signed state of that chain
	OrgEvent        Entity = "OrgEvent"        // the event item of a change without a scope
	Permission      Entity = "Permission"      // a definition: resource, action, effect
	Policy          Entity = "Policy"          // a subject's assignments in a scope
	Recomputation   Entity = "Recompute"       // the progress of a definition's fan-out
	Role            Entity = "Role"            // a definition: permissions and inherited roles
	RoleMember      Entity = "RoleMember"      // who has a role
	Scope           Entity = "Scope"           // a part of an org with definitions of its own
	ScopeAudit      Entity = "ScopeAudit"      // an audited event of a scope
	ScopeChain      Entity = "ScopeChain"      // the head of a scope's hash chain
	ScopeCheckpoint Entity = "ScopeCheckpoint" // a signed state of that chain
	ScopeEvent      Entity = "ScopeEvent"      // the event item of a change in a scope
	SubjectScope    Entity = "SubjectScope"    // where a subject has a policy
	Suspicion       Entity = "Suspicion"       // a change that no event claims yet
	Task            Entity = "Task"            // when an hourly task last ran
	Unique          Entity = "Unique"          // the sentinel of a globally unique value
	Webhook         Entity = "Webhook"         // an endpoint
	WebhookState    Entity = "WebhookState"    // how an endpoint fares
)
