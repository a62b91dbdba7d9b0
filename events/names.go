package events

// The types of events, ENTITY.VERB.
const (
	OrgCreated = "org.created"
	OrgUpdated = "org.updated"
	OrgDeleted = "org.deleted"

	ScopeCreated = "scope.created"
	ScopeUpdated = "scope.updated"
	ScopeDeleted = "scope.deleted"

	PermissionCreated = "permission.created"
	PermissionUpdated = "permission.updated"
	PermissionDeleted = "permission.deleted"

	RoleCreated = "role.created"
	RoleUpdated = "role.updated"
	RoleDeleted = "role.deleted"

	PolicyCreated     = "policy.created"
	PolicyUpdated     = "policy.updated"
	PolicyDeleted     = "policy.deleted"
	PolicyRoleExpired = "policy.role_expired"

	APIKeyCreated = "api_key.created"
	APIKeyRotated = "api_key.rotated" //nolint:gosec // the name of an event, no credential
	APIKeyRevoked = "api_key.revoked"

	SoDConstraintCreated = "sod_constraint.created"
	SoDConstraintUpdated = "sod_constraint.updated"
	SoDConstraintDeleted = "sod_constraint.deleted"

	MemberCreated = "member.created"
	MemberUpdated = "member.updated"
	MemberDeleted = "member.deleted"

	SSOCreated = "sso.created"
	SSOUpdated = "sso.updated"
	SSODeleted = "sso.deleted"

	GroupMappingCreated = "group_mapping.created"
	GroupMappingUpdated = "group_mapping.updated"
	GroupMappingDeleted = "group_mapping.deleted"

	SCIMTokenCreated = "scim_token.created" //nolint:gosec // the name of an event, no credential
	SCIMTokenUpdated = "scim_token.updated" //nolint:gosec // the name of an event, no credential
	SCIMTokenDeleted = "scim_token.deleted" //nolint:gosec // the name of an event, no credential

	WebhookCreated       = "webhook.created"
	WebhookUpdated       = "webhook.updated"
	WebhookDeleted       = "webhook.deleted"
	WebhookSecretRotated = "webhook.secret_rotated"
	WebhookDisabled      = "webhook.disabled"
	WebhookEnabled       = "webhook.enabled"
	WebhookTest          = "webhook.test"

	ScopeTestCreated = "scope_test.created"
	ScopeTestUpdated = "scope_test.updated"
	ScopeTestDeleted = "scope_test.deleted"

	ApprovalRequested = "approval.requested"
	ApprovalApproved  = "approval.approved"
	ApprovalDenied    = "approval.denied"
	ApprovalCancelled = "approval.cancelled"
	ApprovalExpired   = "approval.expired"

	SCIMUserCreated     = "scim.user.created"
	SCIMUserUpdated     = "scim.user.updated"
	SCIMUserDeactivated = "scim.user.deactivated"
	SCIMUserReactivated = "scim.user.reactivated"
	SCIMUserDeleted     = "scim.user.deleted"

	SCIMGroupCreated = "scim.group.created"
	SCIMGroupUpdated = "scim.group.updated"
	SCIMGroupDeleted = "scim.group.deleted"

	SoDViolated = "sod.violated"

	AccessDriftDetected = "access.drift_detected"

	OutOfBand = "out_of_band"
)
