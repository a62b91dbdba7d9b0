package snapshot

import (
	"container/list"
	"sync"

	"github.com/wardenhq/warden/shared/head"
	"github.com/wardenhq/warden/shared/rbac"
)

// Cache keeps definitions by (scope, revision). At one revision they never
// change, so nothing in it goes stale; what it holds is bounded by a number of
// definitions, the scope used longest ago leaves first. Safe for concurrent use.
type Cache struct {
	mu     sync.Mutex
	limit  int
	size   int
	scopes map[rbac.ScopeID]*list.Element
	recent list.List // of *cached, most recent first
}

type cached struct {
	scope       rbac.ScopeID
	incarnation uint64
	revision    rbac.Revision
	definitions map[rbac.DefinitionID]definition
}

// entryOf is the entry of an element of the list, which holds nothing else.
func entryOf(el *list.Element) *cached {
	e, _ := el.Value.(*cached)
	return e
}

// definition is what was read under one id: one of the three, or none when absent.
type definition struct {
	permission *rbac.Permission
	role       *rbac.Role
	mapping    *rbac.Mapping
}

func (d definition) absent() bool { return d == definition{} }

// NewCache makes a cache of at most limit definitions.
func NewCache(limit int) *Cache {
	return &Cache{limit: limit, scopes: make(map[rbac.ScopeID]*list.Element)}
}

// fill puts those of the ids that the cache has at HEAD's revision into defs,
// and returns the others.
func (c *Cache) fill(scope rbac.ScopeID, h *head.Head, ids []rbac.DefinitionID, defs *rbac.Definitions) []rbac.DefinitionID {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.at(scope, h)
	if e == nil {
		return ids
	}
	var missing []rbac.DefinitionID
	for _, id := range ids {
		if d, ok := e.definitions[id]; ok {
			put(defs, id, d)
		} else {
			missing = append(missing, id)
		}
	}
	return missing
}

// likely returns those of the ids that the cache lacks at whatever revision it
// has: what to ask for together with HEAD, before HEAD's revision is known.
func (c *Cache) likely(scope rbac.ScopeID, ids []rbac.DefinitionID) []rbac.DefinitionID {
	c.mu.Lock()
	defer c.mu.Unlock()
	el := c.scopes[scope]
	if el == nil {
		return ids
	}
	var missing []rbac.DefinitionID
	for _, id := range ids {
		if _, ok := entryOf(el).definitions[id]; !ok {
			missing = append(missing, id)
		}
	}
	return missing
}

// add keeps definitions that were read in one snapshot with HEAD.
func (c *Cache) add(scope rbac.ScopeID, h *head.Head, ids []rbac.DefinitionID, got []definition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.at(scope, h)
	if e == nil {
		if el := c.scopes[scope]; el != nil {
			if entryOf(el).incarnation == h.Incarnation {
				return // an older revision than what is kept
			}
			c.drop(el)
		}
		e = &cached{scope: scope, incarnation: h.Incarnation, revision: h.Revision, definitions: make(map[rbac.DefinitionID]definition)}
		c.scopes[scope] = c.recent.PushFront(e)
	}
	for i, id := range ids {
		if _, ok := e.definitions[id]; !ok {
			c.size++
		}
		e.definitions[id] = got[i]
	}
	for c.size > c.limit && c.recent.Len() > 0 {
		c.drop(c.recent.Back())
	}
}

// at is the scope's entry at HEAD's revision, carried forward from an older one
// where flux tells what changed since. nil: there is none.
func (c *Cache) at(scope rbac.ScopeID, h *head.Head) *cached {
	el := c.scopes[scope]
	if el == nil {
		return nil
	}
	e := entryOf(el)
	if e.incarnation != h.Incarnation || e.revision > h.Revision {
		return nil
	}
	c.recent.MoveToFront(el)
	if e.revision == h.Revision {
		return e
	}
	// Below floor, flux may have forgotten a change. And an id that was absent may
	// have come to be without an entry: it was never used before.
	forgotten := e.revision < h.Floor
	for id, d := range e.definitions {
		if forgotten || d.absent() || h.ChangedSince(id.Hash(), e.revision) {
			delete(e.definitions, id)
			c.size--
		}
	}
	e.revision = h.Revision
	return e
}

func (c *Cache) drop(el *list.Element) {
	e := entryOf(el)
	c.recent.Remove(el)
	delete(c.scopes, e.scope)
	c.size -= len(e.definitions)
}

func put(defs *rbac.Definitions, id rbac.DefinitionID, d definition) {
	if p, ok := id.Permission(); ok {
		defs.PutPermission(p, d.permission)
	} else if r, ok := id.Role(); ok {
		defs.PutRole(r, d.role)
	} else if m, ok := id.Mapping(); ok {
		defs.PutMapping(m, d.mapping)
	}
}
