package rbactest

import (
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/wardenhq/warden/shared/rbac"
)

// Now is the instant that drawn expiries lie around.
var Now = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// Subject is who holds the assignments of a drawn world.
const Subject = "alice"

// names are few, so that they meet, and hostile: wildcards that are none,
// delimiters, normal forms, one that is as long as ids get.
var names = []string{
	"*", "**", "inv*", "a", "A", "b", "a:b", "b:c", "c", ":", "café", "cafe\u0301",
	"#", "%", "%2F", " ", "a ", "\u200b", "日本", strings.Repeat("é", rbac.MaxID/2),
}

func drawName(t *rapid.T, label string) string { return rapid.SampledFrom(names).Draw(t, label) }

// DrawWorld draws a world in which Subject holds assignments: roles that inherit
// in diamonds and in cycles, tombstones, references to incarnations of before,
// to what never was, and expiries at and around Now.
func DrawWorld(t *rapid.T) *World {
	w := &World{Held: map[string][]rbac.Assignment{}}
	for _, name := range drawIDs(t, "permission") {
		p := &rbac.Permission{
			ID:       rbac.Must(rbac.ParsePermissionID(name)),
			Resource: rbac.Must(rbac.ParseResourceID(drawName(t, "resource"))),
			Action:   rbac.Must(rbac.ParseActionID(drawName(t, "action"))),
			Effect:   rapid.SampledFrom([]rbac.Effect{rbac.Allow, rbac.Allow, rbac.Deny}).Draw(t, "effect"),
			State:    drawState(t),
		}
		if rapid.Bool().Draw(t, "usual id") {
			usual, err := rbac.ParsePermissionID(p.Resource.String() + ":" + p.Action.String())
			if err == nil && !w.hasPermission(usual) {
				p.ID = usual
			}
		}
		if !w.hasPermission(p.ID) {
			w.Permissions = append(w.Permissions, p)
		}
	}
	for _, name := range drawIDs(t, "role") {
		w.Roles = append(w.Roles, &rbac.Role{ID: rbac.Must(rbac.ParseRoleID(name)), State: drawState(t)})
	}
	for _, name := range drawIDs(t, "mapping") {
		w.Mappings = append(w.Mappings, &rbac.Mapping{ID: rbac.Must(rbac.ParseMappingID(name)), State: drawState(t)})
	}
	for _, r := range w.Roles {
		r.Permissions = drawRefs(t, "permissions", w.drawPermission)
		r.Inherits = drawRefs(t, "inherits", w.drawRole)
	}
	for range rapid.IntRange(0, 5).Draw(t, "assignments") {
		w.Held[Subject] = append(w.Held[Subject], rbac.Assignment{
			Role: w.drawRole(t), Source: w.drawSource(t), Expiry: drawExpiry(t),
		})
	}
	return w
}

func (w *World) hasPermission(id rbac.PermissionID) bool {
	for _, p := range w.Permissions {
		if p.ID == id {
			return true
		}
	}
	return false
}

func drawIDs(t *rapid.T, label string) []string {
	n := rapid.IntRange(0, 8).Draw(t, label+"s")
	return rapid.Permutation(names).Draw(t, label)[:n]
}

func drawState(t *rapid.T) rbac.State {
	return rbac.State{
		Incarnation: rbac.Incarnation(rapid.IntRange(1, 2).Draw(t, "incarnation")),
		Deleted:     rapid.IntRange(0, 9).Draw(t, "deleted") == 0,
	}
}

// drawn is the incarnation that a reference names: mostly the one that stands there.
func drawn(t *rapid.T, stands rbac.Incarnation) rbac.Incarnation {
	if rapid.IntRange(0, 7).Draw(t, "other incarnation") == 0 {
		return 3 - stands
	}
	return stands
}

func drawRefs[R comparable](t *rapid.T, label string, one func(*rapid.T) R) []R {
	return rapid.SliceOfNDistinct(rapid.Custom(one), 0, 5, rapid.ID[R]).Draw(t, label)
}

func (w *World) drawPermission(t *rapid.T) rbac.PermissionRef {
	if rapid.IntRange(0, 9).Draw(t, "never was") == 0 || len(w.Permissions) == 0 {
		return rbac.PermissionRef{ID: rbac.Must(rbac.ParsePermissionID("never")), Incarnation: 1}
	}
	p := rapid.SampledFrom(w.Permissions).Draw(t, "permission")
	return rbac.PermissionRef{ID: p.ID, Incarnation: drawn(t, p.Incarnation)}
}

func (w *World) drawRole(t *rapid.T) rbac.RoleRef {
	if rapid.IntRange(0, 9).Draw(t, "never was") == 0 || len(w.Roles) == 0 {
		return rbac.RoleRef{ID: rbac.Must(rbac.ParseRoleID("never")), Incarnation: 1}
	}
	r := rapid.SampledFrom(w.Roles).Draw(t, "role")
	return rbac.RoleRef{ID: r.ID, Incarnation: drawn(t, r.Incarnation)}
}

func (w *World) drawSource(t *rapid.T) rbac.Source {
	switch rapid.IntRange(0, 4).Draw(t, "source") {
	case 0:
		return rbac.Source{Kind: rbac.SourceApproval, ID: drawName(t, "approval")}
	case 1, 2:
		if len(w.Mappings) == 0 {
			return rbac.Source{Kind: rbac.SourceMapping, ID: "never", Incarnation: 1}
		}
		m := rapid.SampledFrom(w.Mappings).Draw(t, "mapping")
		return rbac.Source{Kind: rbac.SourceMapping, ID: m.ID.String(), Incarnation: drawn(t, m.Incarnation)}
	}
	return rbac.Direct()
}

func drawExpiry(t *rapid.T) rbac.Expiry {
	switch rapid.IntRange(0, 4).Draw(t, "expiry") {
	case 0:
		at := rapid.SampledFrom([]time.Time{
			{}, time.Date(1600, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC),
		})
		return rbac.ExpiresAt(at.Draw(t, "far away"))
	case 1, 2:
		return rbac.ExpiresAt(DrawInstant(t))
	}
	return rbac.Expiry{}
}

// DrawInstant draws an instant at or around Now, or one that 64 bits of
// nanoseconds can't count.
func DrawInstant(t *rapid.T) time.Time {
	from := rapid.SampledFrom([]time.Time{Now, Now, Now, lateNow}).Draw(t, "near")
	off := rapid.SampledFrom([]time.Duration{-time.Hour, -time.Second, -1, 0, 1, time.Second, time.Hour})
	return from.Add(off.Draw(t, "from there"))
}

var lateNow = time.Date(2999, 6, 1, 0, 0, 0, 0, time.UTC)

// DrawQuestion draws a question: mostly one that a permission of the world speaks
// about, else of the names that worlds are made of.
func (w *World) DrawQuestion(t *rapid.T) rbac.Question {
	q := rbac.Question{
		Resource: rbac.Must(rbac.ParseResourceID(drawName(t, "asked resource"))),
		Action:   rbac.Must(rbac.ParseActionID(drawName(t, "asked action"))),
	}
	if len(w.Permissions) == 0 || rapid.IntRange(0, 5).Draw(t, "of any name") == 0 {
		return q
	}
	p := rapid.SampledFrom(w.Permissions).Draw(t, "asked permission")
	if p.Resource.String() != rbac.Wildcard {
		q.Resource = p.Resource
	}
	if p.Action.String() != rbac.Wildcard {
		q.Action = p.Action
	}
	return q
}
