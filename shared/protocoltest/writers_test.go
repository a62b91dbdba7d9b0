package protocoltest

import (
	"slices"
	"time"

	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/revision"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/write"
)

// references are the ids that a request names.
type references struct{ roles, permissions []string }

// missing says whether one of them is of nothing that lives.
func (r references) missing(d *definitions) bool {
	return slices.ContainsFunc(r.roles, func(id string) bool { e, there := d.roles[id]; return !there || e.Deleted }) ||
		slices.ContainsFunc(r.permissions, func(id string) bool { e, there := d.permissions[id]; return !there || e.Deleted })
}

// change makes one request and holds its outcome against what was committed.
// False when it was refused, or when nobody knows (503).
func (a *actor) change(what string, named references, do func(*write.Writer, *write.Request) (write.Outcome, error)) bool {
	s, w := a.sim, a.writer()
	req, floor := s.request(w), s.acked
	a.what = what
	a.log("%s asks to %s", req.RequestID, what)
	out, err := do(w, req)
	index, committed := s.history.byRequest[req.RequestID]
	switch code := fault.CodeOf(err); {
	case a.dead || code == fault.Busy:
		a.log("%s: not known", req.RequestID)
		return false
	case err != nil && committed:
		s.violation("%s was refused (%v) and had been committed", req.RequestID, err)
		return false
	case err != nil:
		switch code {
		case fault.Internal:
			s.violation("%s failed: %v", req.RequestID, err)
		case fault.UnknownReference:
			s.judgeUnknown(req.RequestID, named, floor)
		default: // other refusals show in what was committed, or was not
		}
		a.log("%s: refused: %v", req.RequestID, err)
		return false
	case out.Unchanged == committed:
		s.violation("%s was acknowledged (unchanged %v), committed: %v", req.RequestID, out.Unchanged, committed)
		return false
	}
	token, err := revision.Parse(out.Revision)
	if err != nil {
		s.violation("%s: revision %q: %v", req.RequestID, out.Revision, err)
		return false
	}
	s.tokens = append(s.tokens, token)
	if out.Unchanged {
		a.log("%s: unchanged", req.RequestID)
		return true
	}
	s.acked = max(s.acked, index)
	a.log("%s: acknowledged, commit %d, revision %d version %d", req.RequestID, index, token.Revision, token.Version)
	s.judgeOutcome(req.RequestID, out, token)
	return true
}

// judgeUnknown holds a refusal to a state since the request in which one of its
// references was to nothing.
func (s *sim) judgeUnknown(request string, named references, floor int) {
	for index := floor; index < len(s.history.commits); index++ {
		if named.missing(s.history.definitionsAt(index)) {
			return
		}
	}
	s.violation("%s was refused for a reference to nothing, of %v; all were there from commit %d on", request, named, floor)
}

// judgeOutcome holds an acknowledged change to what it committed: the item it
// shows and the revision it proves.
func (s *sim) judgeOutcome(request string, out write.Outcome, token revision.Token) {
	for _, it := range s.history.items[request] {
		switch kindOf(it.Key) {
		case "ACCESS":
			if token.Version != it.Version {
				s.violation("%s: the answer proves document version %d, committed was %d", request, token.Version, it.Version)
			}
		case "HEAD":
			if s.mutant != nil && s.mutant.rebases {
				continue
			}
			at := s.history.definitionsAt(s.history.byRequest[request])
			if token.Revision != at.revision {
				s.violation("%s: the answer proves revision %d, committed was %d", request, token.Revision, at.revision)
			}
		}
		if out.Item != nil && out.Item.Key == it.Key && table.VersionOf(out.Item) != it.Version {
			s.violation("%s: the answer shows version %d, committed was %d", request, out.Item.Version, it.Version)
		}
	}
}

func (s *sim) policyWriter(count int) func(*actor) {
	return func(a *actor) {
		r := a.rnd
		for range count {
			u, grant := subjectID(pick(r, s.subjects...)), write.Grant{Role: roleID(pick(r, s.roles...))}
			if s.newborn || chance(r, 0.05) {
				grant.Role = roleID(pick(r, newborn...))
			}
			if chance(r, 0.15) {
				grant.Expiry = rbac.ExpiresAt(s.now().Add(pick(r, 500*time.Millisecond, 3*time.Second, 100*time.Second)))
			}
			switch pick(r, "assign", "assign", "assign", "put", "revoke", "delete") {
			case "assign":
				a.assign(u, grant)
			case "put":
				a.put(u, grant, some(r, s.roles))
			case "revoke":
				a.revoke(u, grant.Role)
			case "delete":
				a.change("delete the policy of "+u.String(), references{}, func(w *write.Writer, req *write.Request) (write.Outcome, error) {
					return w.DeletePolicy(s.ctx, req, s.scope, u, nil)
				})
			}
			if a.dead {
				return
			}
		}
	}
}

func (a *actor) assign(u rbac.SubjectID, g write.Grant) bool {
	return a.change("assign "+g.Role.String()+" to "+u.String(), references{roles: []string{g.Role.String()}}, func(w *write.Writer, req *write.Request) (write.Outcome, error) {
		return w.AssignRole(a.sim.ctx, req, a.sim.scope, u, g, nil)
	})
}

func (a *actor) put(u rbac.SubjectID, g write.Grant, more []string) bool {
	grants, roles := []write.Grant{g}, []string{g.Role.String()}
	for _, id := range more {
		if roleID(id) != g.Role {
			grants, roles = append(grants, write.Grant{Role: roleID(id)}), append(roles, id)
		}
	}
	return a.change("put the policy of "+u.String(), references{roles: roles}, func(w *write.Writer, req *write.Request) (write.Outcome, error) {
		return w.PutPolicy(a.sim.ctx, req, a.sim.scope, u, grants, nil)
	})
}

func (a *actor) revoke(u rbac.SubjectID, r rbac.RoleID) bool {
	return a.change("revoke "+r.String()+" from "+u.String(), references{}, func(w *write.Writer, req *write.Request) (write.Outcome, error) {
		return w.RevokeRole(a.sim.ctx, req, a.sim.scope, u, r, nil)
	})
}

// newborn are roles that no world begins with.
var newborn = []string{"r5", "r6"}

func (s *sim) definitionWriter(count int) func(*actor) {
	return func(a *actor) {
		r := a.rnd
		for range count {
			id, p := pick(r, s.roles...), pick(r, s.permissions...)
			others := slices.DeleteFunc(slices.Clone(s.roles), func(o string) bool { return o == id })
			kind := pick(r, "perms", "perms", "perms", "inherits", "inherits", "effect", "reborn", "reborn permission", "new")
			if s.newborn {
				kind = "new"
			}
			switch kind {
			case "perms":
				_, inherits := s.roleNow(id)
				a.putRole(id, some(r, s.permissions), inherits)
			case "inherits":
				perms, _ := s.roleNow(id)
				a.putRole(id, perms, some(r, others))
			case "effect":
				a.putPermission(p)
			case "new":
				a.putRole(pick(r, newborn...), some(r, s.permissions), some(r, s.roles))
			case "reborn":
				a.rebornRole(id)
			case "reborn permission":
				a.rebornPermission(p)
			}
			if a.dead {
				return
			}
		}
	}
}

// roleNow is what a role has as the newest commit left it.
func (s *sim) roleNow(id string) (permissions, inherits []string) {
	e := s.history.now().roles[id]
	for _, p := range e.Permissions {
		permissions = append(permissions, p.ID.String())
	}
	for _, i := range e.Inherits {
		inherits = append(inherits, i.ID.String())
	}
	return permissions, inherits
}

func (a *actor) putRole(id string, permissions, inherits []string) bool {
	return a.change("put role "+id, references{inherits, permissions}, func(w *write.Writer, req *write.Request) (write.Outcome, error) {
		return w.PutRole(a.sim.ctx, req, a.sim.scope, role(id, permissions, inherits), nil)
	})
}

func (a *actor) putPermission(id string) bool {
	want := a.sim.permission(id, pick(a.rnd, rbac.Allow, rbac.Deny))
	return a.change("put permission "+id, references{}, func(w *write.Writer, req *write.Request) (write.Outcome, error) {
		return w.PutPermission(a.sim.ctx, req, a.sim.scope, want, nil)
	})
}

func (a *actor) deleteRole(id string) bool {
	return a.change("delete role "+id, references{}, func(w *write.Writer, req *write.Request) (write.Outcome, error) {
		return w.DeleteRole(a.sim.ctx, req, a.sim.scope, roleID(id), nil)
	})
}

// rebornRole deletes a role, mostly after it took it from its holders and heirs, and makes it again.
func (a *actor) rebornRole(id string) {
	s := a.sim
	if chance(a.rnd, 0.7) {
		for _, u := range s.subjects {
			held := s.history.heldAt(u, len(s.history.commits))
			if slices.ContainsFunc(held.assignments, func(x entity.Assignment) bool { return x.Role == roleID(id) }) && !a.dead {
				a.revoke(subjectID(u), roleID(id))
			}
		}
		for _, heir := range byName(s.history.now().roles) {
			if perms, inherits := s.roleNow(heir); slices.Contains(inherits, id) && !s.history.now().roles[heir].Deleted && !a.dead {
				a.putRole(heir, perms, slices.DeleteFunc(inherits, func(i string) bool { return i == id }))
			}
		}
	}
	if a.dead {
		return
	}
	a.deleteRole(id)
	if !a.dead {
		a.putRole(id, some(a.rnd, s.permissions), nil)
	}
}

func (a *actor) rebornPermission(id string) {
	s := a.sim
	if chance(a.rnd, 0.7) {
		for _, r := range byName(s.history.now().roles) {
			if perms, inherits := s.roleNow(r); slices.Contains(perms, id) && !s.history.now().roles[r].Deleted && !a.dead {
				a.putRole(r, slices.DeleteFunc(perms, func(p string) bool { return p == id }), inherits)
			}
		}
	}
	if a.dead {
		return
	}
	a.change("delete permission "+id, references{}, func(w *write.Writer, req *write.Request) (write.Outcome, error) {
		return w.DeletePermission(s.ctx, req, s.scope, permissionID(id), nil)
	})
	if !a.dead {
		a.putPermission(id)
	}
}

// scopeDeleter deletes the scope with all that is in it.
func (s *sim) scopeDeleter(a *actor) {
	if a.pause(stop{kind: callSleep, sleep: time.Duration(a.rnd.IntN(20)) * time.Second}) != nil {
		return
	}
	a.change("delete the scope", references{}, func(w *write.Writer, req *write.Request) (write.Outcome, error) {
		return w.DeleteScope(s.ctx, req, s.scope, nil, true)
	})
}
