package access

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/wardenhq/warden/shared/rbac"
)

// Header is what a document says about itself.
type Header struct {
	Org         rbac.OrgID
	Incarnation uint64        // of the scope
	Revision    rbac.Revision // of the scope, at which the definitions were read
}

// Errors of Encode.
var (
	// ErrIncomplete: the resolution has missing definitions.
	ErrIncomplete = errors.New("access: resolution is incomplete")
	// ErrTooManyAssignments: the assignments alone pass MaxBytes.
	ErrTooManyAssignments = errors.New("access: assignments pass the size of a document")
	// ErrInvalid: an id that is not set, or something that no document can say.
	ErrInvalid = errors.New("access: invalid content")
)

// Encode makes a document of a resolution: the same content gives the same
// bytes. A resolution without assignments gives the tombstone of a deleted
// policy. When the document would pass MaxBytes it is made without grants and
// names. Errors: ErrIncomplete, ErrTooManyAssignments, ErrInvalid.
func Encode(h Header, r *rbac.Resolution) ([]byte, error) {
	if len(r.Missing) > 0 {
		return nil, ErrIncomplete
	}
	if h.Org.IsZero() {
		return nil, fmt.Errorf("%w: no org", ErrInvalid)
	}
	e := encoder{texts: map[string]uint16{}, free: MaxBytes - headerBytes - len(h.Org.String())}
	if err := e.putAssignments(r.Assignments); err != nil {
		return nil, err
	}
	bare := e // sections only grow, so what it shares with e stays as it is
	kept := e.putGrants(r)
	switch {
	case e.invalid:
		return nil, fmt.Errorf("%w: an id that is not set", ErrInvalid)
	case kept:
		return e.document(h, r.Assignments), nil
	}
	return bare.document(h, r.Assignments), nil
}

// encoder holds the sections as they grow, and the bytes that are still free.
type encoder struct {
	flags   byte
	texts   map[string]uint16 // where in the heap
	free    int
	invalid bool // a text that no id is

	names, instants, assignments, reaches, cells, buckets, entries, heap []byte
}

// text is the place of a text of 1 to 256 bytes in the heap.
func (e *encoder) text(s string) uint16 {
	if s == "" || len(s) > rbac.MaxLongID {
		e.invalid = true
	}
	if at, there := e.texts[s]; there {
		return at
	}
	at := uint16(len(e.heap)) // the heap fits into MaxBytes, so `none` is out of reach
	e.texts[s] = at
	e.heap = append(append(e.heap, byte(len(s)-1)), s...)
	e.free -= 1 + len(s)
	return at
}

func (e *encoder) putAssignments(as []rbac.Assignment) error {
	for _, a := range as {
		kind := slices.Index(sourceKinds, cmp.Or(a.Source.Kind, rbac.SourceDirect))
		if kind < 0 {
			return fmt.Errorf("%w: source %q", ErrInvalid, a.Source)
		}
		var b [assignmentBytes]byte
		put16(b[assignmentRole:], e.text(a.Role.ID.String()))
		put16(b[assignmentSource:], none)
		if a.Source.ID != "" {
			put16(b[assignmentSource:], e.text(a.Source.ID))
		}
		b[assignmentKind] = byte(kind)
		put64(b[assignmentRoleIncarnation:], uint64(a.Role.Incarnation))
		put64(b[assignmentSourceIncarnation:], uint64(a.Source.Incarnation))
		if !a.Expiry.Never() {
			b[assignmentEnds] = 1
			put64(b[assignmentSeconds:], uint64(a.Expiry.Time().Unix()))
			put32(b[assignmentNanos:], uint32(a.Expiry.Time().Nanosecond()))
		}
		e.assignments = append(e.assignments, b[:]...)
		if e.free -= assignmentBytes; e.free < 0 {
			return ErrTooManyAssignments
		}
	}
	return nil
}

// document puts the sections together.
func (e *encoder) document(h Header, as []rbac.Assignment) []byte {
	until := notEver
	for _, a := range as {
		until = later(until, endOf(a.Expiry))
	}
	b := make([]byte, headerBytes, MaxBytes-e.free)
	b[atFormat] = Format
	b[atFlags] = e.flags
	put16(b[atOrg:], uint16(len(h.Org.String())))
	put16(b[atAssignments:], uint16(len(e.assignments)/assignmentBytes))
	put16(b[atNames:], uint16(len(e.names)/nameBytes))
	put16(b[atInstants:], uint16(len(e.instants)/instantBytes))
	put16(b[atReaches:], uint16(len(e.reaches)/reachBytes))
	put16(b[atCells:], uint16(len(e.cells)/cellBytes))
	put16(b[atEntries:], uint16(len(e.entries)/entryBytes))
	put32(b[atHeap:], uint32(len(e.heap)))
	put64(b[atIncarnation:], h.Incarnation)
	put64(b[atRevision:], uint64(h.Revision))
	put64(b[atUntil:], uint64(until.seconds))
	put32(b[atUntilNanos:], until.nanos)
	for _, section := range [][]byte{e.names, e.instants, e.assignments, e.reaches, e.cells, e.buckets, e.entries} {
		b = append(b, section...)
	}
	return append(append(b, h.Org.String()...), e.heap...)
}

func put16(b []byte, n uint16) { binary.LittleEndian.PutUint16(b, n) }
func put32(b []byte, n uint32) { binary.LittleEndian.PutUint32(b, n) }
func put64(b []byte, n uint64) { binary.LittleEndian.PutUint64(b, n) }
