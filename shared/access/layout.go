// Package access is the access document: what one subject holds in one scope,
// and the grants that follow from it, in one binary layout that a check matches
// in place, without decoding and without allocating.
//
// # Layout
//
// All integers are little-endian. A header of 48 bytes, then the sections in
// this order, their sizes given by the counts in the header:
//
//	names        8 bytes each  sorted rbac.DefinitionID.Hash of all that was computed from
//	instants    12             distinct expiries of roles, sorted; seconds since 1970, nanoseconds
//	assignments 36             role, source, incarnations, exact expiry
//	reaches      6             role, parent reach, instant: how the subject comes to a role
//	cells       12             one (resource, action) pair: until when it is allowed and denied
//	buckets      2 (and one)   where each bucket's cells begin; as many buckets as cells
//	entries      4             the permissions of a cell, for explanations
//	org          1             the org's id
//	heap         1             texts: a byte of length less one, then the text; each text once
//
// Cells are sorted by bucket, the high bits of the pair's hash, so that a look-up
// reads two neighbouring numbers and then, on average, one cell. Nothing hashed
// is secret: who chooses ids whose hashes meet slows down the look-ups in
// documents of their own scope, by at most the cells that 64 KB hold.
//
// Documents never pass MaxBytes. One whose grants would keeps the assignments
// only, and is answered from them like a stale one.
package access

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sort"
	"time"

	"github.com/wardenhq/warden/shared/rbac"
)

// Format is the layout's version, the first byte of a document.
const Format = 1

// MaxBytes is the longest document.
const MaxBytes = 64 << 10

// Errors of reading. Test for them with errors.Is.
var (
	// ErrCorrupt: bytes that are no document, or not all of one.
	ErrCorrupt = errors.New("access: corrupt document")
	// ErrNoGrants: the document was too big to keep its grants.
	ErrNoGrants = errors.New("access: document without grants")
)

// FormatError says that a document has a layout this build doesn't know.
type FormatError struct{ Format byte }

func (e *FormatError) Error() string {
	return fmt.Sprintf("access: document of unknown format %d", e.Format)
}

const (
	flagGrants      = 1 << iota // grants and names are kept
	flagAnyResource             // there are cells (*, action)
	flagAnyAction               // (resource, *)
	flagAnyAny                  // (*, *)
)

// The header.
const (
	atFormat      = 0
	atFlags       = 1
	atOrg         = 2 // bytes
	atAssignments = 4 // counts
	atNames       = 6
	atInstants    = 8
	atReaches     = 10
	atCells       = 12
	atEntries     = 14
	atHeap        = 16 // bytes, 4 wide
	atUntilNanos  = 20 // 4 wide
	atIncarnation = 24
	atRevision    = 32
	atUntil       = 40 // seconds
	headerBytes   = 48
)

const (
	nameBytes       = 8
	instantBytes    = 12
	assignmentBytes = 36
	reachBytes      = 6
	cellBytes       = 12
	bucketBytes     = 2
	entryBytes      = 4
)

// none is no text, and no reach: no section gets that long within MaxBytes.
const none = math.MaxUint16

// View reads a document in place. It shares the bytes it was parsed from, which
// must not change while it is in use. Any number of goroutines may use it.
type View struct {
	flags       byte
	incarnation uint64
	revision    uint64
	until       instant // when the last assignment is over

	names, instants, assignments, reaches, cells, buckets, entries, org, heap []byte
}

// Parse checks the header and that the sections add up to the bytes. What is
// inside the sections is checked where it is read, so a damaged document is
// ErrCorrupt then, and never a panic. Errors: ErrCorrupt, *FormatError.
func Parse(b []byte) (View, error) {
	if len(b) < headerBytes {
		return View{}, ErrCorrupt
	}
	if b[atFormat] != Format {
		return View{}, &FormatError{Format: b[atFormat]}
	}
	cells := int(u16(b[atCells:]))
	buckets := 0
	if cells > 0 {
		buckets = cells + 1
	}
	v := View{
		flags:       b[atFlags],
		incarnation: u64(b[atIncarnation:]),
		revision:    u64(b[atRevision:]),
		until:       instant{int64(u64(b[atUntil:])), u32(b[atUntilNanos:])},
	}
	s := sections{rest: b[headerBytes:]}
	v.names = s.take(int(u16(b[atNames:])) * nameBytes)
	v.instants = s.take(int(u16(b[atInstants:])) * instantBytes)
	v.assignments = s.take(int(u16(b[atAssignments:])) * assignmentBytes)
	v.reaches = s.take(int(u16(b[atReaches:])) * reachBytes)
	v.cells = s.take(cells * cellBytes)
	v.buckets = s.take(buckets * bucketBytes)
	v.entries = s.take(int(u16(b[atEntries:])) * entryBytes)
	v.org = s.take(int(u16(b[atOrg:])))
	v.heap = s.take(int(u32(b[atHeap:])))
	if s.short || len(s.rest) > 0 {
		return View{}, ErrCorrupt
	}
	return v, nil
}

// sections cuts bytes into pieces.
type sections struct {
	rest  []byte
	short bool
}

func (s *sections) take(n int) []byte {
	if n > len(s.rest) {
		s.short = true
		return nil
	}
	piece := s.rest[:n:n]
	s.rest = s.rest[n:]
	return piece
}

// Of says whether the document belongs to that incarnation of a scope and to
// that org; one that does not answers like a missing one.
func (v *View) Of(org rbac.OrgID, incarnation uint64) bool {
	return v.incarnation == incarnation && string(v.org) == org.String()
}

// Incarnation is the scope's.
func (v *View) Incarnation() uint64 { return v.incarnation }

// Revision is the scope's revision at which the definitions were read.
func (v *View) Revision() rbac.Revision { return rbac.Revision(v.revision) }

// GrantsKept says whether the document can answer by itself; otherwise its
// assignments have to be resolved.
func (v *View) GrantsKept() bool { return v.flags&flagGrants != 0 }

// InForce says whether any assignment counts at the instant now.
func (v *View) InForce(now time.Time) bool { return instantOf(now).before(v.until) }

// Names says whether the document was computed from the definition of that
// rbac.DefinitionID.Hash. One that keeps no grants names everything.
func (v *View) Names(hash uint64) bool {
	if !v.GrantsKept() {
		return true
	}
	n := len(v.names) / nameBytes
	i := sort.Search(n, func(i int) bool { return u64(v.names[i*nameBytes:]) >= hash })
	return i < n && u64(v.names[i*nameBytes:]) == hash
}

// text is the text at an offset of the heap.
func (v *View) text(at uint16) ([]byte, bool) {
	if int(at) >= len(v.heap) {
		return nil, false
	}
	from := int(at) + 1
	to := from + int(v.heap[at]) + 1
	if to > len(v.heap) {
		return nil, false
	}
	return v.heap[from:to], true
}

func u16(b []byte) uint16 { return binary.LittleEndian.Uint16(b) }
func u32(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }
func u64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }
