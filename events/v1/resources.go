package eventsv1

// Times are RFC 3339 in UTC with at least three fractional digits. Members that
// may be absent are omitted when empty.

// Stamp is what every resource carries.
type Stamp struct {
	Version   uint64 `json:"version"` // counts its changes, from 1
	CreatedAt string `json:"created_at"`
	UpdatedAt string `json:"updated_at"`
}

// Org is a tenant: it owns scopes, keys and members.
type Org struct {
	ID                 string `json:"id"`                   // the org's id
	Name               string `json:"name"`                 // unique over all orgs
	Status             string `json:"status"`               // suspended: every check denies (active, suspended)
	AuditRetentionDays int    `json:"audit_retention_days"` // how long audit events are kept, in days
	Stamp
}

// Scope is a namespace of definitions and policies.
type Scope struct {
	ID          string `json:"id"`                    // unique over all orgs
	Org         string `json:"org"`                   // the org that owns it
	Name        string `json:"name"`                  // for people
	Description string `json:"description,omitempty"` // what it is for
	Stamp
}

// Permission is what allows or denies an action on a resource.
type Permission struct {
	ID          string `json:"id"`                    // the usual one is resource:action
	Resource    string `json:"resource"`              // `*` is every resource
	Action      string `json:"action"`                // `*` is every action
	Effect      string `json:"effect"`                // deny wins over every allow (allow, deny)
	Description string `json:"description,omitempty"` // what it is for
	Condition   string `json:"condition,omitempty"`   // when it applies
	Stamp
}

// Role is a set of permissions, those of inherited roles included.
type Role struct {
	ID                string   `json:"id"`                    // the role's id
	Name              string   `json:"name,omitempty"`        // for people
	Description       string   `json:"description,omitempty"` // what it is for
	Permissions       []string `json:"permissions"`           // ids of permissions
	Inherits          []string `json:"inherits"`              // ids of roles
	Approvers         []string `json:"approvers,omitempty"`   // subjects that may approve requests for it
	RequiredApprovals int      `json:"required_approvals"`    // how many approvals a request for it needs
	Stamp
}

// Policy is what a subject holds in a scope.
type Policy struct {
	Subject string       `json:"subject"` // who holds it
	Roles   []Assignment `json:"roles"`   // its assignments
	Stamp
}

// Assignment is a role that a subject holds.
type Assignment struct {
	Role      string `json:"role"`                 // the role's id
	ExpiresAt string `json:"expires_at,omitempty"` // it counts before this instant and no longer. Absent: for good
	Source    string `json:"source"`               // how it came about: `direct`, `mapping:ID` or `approval:ID`
}

// APIKey is a key that lets a program in, without its secret.
type APIKey struct {
	ID            string   `json:"id"`                       // the key's id
	Name          string   `json:"name"`                     // for people
	Permissions   []string `json:"permissions"`              // what it may do: `access:check`, `admin:read` and so on
	Scopes        []string `json:"scopes,omitempty"`         // the only scopes it reaches. Absent: every scope of the org
	ExpiresAt     string   `json:"expires_at,omitempty"`     // until when it works
	PreviousUntil string   `json:"previous_until,omitempty"` // until when the secret before the rotation works
	Stamp
}

// SoDConstraint names roles of which no subject may hold more than so many.
type SoDConstraint struct {
	ID       string   `json:"id"`             // the constraint's id
	Name     string   `json:"name,omitempty"` // for people
	Roles    []string `json:"roles"`          // ids of two or more roles
	MaxRoles int      `json:"max_roles"`      // how many of them one subject may hold
	Mode     string   `json:"mode"`           // static: when assigned. Dynamic: when asked (static, dynamic)
	Status   string   `json:"status"`         // violated: existing assignments break it, and were accepted (active, violated)
	Stamp
}

// SoDViolation is a subject that breaks a constraint, or would.
type SoDViolation struct {
	Constraint string       `json:"constraint"`         // the constraint's id
	Subject    string       `json:"subject"`            // who breaks it
	Roles      []string     `json:"roles"`              // the roles of the constraint that the subject holds, or would
	Withheld   []Assignment `json:"withheld,omitempty"` // assignments that were not made, so that the constraint holds
}

// Member is a person who may use the admin API.
type Member struct {
	User  string `json:"user"`            // the subject's id
	Email string `json:"email,omitempty"` // for people
	Role  string `json:"role"`            // what the member may do (viewer, admin, owner)
	Stamp
}

// SSO is an issuer whose tokens let members in.
type SSO struct {
	ID           string `json:"id"`                     // the configuration's id
	Issuer       string `json:"issuer"`                 // the issuer's URL, unique over all orgs
	Audience     string `json:"audience"`               // whom tokens must be for
	JWKSURI      string `json:"jwks_uri,omitempty"`     // where the issuer has its keys. Absent: as its metadata says
	SubjectClaim string `json:"subject_claim"`          // the claim that names the member
	DisplayName  string `json:"display_name,omitempty"` // for people
	Stamp
}

// GroupMapping gives the members of a group a role in a scope.
type GroupMapping struct {
	ID    string `json:"id"`    // the mapping's id
	Group string `json:"group"` // a SCIM group's id or displayName
	Scope string `json:"scope"` // the scope of the role
	Role  string `json:"role"`  // the role's id
	Stamp
}

// SCIMToken is a token that lets an identity provider in, without its secret.
type SCIMToken struct {
	ID          string `json:"id"`                   // the token's id
	Name        string `json:"name"`                 // for people
	SubjectFrom string `json:"subject_from"`         // which attribute of users is the subject (userName, externalId)
	ExpiresAt   string `json:"expires_at,omitempty"` // until when it works
	Stamp
}

// SCIMUser is a user that an identity provider keeps.
type SCIMUser struct {
	ID          string `json:"id"`                     // SCIM's id
	Subject     string `json:"subject"`                // the subject that policies name
	UserName    string `json:"user_name"`              // SCIM's userName
	ExternalID  string `json:"external_id,omitempty"`  // SCIM's externalId
	DisplayName string `json:"display_name,omitempty"` // SCIM's displayName
	Active      bool   `json:"active"`                 // whether its assignments count
	Stamp
}

// SCIMGroup is a group that an identity provider keeps.
type SCIMGroup struct {
	ID             string   `json:"id"`                        // SCIM's id
	DisplayName    string   `json:"display_name"`              // SCIM's displayName
	ExternalID     string   `json:"external_id,omitempty"`     // SCIM's externalId
	MembersAdded   []string `json:"members_added,omitempty"`   // SCIM ids of users that this change added
	MembersRemoved []string `json:"members_removed,omitempty"` // SCIM ids of users that this change removed
	Stamp
}

// Webhook is an endpoint that is sent events, without its secret.
type Webhook struct {
	ID             string   `json:"id"`                        // the webhook's id
	URL            string   `json:"url"`                       // where deliveries go
	Events         []string `json:"events"`                    // which types it is sent: names, leading segments and `.*`, or `*`
	Description    string   `json:"description,omitempty"`     // what it is for
	HeaderNames    []string `json:"header_names,omitempty"`    // names of the headers it adds to deliveries; values are never shown
	RateLimit      int      `json:"rate_limit,omitempty"`      // deliveries a second, at most. Absent: no limit of its own
	Status         string   `json:"status"`                    // disabled: it is sent nothing (enabled, disabled)
	DisabledReason string   `json:"disabled_reason,omitempty"` // why it is disabled
	PreviousUntil  string   `json:"previous_until,omitempty"`  // until when the secret before the rotation signs too
	Stamp
}

// ScopeTest is questions, and what a scope must answer to them.
type ScopeTest struct {
	ID        string         `json:"id"`        // the test's id
	Questions []TestQuestion `json:"questions"` // the questions
	Stamp
}

// TestQuestion is a question, and its expected answer.
type TestQuestion struct {
	Subject  string `json:"subject"`  // who
	Resource string `json:"resource"` // on what
	Action   string `json:"action"`   // to do what
	Allowed  bool   `json:"allowed"`  // the expected answer
}

// Approval is a request for a role, for a time.
type Approval struct {
	ID                string     `json:"id"`                   // the request's id
	Subject           string     `json:"subject"`              // who is to hold the role
	Role              string     `json:"role"`                 // the role's id
	Requester         string     `json:"requester"`            // who asked
	Reason            string     `json:"reason"`               // why
	Duration          string     `json:"duration,omitempty"`   // how long the role is held once approved, like `8h`. Absent: for good
	Status            string     `json:"status"`               // where it is (pending, approved, denied, cancelled, expired)
	RequiredApprovals int        `json:"required_approvals"`   // how many approvals it needs
	Decisions         []Decision `json:"decisions"`            // what approvers decided, in order
	ExpiresAt         string     `json:"expires_at,omitempty"` // until when the role is held
	Stamp
}

// Decision is what an approver decided.
type Decision struct {
	Approver string `json:"approver"`          // who decided
	Decision string `json:"decision"`          // what (approve, deny)
	Comment  string `json:"comment,omitempty"` // what the approver said
	Time     string `json:"time"`              // when
}

// Drift is a document, or what goes with it, that was not what its policy and the definitions come to.
type Drift struct {
	Subject  string `json:"subject"`            // whose it is
	Kind     string `json:"kind"`               // what differs (no-document, assignments, grants, role-member, subject-scope)
	Repaired bool   `json:"repaired,omitempty"` // whether it was mended
}

// Trace is what is shown of an item that was changed out of band: never its content.
type Trace struct {
	Key       string `json:"key"`                  // its key in the table
	Type      string `json:"type"`                 // its kind
	Version   uint64 `json:"version"`              // its version
	SHA256    string `json:"sha256"`               // SHA-256 of its content, in hex
	UpdatedAt string `json:"updated_at"`           // when it says it was changed
	Actor     string `json:"actor,omitempty"`      // who it says changed it
	LastEvent string `json:"last_event,omitempty"` // the event it names
}
