// Package head is a scope's HEAD: the one item that orders its definition
// writes and tells which documents they made stale (design rules 1, 3 and 7).
package head

import (
	"slices"
	"time"

	"github.com/wardenhq/warden/shared/rbac"
)

// MaxFlux is how many entries flux holds; beyond, they collapse into one that
// names every definition. With the longest ids HEAD stays below 4 KB.
const MaxFlux = 200

// Entry says that a definition changed at a revision, and not all documents
// that were computed from it have caught up.
type Entry struct {
	Name     uint64        // rbac.DefinitionID.Hash
	Revision rbac.Revision // the write's
	Since    time.Time     // of the write, whole seconds
}

// Head is a scope's HEAD. The zero value is none.
type Head struct {
	Org         rbac.OrgID
	Incarnation uint64            // of the scope: a new one each time its id is taken
	Revision    rbac.Revision     // raised by every definition write
	Last        rbac.DefinitionID // the definition that the newest write wrote
	Flux        []Entry           // ordered by name
	All         Entry             // the collapsed entry: every older document is stale; revision 0: none
	Floor       rbac.Revision     // the highest revision whose entry has left flux
	Permissions int               // how many live ones the scope has
	Roles       int
	Deleted     bool // every check denies; contents are purged after
	Purged      bool // they are: the id is free again, for its own org

	Version uint64 // of the item; not part of the layout
}

// Raised is HEAD after a definition write: the next revision, and an entry for
// the definition unless its id was never used before.
func (h Head) Raised(d rbac.DefinitionID, entry bool, now time.Time) Head {
	h.Revision++
	h.Last = d
	h.Version++
	if !entry {
		return h
	}
	e := Entry{Name: d.Hash(), Revision: h.Revision, Since: now.UTC().Truncate(time.Second)}
	flux := slices.Clone(h.Flux)
	at, found := h.find(e.Name)
	if found {
		flux[at] = e
	} else {
		flux = slices.Insert(flux, at, e)
	}
	if len(flux) > MaxFlux {
		e.Name, flux = 0, nil
		h.All = e
	}
	h.Flux = flux
	return h
}

func (h Head) find(name uint64) (int, bool) {
	return slices.BinarySearchFunc(h.Flux, name, func(e Entry, n uint64) int {
		switch {
		case e.Name < n:
			return -1
		case e.Name > n:
			return 1
		}
		return 0
	})
}

// ChangedSince says whether the definition may have changed after the revision,
// so far as flux can tell; ask only for revisions from Floor on.
func (h *Head) ChangedSince(name uint64, r rbac.Revision) bool {
	if h.All.Revision > r {
		return true
	}
	i, found := h.find(name)
	return found && h.Flux[i].Revision > r
}

// Named is what a document was computed from.
type Named interface {
	Revision() rbac.Revision
	Names(hash uint64) bool
}

// Stale says whether the document names a definition that changed after it was
// computed (rule 3): its grants must not be used.
func (h *Head) Stale(doc Named) bool {
	r := doc.Revision()
	if h.All.Revision > r {
		return true
	}
	for i := range h.Flux {
		if h.Flux[i].Revision > r && doc.Names(h.Flux[i].Name) {
			return true
		}
	}
	return false
}

// Pending is the number of changes whose documents have not all caught up.
func (h *Head) Pending() int {
	n := len(h.Flux)
	if h.All.Revision > 0 {
		n++
	}
	return n
}
