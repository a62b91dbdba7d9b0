package rbactest

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/wardenhq/warden/shared/rbac"
)

//go:embed corpus/*.json
var corpus embed.FS

// Case is one file of the corpus: a world and the questions asked of it.
type Case struct {
	Name      string
	About     string
	World     *World
	Questions []Question
}

// Corpus reads the corpus. Every file is one world whose answers were derived by
// hand from the contract; `why` says how.
func Corpus() ([]Case, error) {
	files, err := fs.Glob(corpus, "corpus/*.json")
	if err != nil {
		return nil, err
	}
	var cases []Case
	for _, name := range files {
		text, err := corpus.ReadFile(name)
		if err != nil {
			return nil, err
		}
		var f file
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&f); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		c, err := f.build()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		c.Name = name
		cases = append(cases, c)
	}
	return cases, nil
}

// file is the layout of a corpus file. What leaves its incarnation out is of
// incarnation 1, be it a definition or a reference to one.
type file struct {
	About       string `json:"about"`
	Permissions []struct {
		ID       rbac.PermissionID `json:"id"`
		Resource rbac.ResourceID   `json:"resource"`
		Action   rbac.ActionID     `json:"action"`
		Effect   rbac.Effect       `json:"effect"` // left out: allow
		state
	} `json:"permissions"`
	Roles []struct {
		ID          rbac.RoleID `json:"id"`
		Permissions []ref       `json:"permissions"`
		Inherits    []ref       `json:"inherits"`
		state
	} `json:"roles"`
	Mappings []struct {
		ID   rbac.MappingID `json:"id"`
		Role ref            `json:"role"`
		state
	} `json:"mappings"`
	Held      map[string][]assignment `json:"held"`
	Now       time.Time               `json:"now"`
	Questions []question              `json:"questions"`
}

type state struct {
	Incarnation rbac.Incarnation `json:"incarnation"`
	Deleted     bool             `json:"deleted"`
}

func (s state) build() rbac.State {
	return rbac.State{Incarnation: max(s.Incarnation, 1), Revision: 1, Deleted: s.Deleted}
}

// ref is written as an id, or as {"id", "incarnation"}.
type ref struct {
	ID          string           `json:"id"`
	Incarnation rbac.Incarnation `json:"incarnation"`
}

func (r *ref) UnmarshalJSON(b []byte) error {
	type full ref
	r.Incarnation = 1
	if b[0] == '"' {
		return json.Unmarshal(b, &r.ID)
	}
	return json.Unmarshal(b, (*full)(r))
}

type assignment struct {
	Role      ref        `json:"role"`
	ExpiresAt *time.Time `json:"expires_at"`
	Mapping   *ref       `json:"mapping"`
	Approval  string     `json:"approval"`
}

func (a assignment) build() (out rbac.Assignment, err error) {
	out.Source = rbac.Direct()
	switch {
	case a.Mapping != nil:
		out.Source = rbac.Source{Kind: rbac.SourceMapping, ID: a.Mapping.ID, Incarnation: a.Mapping.Incarnation}
	case a.Approval != "":
		out.Source = rbac.Source{Kind: rbac.SourceApproval, ID: a.Approval}
	}
	if a.ExpiresAt != nil {
		out.Expiry = rbac.ExpiresAt(*a.ExpiresAt)
	}
	out.Role, err = a.Role.role()
	return out, err
}

func (r ref) role() (rbac.RoleRef, error) {
	id, err := rbac.ParseRoleID(r.ID)
	return rbac.RoleRef{ID: id, Incarnation: r.Incarnation}, err
}

func (r ref) permission() (rbac.PermissionRef, error) {
	id, err := rbac.ParsePermissionID(r.ID)
	return rbac.PermissionRef{ID: id, Incarnation: r.Incarnation}, err
}

type question struct {
	Subject  string          `json:"subject"`
	Resource rbac.ResourceID `json:"resource"`
	Action   rbac.ActionID   `json:"action"`
	At       *time.Time      `json:"at"` // left out: the file's now
	Reason   rbac.Reason     `json:"reason"`
	Matched  []rbac.Match    `json:"matched"`
	Why      string          `json:"why"`
}

func (f *file) build() (Case, error) {
	c := Case{About: f.About, World: &World{Held: map[string][]rbac.Assignment{}}}
	for _, p := range f.Permissions {
		if p.Effect == "" {
			p.Effect = rbac.Allow
		}
		c.World.Permissions = append(c.World.Permissions, &rbac.Permission{
			ID: p.ID, Resource: p.Resource, Action: p.Action, Effect: p.Effect, State: p.build(),
		})
	}
	for _, r := range f.Roles {
		perms, err := each(r.Permissions, ref.permission)
		if err != nil {
			return c, err
		}
		inherits, err := each(r.Inherits, ref.role)
		if err != nil {
			return c, err
		}
		c.World.Roles = append(c.World.Roles, &rbac.Role{ID: r.ID, Permissions: perms, Inherits: inherits, State: r.build()})
	}
	for _, m := range f.Mappings {
		role, err := m.Role.role()
		if err != nil {
			return c, err
		}
		c.World.Mappings = append(c.World.Mappings, &rbac.Mapping{ID: m.ID, Role: role, State: m.build()})
	}
	for subject, held := range f.Held {
		assignments, err := each(held, assignment.build)
		if err != nil {
			return c, err
		}
		c.World.Held[subject] = assignments
	}
	for _, q := range f.Questions {
		at := f.Now
		if q.At != nil {
			at = *q.At
		}
		slices.SortFunc(q.Matched, rbac.CompareMatches)
		c.Questions = append(c.Questions, Question{
			Subject: q.Subject, Ask: rbac.Question{Resource: q.Resource, Action: q.Action},
			At: at, Reason: q.Reason, Matched: q.Matched, Why: q.Why,
		})
	}
	return c, nil
}

func each[A, B any](in []A, f func(A) (B, error)) ([]B, error) {
	out := make([]B, 0, len(in))
	for _, a := range in {
		b, err := f(a)
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}
