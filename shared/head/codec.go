package head

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/table"
)

// format is the layout's version, and the Blob's first byte.
const format = 1

const (
	flagDeleted = 1 << iota
	flagPurged
)

// Encode is HEAD's Blob: entries keep their revision and time as differences,
// so that a full flux with the longest ids stays below 4 KB.
func (h Head) Encode() []byte {
	b := make([]byte, 0, 128+16*len(h.Flux))
	b = append(b, format)
	var flags byte
	if h.Deleted {
		flags |= flagDeleted
	}
	if h.Purged {
		flags |= flagPurged
	}
	b = append(b, flags)
	b = text(b, h.Org.String())
	b = binary.AppendUvarint(b, h.Incarnation)
	b = binary.AppendUvarint(b, uint64(h.Revision))
	b = binary.AppendUvarint(b, uint64(h.Floor))
	b = text(b, string(h.Last.Kind()))
	b = text(b, h.Last.ID())
	b = binary.AppendUvarint(b, uint64(h.Permissions))
	b = binary.AppendUvarint(b, uint64(h.Roles))
	base := h.newest()
	b = binary.AppendUvarint(b, uint64(max(0, base)))
	b = h.entry(b, h.All, base)
	b = binary.AppendUvarint(b, uint64(len(h.Flux)))
	for _, e := range h.Flux {
		b = binary.BigEndian.AppendUint64(b, e.Name)
		b = h.entry(b, e, base)
	}
	return b
}

func (h Head) newest() int64 {
	n := int64(0)
	if h.All.Revision > 0 {
		n = h.All.Since.Unix()
	}
	for _, e := range h.Flux {
		n = max(n, e.Since.Unix())
	}
	return n
}

func (h Head) entry(b []byte, e Entry, base int64) []byte {
	if e.Revision == 0 { // no entry
		return binary.AppendUvarint(b, uint64(h.Revision))
	}
	b = binary.AppendUvarint(b, uint64(h.Revision-e.Revision))
	return binary.AppendUvarint(b, uint64(base-e.Since.Unix()))
}

func text(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

// Decode reads HEAD's item. table.ErrFormat for a layout this build doesn't know.
func Decode(it *table.Item) (*Head, error) {
	if len(it.Blob) < 2 || it.Blob[0] != format {
		return nil, fmt.Errorf("%w: HEAD", table.ErrFormat)
	}
	r := reader{b: it.Blob[2:]}
	h := &Head{Version: it.Version, Deleted: it.Blob[1]&flagDeleted != 0, Purged: it.Blob[1]&flagPurged != 0}
	org := r.text()
	h.Incarnation = r.uint()
	h.Revision = rbac.Revision(r.uint())
	h.Floor = rbac.Revision(r.uint())
	kind := rbac.DefinitionKind(r.text())
	h.Last = rbac.StoredDefinitionID(kind, r.text())
	h.Permissions, h.Roles = int(r.uint()), int(r.uint())
	base := int64(r.uint())
	h.All = r.entry(h.Revision, base)
	n := r.uint()
	if n > MaxFlux {
		r.bad = true
		n = 0
	}
	if n > 0 {
		h.Flux = make([]Entry, n)
	}
	for i := range h.Flux {
		name := r.fixed()
		h.Flux[i] = r.entry(h.Revision, base)
		h.Flux[i].Name = name
	}
	var err error
	h.Org, err = rbac.ParseOrgID(org)
	if r.bad || len(r.b) != 0 || err != nil {
		return nil, fmt.Errorf("%w: HEAD is damaged", table.ErrFormat)
	}
	return h, nil
}

// reader takes values off the front; after a fault it gives zeros and is bad.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) uint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) fixed() uint64 {
	if len(r.b) < 8 {
		r.bad, r.b = true, nil
		return 0
	}
	v := binary.BigEndian.Uint64(r.b)
	r.b = r.b[8:]
	return v
}

func (r *reader) text() string {
	n := r.uint()
	if n > uint64(len(r.b)) {
		r.bad, r.b = true, nil
		return ""
	}
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}

func (r *reader) entry(revision rbac.Revision, base int64) Entry {
	back := rbac.Revision(r.uint())
	if back > revision {
		r.bad = true
		return Entry{}
	}
	if back == revision {
		return Entry{}
	}
	return Entry{Revision: revision - back, Since: time.Unix(base-int64(r.uint()), 0).UTC()}
}
