package protocoltest

import (
	"cmp"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/wardenhq/warden/shared/access"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/head"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
)

// defined is a definition write, as its transaction shows it.
type defined struct {
	id    rbac.DefinitionID
	state rbac.State
	head  *table.Item
	item  *table.Item
}

func definedBy(tx table.Tx) (d defined, ok bool) {
	hd, isHead := find(tx, "HEAD")
	def, isDefinition := find(tx, "PERMISSION", "ROLE")
	if !isHead || !isDefinition {
		return d, false
	}
	d.head, d.item = hd.Item, def.Item
	if kindOf(def.Key) == "ROLE" {
		e := must(stored.Decode[entity.Role](def.Item))
		d.id, d.state = rbac.OfRole(e.ID), e.State
	} else {
		e := must(stored.Decode[entity.Permission](def.Item))
		d.id, d.state = rbac.OfPermission(e.ID), e.State
	}
	return d, true
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// withHead edits the HEAD that is written.
func (d defined) withHead(tx table.Tx, edit func(*head.Head)) table.Tx {
	h := must(head.Decode(d.head))
	edit(h)
	it := *d.head
	it.Version, it.Blob = h.Version, h.Encode()
	return each(tx, "HEAD", func(op table.Op) table.Op { op.Item = &it; return op })
}

// rebase puts the write on another HEAD than it was validated on.
func (d defined) rebase(tx table.Tx, on *head.Head, c table.Condition, now time.Time) table.Tx {
	meant := must(head.Decode(d.head))
	next := on.Raised(d.id, meant.ChangedSince(d.id.Hash(), meant.Revision-1), now)
	state := d.state
	created := uint64(state.Incarnation) == uint64(state.Revision)
	by := 0
	switch {
	case created:
		by, state.Incarnation = 1, rbac.Incarnation(next.Revision)
	case state.Deleted:
		by = -1
	}
	state.Revision = next.Revision
	def := *d.item
	if d.id.Kind() == rbac.KindRole {
		next.Roles += by
		e := must(stored.Decode[entity.Role](d.item))
		e.State = state
		def.Body = must(json.Marshal(e))
	} else {
		next.Permissions += by
		e := must(stored.Decode[entity.Permission](d.item))
		e.State = state
		def.Body = must(json.Marshal(e))
	}
	tx = d.withHead(tx, func(h *head.Head) { *h = next })
	tx = each(tx, "HEAD", func(op table.Op) table.Op { op.If = c; return op })
	return each(tx, kindOf(def.Key), func(op table.Op) table.Op { op.Item = &def; return op })
}

func sortFlux(h *head.Head) {
	slices.SortFunc(h.Flux, func(a, b head.Entry) int { return cmp.Compare(a.Name, b.Name) })
}

// named is one definition that a document names.
type named struct {
	id     rbac.DefinitionID
	role   *rbac.Role // nil: a permission, or none
	direct bool       // assigned, not only inherited
}

// naming leaves names out of the documents that are written.
func naming(keep func(named) bool) func(port) table.Store {
	return func(p port) table.Store {
		p.atOnce = func(p *port, tx table.Tx) table.Tx {
			return each(tx, "ACCESS", func(op table.Op) table.Op {
				if op.Item != nil {
					op.Item = p.a.sim.renamed(op.Item, keep)
				}
				return op
			})
		}
		return p
	}
}

// renamed is the document with fewer names.
func (s *sim) renamed(it *table.Item, keep func(named) bool) *table.Item {
	v := must(access.Parse(it.Blob))
	as := must(v.Assignments())
	at := s.history.at(v.Revision())
	res := rbac.Resolve(as, at.known())
	res.Missing = nil
	res.Names = slices.DeleteFunc(res.Names, func(id rbac.DefinitionID) bool {
		n := named{id: id}
		if r, ok := id.Role(); ok {
			if e, there := at.roles[r.String()]; there {
				n.role = &e.Role
			}
			n.direct = slices.ContainsFunc(as, func(a rbac.Assignment) bool { return a.Role.ID == r })
		}
		return !keep(n)
	})
	other := *it
	other.Blob = must(access.Encode(access.Header{Org: s.scope.Org, Incarnation: v.Incarnation(), Revision: v.Revision()}, res))
	return &other
}

// known are all the definitions, as the domain takes them.
func (d *definitions) known() *rbac.Definitions {
	known := new(rbac.Definitions)
	for id, p := range d.permissions {
		known.PutPermission(permissionID(id), &p.Permission)
	}
	for id, r := range d.roles {
		known.PutRole(roleID(id), &r.Role)
	}
	return known
}
