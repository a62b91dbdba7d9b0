package events

import "slices"

//go:generate go run ./internal/contract/generate

// Sides are which of before and after a type of events shows.
type Sides uint8

// The sides of a change.
const (
	Before Sides = 1 << iota // what was there; null of what is new
	After                    // what is there now; null of what is gone
)

// Type describes a type of events.
type Type struct {
	Name    string // as in Event.Type
	Target  string // the type of its targets; empty: of any
	Shows   string // what before and after are: a schema below schema/v1/part
	Sides   Sides
	Summary string // one sentence
}

// SchemaURI names a type's JSON Schema, version 1. It is a name, not a place:
// package schema has the schema.
func (t Type) SchemaURI() string { return SchemaBase + t.Name + SchemaSuffix }

// What SchemaURI puts around a type's name.
const (
	SchemaBase   = "https://github.com/wardenhq/warden/events/schema/v1/"
	SchemaSuffix = ".schema.json"
)

// Types are all types of events, those of one entity together.
func Types() []Type { return slices.Clone(types) }

// TypeOf finds a type by its name.
func TypeOf(name string) (Type, bool) {
	i := slices.IndexFunc(types, func(t Type) bool { return t.Name == name })
	if i < 0 {
		return Type{}, false
	}
	return types[i], true
}

var types = []Type{
	{OrgCreated, "org", "org", After, "An org was created."},
	{OrgUpdated, "org", "org", Before | After, "An org was changed."},
	{OrgDeleted, "org", "org", Before, "An org was deleted."},
	{ScopeCreated, "scope", "scope", After, "A scope was created."},
	{ScopeUpdated, "scope", "scope", Before | After, "A scope was changed."},
	{ScopeDeleted, "scope", "scope", Before, "A scope was deleted."},
	{PermissionCreated, "permission", "permission", After, "A permission was created."},
	{PermissionUpdated, "permission", "permission", Before | After, "A permission was changed."},
	{PermissionDeleted, "permission", "permission", Before, "A permission was deleted."},
	{RoleCreated, "role", "role", After, "A role was created."},
	{RoleUpdated, "role", "role", Before | After, "A role was changed."},
	{RoleDeleted, "role", "role", Before, "A role was deleted."},
	{PolicyCreated, "policy", "policy", After, "A policy, which is what a subject holds in a scope, was created."},
	{PolicyUpdated, "policy", "policy", Before | After, "A policy, which is what a subject holds in a scope, was changed."},
	{PolicyDeleted, "policy", "policy", Before, "A policy, which is what a subject holds in a scope, was deleted."},
	{PolicyRoleExpired, "policy", "policy", Before | After, "Assignments of a policy came to their expiry and were taken off it."},
	{APIKeyCreated, "api_key", "api_key", After, "An API key was created."},
	{APIKeyRotated, "api_key", "api_key", Before | After, "An API key got a new secret; the one before works until previous_until."},
	{APIKeyRevoked, "api_key", "api_key", Before, "An API key was revoked: it lets nobody in any more."},
	{SoDConstraintCreated, "sod_constraint", "sod_constraint", After, "A separation-of-duties constraint was created."},
	{SoDConstraintUpdated, "sod_constraint", "sod_constraint", Before | After, "A separation-of-duties constraint was changed."},
	{SoDConstraintDeleted, "sod_constraint", "sod_constraint", Before, "A separation-of-duties constraint was deleted."},
	{MemberCreated, "member", "member", After, "A member of an org was created."},
	{MemberUpdated, "member", "member", Before | After, "A member of an org was changed."},
	{MemberDeleted, "member", "member", Before, "A member of an org was deleted."},
	{SSOCreated, "sso", "sso", After, "An SSO configuration was created."},
	{SSOUpdated, "sso", "sso", Before | After, "An SSO configuration was changed."},
	{SSODeleted, "sso", "sso", Before, "An SSO configuration was deleted."},
	{GroupMappingCreated, "group_mapping", "group_mapping", After, "A mapping of an IdP's group to a role was created."},
	{GroupMappingUpdated, "group_mapping", "group_mapping", Before | After, "A mapping of an IdP's group to a role was changed."},
	{GroupMappingDeleted, "group_mapping", "group_mapping", Before, "A mapping of an IdP's group to a role was deleted."},
	{SCIMTokenCreated, "scim_token", "scim_token", After, "A SCIM token was created."},
	{SCIMTokenUpdated, "scim_token", "scim_token", Before | After, "A SCIM token was changed."},
	{SCIMTokenDeleted, "scim_token", "scim_token", Before, "A SCIM token was deleted."},
	{WebhookCreated, "webhook", "webhook", After, "A webhook was created."},
	{WebhookUpdated, "webhook", "webhook", Before | After, "A webhook was changed."},
	{WebhookDeleted, "webhook", "webhook", Before, "A webhook was deleted."},
	{WebhookSecretRotated, "webhook", "webhook", Before | After, "A webhook got a new secret; the one before signs too until previous_until."},
	{WebhookDisabled, "webhook", "webhook", Before | After, "A webhook was disabled, by a request or because its receiver failed for too long or is gone."},
	{WebhookEnabled, "webhook", "webhook", Before | After, "A webhook that was disabled was enabled again."},
	{WebhookTest, "webhook", "webhook", After, "A test delivery was asked for; nothing changed."},
	{ScopeTestCreated, "scope_test", "scope_test", After, "A test of a scope was created."},
	{ScopeTestUpdated, "scope_test", "scope_test", Before | After, "A test of a scope was changed."},
	{ScopeTestDeleted, "scope_test", "scope_test", Before, "A test of a scope was deleted."},
	{ApprovalRequested, "approval", "approval", After, "A role was asked for."},
	{ApprovalApproved, "approval", "approval", Before | After, "An approver approved a request; its status says whether that was enough."},
	{ApprovalDenied, "approval", "approval", Before | After, "An approver denied a request."},
	{ApprovalCancelled, "approval", "approval", Before | After, "A request was withdrawn before it was decided."},
	{ApprovalExpired, "approval", "approval", Before | After, "A request was not decided in time."},
	{SCIMUserCreated, "scim.user", "scim_user", After, "An identity provider created a user."},
	{SCIMUserUpdated, "scim.user", "scim_user", Before | After, "An identity provider changed a user."},
	{SCIMUserDeactivated, "scim.user", "scim_user", Before | After, "An identity provider deactivated a user: its assignments no longer count."},
	{SCIMUserReactivated, "scim.user", "scim_user", Before | After, "An identity provider reactivated a user: its assignments count again."},
	{SCIMUserDeleted, "scim.user", "scim_user", Before, "An identity provider deleted a user."},
	{SCIMGroupCreated, "scim.group", "scim_group", After, "An identity provider created a group."},
	{SCIMGroupUpdated, "scim.group", "scim_group", Before | After, "An identity provider changed a group or who is in it."},
	{SCIMGroupDeleted, "scim.group", "scim_group", Before, "An identity provider deleted a group."},
	{SoDViolated, "sod_constraint", "sod_violation", After, "A separation-of-duties constraint is broken, or an assignment was withheld so that it is not."},
	{AccessDriftDetected, "policy", "drift", After, "What checks answer from was not what a policy and the definitions come to."},
	{OutOfBand, "", "trace", Before | After, "Something was changed in the table, and no event claims it."},
}
