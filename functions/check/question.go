package check

import (
	"fmt"
	"strconv"

	"github.com/wardenhq/warden/shared/auth"
	"github.com/wardenhq/warden/shared/decide"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/revision"
)

// Question is the body of a check: may the subject do the action on the
// resource in the scope?
type Question struct {
	Scope       rbac.ScopeID    `json:"scope"`
	Subject     rbac.SubjectID  `json:"subject"`
	Resource    rbac.ResourceID `json:"resource"`
	Action      rbac.ActionID   `json:"action"`
	Consistency Consistency     `json:"consistency,omitzero"`
	AtLeast     *string         `json:"at_least,omitzero"` // a revision: the answer reflects the write that returned it
	Explain     bool            `json:"explain,omitzero"`
}

// Batch is the body of a batch check.
type Batch struct {
	Checks []Question `json:"checks"` // 1 to 1000
}

// Consistency is how current an answer has to be.
type Consistency uint8

// The consistencies: at most 2 s old, or reflecting every write that was
// acknowledged before the question.
const (
	ConsistencyDefault Consistency = iota
	ConsistencyStrong
)

// UnmarshalText accepts "default" and "strong".
func (c *Consistency) UnmarshalText(b []byte) error {
	switch string(b) {
	case "default":
		*c = ConsistencyDefault
	case "strong":
		*c = ConsistencyStrong
	default:
		return fmt.Errorf("must be %q or %q", "default", "strong")
	}
	return nil
}

// MarshalText is what UnmarshalText accepts.
func (c Consistency) MarshalText() ([]byte, error) {
	if c == ConsistencyStrong {
		return []byte("strong"), nil
	}
	return []byte("default"), nil
}

// resolve is the question as it is decided for the bearer of a credential. The
// error is fault.InvalidRevision.
func (q *Question) resolve(cred auth.Credential) (decide.Question, error) {
	out := decide.Question{
		Scope: q.Scope, Subject: q.Subject, Ask: rbac.Question{Resource: q.Resource, Action: q.Action},
		Strong: q.Consistency == ConsistencyStrong, Explain: q.Explain,
	}
	if q.AtLeast == nil {
		return out, nil
	}
	switch t, err := revision.Parse(*q.AtLeast); {
	case err != nil:
		return out, fault.InField(fault.InvalidRevision, "at_least", "is no revision")
	case t.OrgWide() && cred.Kind == auth.KindAPIKey && !t.OfOrg(cred.Org):
		return out, fault.InField(fault.InvalidRevision, "at_least", "is a revision of another org")
	case t.OrgWide(): // what it proved has no number to compare with
		out.Strong = true
		return out, nil
	case !t.Of(q.Scope):
		return out, fault.InField(fault.InvalidRevision, "at_least", "is a revision of another scope")
	default:
		out.AtLeast = &t
		return out, nil
	}
}

// place is a field of the i-th check of a batch.
func place(i int, field string) string { return "checks[" + strconv.Itoa(i) + "]." + field }
