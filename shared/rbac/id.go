package rbac

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// Lengths of ids in bytes (api.md, "ids").
const (
	MaxID     = 128
	MaxLongID = 256 // subjects and resources
)

// kind names a class of ids and its longest length. The kinds are unexported,
// so no other package can make a new class by accident.
type kind interface{ rule() (name string, max int) }

type (
	orgKind        struct{}
	scopeKind      struct{}
	subjectKind    struct{}
	permissionKind struct{}
	roleKind       struct{}
	resourceKind   struct{}
	actionKind     struct{}
	mappingKind    struct{}
	constraintKind struct{}
	approvalKind   struct{}
	apiKeyKind     struct{}
	webhookKind    struct{}
)

func (orgKind) rule() (string, int)        { return "org", MaxID }
func (scopeKind) rule() (string, int)      { return "scope", MaxID }
func (subjectKind) rule() (string, int)    { return "subject", MaxLongID }
func (permissionKind) rule() (string, int) { return "permission", MaxID }
func (roleKind) rule() (string, int)       { return "role", MaxID }
func (resourceKind) rule() (string, int)   { return "resource", MaxLongID }
func (actionKind) rule() (string, int)     { return "action", MaxID }
func (mappingKind) rule() (string, int)    { return "group mapping", MaxID }
func (constraintKind) rule() (string, int) { return "constraint", MaxID }
func (approvalKind) rule() (string, int)   { return "approval", MaxID }
func (apiKeyKind) rule() (string, int)     { return "API key", MaxID }
func (webhookKind) rule() (string, int)    { return "webhook", MaxID }

// ID is an identifier of one kind. Two ids of different kinds neither compare
// nor convert: the zero-size pointer field gives every instantiation a type
// structure of its own, so that even an explicit conversion is refused by the
// compiler. The zero ID is empty and refused by every key constructor.
type ID[K kind] struct {
	_ [0]*K
	s string
}

type (
	// OrgID names an org.
	OrgID = ID[orgKind]
	// ScopeID names a scope; unique over all orgs.
	ScopeID = ID[scopeKind]
	// SubjectID names who asks: a user, a service.
	SubjectID = ID[subjectKind]
	// PermissionID names a permission of a scope.
	PermissionID = ID[permissionKind]
	// RoleID names a role of a scope.
	RoleID = ID[roleKind]
	// ResourceID names a permission's or question's resource; `*` is an ordinary id here.
	ResourceID = ID[resourceKind]
	// ActionID names a permission's or question's action.
	ActionID = ID[actionKind]
	// MappingID names a group mapping of an org.
	MappingID = ID[mappingKind]
	// ConstraintID names a separation-of-duties constraint of a scope.
	ConstraintID = ID[constraintKind]
	// ApprovalID names an approval request of a scope.
	ApprovalID = ID[approvalKind]
	// APIKeyID names an API key of an org.
	APIKeyID = ID[apiKeyKind]
	// WebhookID names a webhook of a scope.
	WebhookID = ID[webhookKind]
)

// Wildcard is the whole resource or action of a permission that matches every name.
const Wildcard = "*"

// IDError says why a text is no id.
type IDError struct {
	Kind   string // "role", "subject", ...
	Reason string
}

func (e *IDError) Error() string { return fmt.Sprintf("%s id %s", e.Kind, e.Reason) }

// ParseID checks a text against the one grammar of ids: valid UTF-8 without
// control characters, neither empty nor "." nor "..", at most 128 bytes (256
// for subjects and resources). The error is an *IDError.
func ParseID[K kind](s string) (ID[K], error) {
	var k K
	name, limit := k.rule()
	if reason := refuse(s, limit); reason != "" {
		return ID[K]{}, &IDError{Kind: name, Reason: reason}
	}
	return ID[K]{s: s}, nil
}

func refuse(s string, limit int) string {
	switch {
	case s == "":
		return "must not be empty"
	case len(s) > limit:
		return fmt.Sprintf("is %d bytes long, at most %d are allowed", len(s), limit)
	case s == "." || s == "..":
		return "must not be \".\" or \"..\""
	}
	for i := 0; i < len(s); i++ {
		if s[i] < utf8.RuneSelf && s[i] >= 0x20 && s[i] != 0x7f {
			continue
		}
		return refuseRunes(s)
	}
	return ""
}

func refuseRunes(s string) string {
	if !utf8.ValidString(s) {
		return "must be valid UTF-8"
	}
	for _, r := range s {
		if unicode.IsControl(r) {
			return fmt.Sprintf("must not contain the control character %U", r)
		}
	}
	return ""
}

// ParseOrgID is ParseID of that kind.
func ParseOrgID(s string) (OrgID, error) { return ParseID[orgKind](s) }

// ParseScopeID is ParseID of that kind.
func ParseScopeID(s string) (ScopeID, error) { return ParseID[scopeKind](s) }

// ParseSubjectID is ParseID of that kind.
func ParseSubjectID(s string) (SubjectID, error) { return ParseID[subjectKind](s) }

// ParsePermissionID is ParseID of that kind.
func ParsePermissionID(s string) (PermissionID, error) { return ParseID[permissionKind](s) }

// ParseRoleID is ParseID of that kind.
func ParseRoleID(s string) (RoleID, error) { return ParseID[roleKind](s) }

// ParseResourceID is ParseID of that kind.
func ParseResourceID(s string) (ResourceID, error) { return ParseID[resourceKind](s) }

// ParseActionID is ParseID of that kind.
func ParseActionID(s string) (ActionID, error) { return ParseID[actionKind](s) }

// ParseMappingID is ParseID of that kind.
func ParseMappingID(s string) (MappingID, error) { return ParseID[mappingKind](s) }

// ParseConstraintID is ParseID of that kind.
func ParseConstraintID(s string) (ConstraintID, error) { return ParseID[constraintKind](s) }

// ParseApprovalID is ParseID of that kind.
func ParseApprovalID(s string) (ApprovalID, error) { return ParseID[approvalKind](s) }

// ParseAPIKeyID is ParseID of that kind.
func ParseAPIKeyID(s string) (APIKeyID, error) { return ParseID[apiKeyKind](s) }

// ParseWebhookID is ParseID of that kind.
func ParseWebhookID(s string) (WebhookID, error) { return ParseID[webhookKind](s) }

// Must returns the value of a parser's answer for texts that are known to be
// good, and panics on an error.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// String is the id as the caller wrote it.
func (id ID[K]) String() string { return id.s }

// IsZero says whether the id was never set.
func (id ID[K]) IsZero() bool { return id.s == "" }

// MarshalText writes the id as it is.
func (id ID[K]) MarshalText() ([]byte, error) { return []byte(id.s), nil }

// UnmarshalText accepts what ParseID accepts.
func (id *ID[K]) UnmarshalText(b []byte) error {
	parsed, err := ParseID[K](string(b))
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}
