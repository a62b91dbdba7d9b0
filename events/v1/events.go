package eventsv1

import "github.com/wardenhq/warden/events"

// The events, one type each.
type (
	// OrgCreated says that an org was created.
	OrgCreated Created[Org]
	// OrgUpdated says that an org was changed.
	OrgUpdated Updated[Org]
	// OrgDeleted says that an org was deleted.
	OrgDeleted Deleted[Org]

	// ScopeCreated says that a scope was created.
	ScopeCreated Created[Scope]
	// ScopeUpdated says that a scope was changed.
	ScopeUpdated Updated[Scope]
	// ScopeDeleted says that a scope was deleted.
	ScopeDeleted Deleted[Scope]

	// PermissionCreated says that a permission was created.
	PermissionCreated Created[Permission]
	// PermissionUpdated says that a permission was changed.
	PermissionUpdated Updated[Permission]
	// PermissionDeleted says that a permission was deleted.
	PermissionDeleted Deleted[Permission]

	// RoleCreated says that a role was created.
	RoleCreated Created[Role]
	// RoleUpdated says that a role was changed.
	RoleUpdated Updated[Role]
	// RoleDeleted says that a role was deleted.
	RoleDeleted Deleted[Role]

	// PolicyCreated says that a policy, which is what a subject holds in a scope, was created.
	PolicyCreated Created[Policy]
	// PolicyUpdated says that a policy, which is what a subject holds in a scope, was changed.
	PolicyUpdated Updated[Policy]
	// PolicyDeleted says that a policy, which is what a subject holds in a scope, was deleted.
	PolicyDeleted Deleted[Policy]
	// PolicyRoleExpired says that assignments of a policy came to their expiry and were taken off it.
	PolicyRoleExpired Updated[Policy]

	// APIKeyCreated says that an API key was created.
	APIKeyCreated Created[APIKey]
	// APIKeyRotated says that an API key got a new secret; the one before works until previous_until.
	APIKeyRotated Updated[APIKey]
	// APIKeyRevoked says that an API key was revoked: it lets nobody in any more.
	APIKeyRevoked Deleted[APIKey]

	// SoDConstraintCreated says that a separation-of-duties constraint was created.
	SoDConstraintCreated Created[SoDConstraint]
	// SoDConstraintUpdated says that a separation-of-duties constraint was changed.
	SoDConstraintUpdated Updated[SoDConstraint]
	// SoDConstraintDeleted says that a separation-of-duties constraint was deleted.
	SoDConstraintDeleted Deleted[SoDConstraint]

	// MemberCreated says that a member of an org was created.
	MemberCreated Created[Member]
	// MemberUpdated says that a member of an org was changed.
	MemberUpdated Updated[Member]
	// MemberDeleted says that a member of an org was deleted.
	MemberDeleted Deleted[Member]

	// SSOCreated says that an SSO configuration was created.
	SSOCreated Created[SSO]
	// SSOUpdated says that an SSO configuration was changed.
	SSOUpdated Updated[SSO]
	// SSODeleted says that an SSO configuration was deleted.
	SSODeleted Deleted[SSO]

	// GroupMappingCreated says that a mapping of an IdP's group to a role was created.
	GroupMappingCreated Created[GroupMapping]
	// GroupMappingUpdated says that a mapping of an IdP's group to a role was changed.
	GroupMappingUpdated Updated[GroupMapping]
	// GroupMappingDeleted says that a mapping of an IdP's group to a role was deleted.
	GroupMappingDeleted Deleted[GroupMapping]

	// SCIMTokenCreated says that a SCIM token was created.
	SCIMTokenCreated Created[SCIMToken]
	// SCIMTokenUpdated says that a SCIM token was changed.
	SCIMTokenUpdated Updated[SCIMToken]
	// SCIMTokenDeleted says that a SCIM token was deleted.
	SCIMTokenDeleted Deleted[SCIMToken]

	// WebhookCreated says that a webhook was created.
	WebhookCreated Created[Webhook]
	// WebhookUpdated says that a webhook was changed.
	WebhookUpdated Updated[Webhook]
	// WebhookDeleted says that a webhook was deleted.
	WebhookDeleted Deleted[Webhook]
	// WebhookSecretRotated says that a webhook got a new secret; the one before signs too until previous_until.
	WebhookSecretRotated Updated[Webhook]
	// WebhookDisabled says that a webhook was disabled, by a request or because its receiver failed for too long or is gone.
	WebhookDisabled Updated[Webhook]
	// WebhookEnabled says that a webhook that was disabled was enabled again.
	WebhookEnabled Updated[Webhook]
	// WebhookTest says that a test delivery was asked for; nothing changed.
	WebhookTest Reported[Webhook]

	// ScopeTestCreated says that a test of a scope was created.
	ScopeTestCreated Created[ScopeTest]
	// ScopeTestUpdated says that a test of a scope was changed.
	ScopeTestUpdated Updated[ScopeTest]
	// ScopeTestDeleted says that a test of a scope was deleted.
	ScopeTestDeleted Deleted[ScopeTest]

	// ApprovalRequested says that a role was asked for.
	ApprovalRequested Created[Approval]
	// ApprovalApproved says that an approver approved a request; its status says whether that was enough.
	ApprovalApproved Updated[Approval]
	// ApprovalDenied says that an approver denied a request.
	ApprovalDenied Updated[Approval]
	// ApprovalCancelled says that a request was withdrawn before it was decided.
	ApprovalCancelled Updated[Approval]
	// ApprovalExpired says that a request was not decided in time.
	ApprovalExpired Updated[Approval]

	// SCIMUserCreated says that an identity provider created a user.
	SCIMUserCreated Created[SCIMUser]
	// SCIMUserUpdated says that an identity provider changed a user.
	SCIMUserUpdated Updated[SCIMUser]
	// SCIMUserDeactivated says that an identity provider deactivated a user: its assignments no longer count.
	SCIMUserDeactivated Updated[SCIMUser]
	// SCIMUserReactivated says that an identity provider reactivated a user: its assignments count again.
	SCIMUserReactivated Updated[SCIMUser]
	// SCIMUserDeleted says that an identity provider deleted a user.
	SCIMUserDeleted Deleted[SCIMUser]

	// SCIMGroupCreated says that an identity provider created a group.
	SCIMGroupCreated Created[SCIMGroup]
	// SCIMGroupUpdated says that an identity provider changed a group or who is in it.
	SCIMGroupUpdated Updated[SCIMGroup]
	// SCIMGroupDeleted says that an identity provider deleted a group.
	SCIMGroupDeleted Deleted[SCIMGroup]

	// SoDViolated says that a separation-of-duties constraint is broken, or an assignment was withheld so that it is not.
	SoDViolated Reported[SoDViolation]

	// AccessDriftDetected says that what checks answer from was not what a policy and the definitions come to.
	AccessDriftDetected Reported[Drift]

	// OutOfBand says that something was changed in the table, and no event claims it.
	OutOfBand Updated[Trace]
)

// New is a pointer to an empty struct of the named type, to decode an event
// into; nil for a type that is not known, as later releases may send.
func New(name string) any {
	if of, ok := structs[name]; ok {
		return of()
	}
	return nil
}

var structs = map[string]func() any{
	events.OrgCreated:           func() any { return new(OrgCreated) },
	events.OrgUpdated:           func() any { return new(OrgUpdated) },
	events.OrgDeleted:           func() any { return new(OrgDeleted) },
	events.ScopeCreated:         func() any { return new(ScopeCreated) },
	events.ScopeUpdated:         func() any { return new(ScopeUpdated) },
	events.ScopeDeleted:         func() any { return new(ScopeDeleted) },
	events.PermissionCreated:    func() any { return new(PermissionCreated) },
	events.PermissionUpdated:    func() any { return new(PermissionUpdated) },
	events.PermissionDeleted:    func() any { return new(PermissionDeleted) },
	events.RoleCreated:          func() any { return new(RoleCreated) },
	events.RoleUpdated:          func() any { return new(RoleUpdated) },
	events.RoleDeleted:          func() any { return new(RoleDeleted) },
	events.PolicyCreated:        func() any { return new(PolicyCreated) },
	events.PolicyUpdated:        func() any { return new(PolicyUpdated) },
	events.PolicyDeleted:        func() any { return new(PolicyDeleted) },
	events.PolicyRoleExpired:    func() any { return new(PolicyRoleExpired) },
	events.APIKeyCreated:        func() any { return new(APIKeyCreated) },
	events.APIKeyRotated:        func() any { return new(APIKeyRotated) },
	events.APIKeyRevoked:        func() any { return new(APIKeyRevoked) },
	events.SoDConstraintCreated: func() any { return new(SoDConstraintCreated) },
	events.SoDConstraintUpdated: func() any { return new(SoDConstraintUpdated) },
	events.SoDConstraintDeleted: func() any { return new(SoDConstraintDeleted) },
	events.MemberCreated:        func() any { return new(MemberCreated) },
	events.MemberUpdated:        func() any { return new(MemberUpdated) },
	events.MemberDeleted:        func() any { return new(MemberDeleted) },
	events.SSOCreated:           func() any { return new(SSOCreated) },
	events.SSOUpdated:           func() any { return new(SSOUpdated) },
	events.SSODeleted:           func() any { return new(SSODeleted) },
	events.GroupMappingCreated:  func() any { return new(GroupMappingCreated) },
	events.GroupMappingUpdated:  func() any { return new(GroupMappingUpdated) },
	events.GroupMappingDeleted:  func() any { return new(GroupMappingDeleted) },
	events.SCIMTokenCreated:     func() any { return new(SCIMTokenCreated) },
	events.SCIMTokenUpdated:     func() any { return new(SCIMTokenUpdated) },
	events.SCIMTokenDeleted:     func() any { return new(SCIMTokenDeleted) },
	events.WebhookCreated:       func() any { return new(WebhookCreated) },
	events.WebhookUpdated:       func() any { return new(WebhookUpdated) },
	events.WebhookDeleted:       func() any { return new(WebhookDeleted) },
	events.WebhookSecretRotated: func() any { return new(WebhookSecretRotated) },
	events.WebhookDisabled:      func() any { return new(WebhookDisabled) },
	events.WebhookEnabled:       func() any { return new(WebhookEnabled) },
	events.WebhookTest:          func() any { return new(WebhookTest) },
	events.ScopeTestCreated:     func() any { return new(ScopeTestCreated) },
	events.ScopeTestUpdated:     func() any { return new(ScopeTestUpdated) },
	events.ScopeTestDeleted:     func() any { return new(ScopeTestDeleted) },
	events.ApprovalRequested:    func() any { return new(ApprovalRequested) },
	events.ApprovalApproved:     func() any { return new(ApprovalApproved) },
	events.ApprovalDenied:       func() any { return new(ApprovalDenied) },
	events.ApprovalCancelled:    func() any { return new(ApprovalCancelled) },
	events.ApprovalExpired:      func() any { return new(ApprovalExpired) },
	events.SCIMUserCreated:      func() any { return new(SCIMUserCreated) },
	events.SCIMUserUpdated:      func() any { return new(SCIMUserUpdated) },
	events.SCIMUserDeactivated:  func() any { return new(SCIMUserDeactivated) },
	events.SCIMUserReactivated:  func() any { return new(SCIMUserReactivated) },
	events.SCIMUserDeleted:      func() any { return new(SCIMUserDeleted) },
	events.SCIMGroupCreated:     func() any { return new(SCIMGroupCreated) },
	events.SCIMGroupUpdated:     func() any { return new(SCIMGroupUpdated) },
	events.SCIMGroupDeleted:     func() any { return new(SCIMGroupDeleted) },
	events.SoDViolated:          func() any { return new(SoDViolated) },
	events.AccessDriftDetected:  func() any { return new(AccessDriftDetected) },
	events.OutOfBand:            func() any { return new(OutOfBand) },
}
