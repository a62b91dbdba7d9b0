package access

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/wardenhq/warden/shared/rbac"
)

// grantCell is a cell in the making.
type grantCell struct {
	resource, action string
	hash             uint64
	allow, deny      instant // the latest expiries; notEver without such a grant
	entries          []grantEntry
}

type grantEntry struct {
	permission string
	reach      uint16
	deny       bool
}

// putGrants adds names, grants and what explains them; false when they pass the
// free bytes. It looks at no more than could fit.
func (e *encoder) putGrants(r *rbac.Resolution) bool {
	e.flags |= flagGrants
	e.free -= len(r.Names)*nameBytes + len(r.Roles)*reachBytes + len(r.Grants)*entryBytes
	if e.free < 0 {
		return false
	}
	e.putNames(r.Names)
	instants := e.putInstants(r.Roles)
	reaches := e.putReaches(r.Roles, instants)
	cells := collect(r.Grants, reaches)
	e.free -= len(cells) * (cellBytes + bucketBytes)
	if len(cells) > 0 {
		e.free -= bucketBytes
	}
	for i := range cells {
		if e.free < 0 {
			return false
		}
		e.putCell(&cells[i], instants)
	}
	e.putBuckets(cells)
	return e.free >= 0
}

func (e *encoder) putNames(names []rbac.DefinitionID) {
	hashes := make([]uint64, len(names))
	for i, d := range names {
		hashes[i] = d.Hash()
	}
	slices.Sort(hashes)
	for _, h := range hashes {
		e.names = binary.LittleEndian.AppendUint64(e.names, h)
	}
}

// putInstants returns the number of each instant, from 1 on.
func (e *encoder) putInstants(roles []*rbac.Reach) map[instant]uint16 {
	instants := make([]instant, len(roles))
	for i, r := range roles {
		instants[i] = endOf(r.Expiry())
	}
	slices.SortFunc(instants, instant.compare)
	numbers := map[instant]uint16{}
	for i, at := range slices.Compact(instants) {
		numbers[at] = uint16(i + 1)
		e.instants = binary.LittleEndian.AppendUint64(e.instants, uint64(at.seconds))
		e.instants = binary.LittleEndian.AppendUint32(e.instants, at.nanos)
	}
	e.free -= len(e.instants)
	return numbers
}

// putReaches returns the number of each reach. Parents come before their heirs.
func (e *encoder) putReaches(roles []*rbac.Reach, instants map[instant]uint16) map[*rbac.Reach]uint16 {
	numbers := make(map[*rbac.Reach]uint16, len(roles))
	for i, r := range roles {
		numbers[r] = uint16(i)
		parent, inherited := numbers[r.Parent()]
		if !inherited {
			parent = none
		}
		e.reaches = binary.LittleEndian.AppendUint16(e.reaches, e.text(r.Role().String()))
		e.reaches = binary.LittleEndian.AppendUint16(e.reaches, parent)
		e.reaches = binary.LittleEndian.AppendUint16(e.reaches, instants[endOf(r.Expiry())])
	}
	return numbers
}

// collect brings the grants of each pair together, in the order of the layout.
func collect(grants []rbac.Grant, reaches map[*rbac.Reach]uint16) []grantCell {
	type pair struct{ resource, action string }
	index := make(map[pair]int, len(grants))
	cells := make([]grantCell, 0, len(grants))
	for _, g := range grants {
		p := pair{g.Permission.Resource.String(), g.Permission.Action.String()}
		i, there := index[p]
		if !there {
			i = len(cells)
			index[p] = i
			cells = append(cells, grantCell{
				resource: p.resource, action: p.action, allow: notEver, deny: notEver,
				hash: pairHash(xxhash.Sum64String(p.resource), xxhash.Sum64String(p.action)),
			})
		}
		c := &cells[i]
		entry := grantEntry{permission: g.Permission.ID.String(), reach: reaches[g.Reach], deny: g.Permission.Effect != rbac.Allow}
		if entry.permission == usualID(p.resource, p.action) {
			entry.permission = ""
		}
		c.entries = append(c.entries, entry)
		until := endOf(g.Reach.Expiry())
		if entry.deny {
			c.deny = later(c.deny, until)
		} else {
			c.allow = later(c.allow, until)
		}
	}
	slices.SortFunc(cells, func(a, b grantCell) int {
		return cmp.Or(
			cmp.Compare(bucket(a.hash, len(cells)), bucket(b.hash, len(cells))),
			cmp.Compare(a.resource, b.resource),
			cmp.Compare(a.action, b.action),
		)
	})
	return cells
}

func (e *encoder) putCell(c *grantCell, instants map[instant]uint16) {
	var b [cellBytes]byte
	put16(b[cellMark:], uint16(c.hash))
	put16(b[cellResource:], e.text(c.resource))
	put16(b[cellAction:], e.text(c.action))
	if c.allow != notEver {
		put16(b[cellAllow:], instants[c.allow])
	}
	if c.deny != notEver {
		put16(b[cellDeny:], instants[c.deny])
	}
	put16(b[cellEntries:], uint16(len(e.entries)/entryBytes))
	e.cells = append(e.cells, b[:]...)
	for _, entry := range c.entries {
		permission, reach := uint16(none), entry.reach
		if entry.permission != "" {
			permission = e.text(entry.permission)
		}
		if entry.deny {
			reach |= entryDeny
		}
		e.entries = binary.LittleEndian.AppendUint16(e.entries, permission)
		e.entries = binary.LittleEndian.AppendUint16(e.entries, reach)
	}
	switch {
	case c.resource == rbac.Wildcard && c.action == rbac.Wildcard:
		e.flags |= flagAnyAny
	case c.resource == rbac.Wildcard:
		e.flags |= flagAnyResource
	case c.action == rbac.Wildcard:
		e.flags |= flagAnyAction
	}
}

// putBuckets writes where each bucket's cells begin, and the end of the last.
func (e *encoder) putBuckets(cells []grantCell) {
	next := 0
	for b := range len(cells) {
		e.buckets = binary.LittleEndian.AppendUint16(e.buckets, uint16(next))
		for next < len(cells) && bucket(cells[next].hash, len(cells)) == b {
			next++
		}
	}
	if len(cells) > 0 {
		e.buckets = binary.LittleEndian.AppendUint16(e.buckets, uint16(next))
	}
}
