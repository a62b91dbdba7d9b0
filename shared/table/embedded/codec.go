package embedded

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// layout is the first byte of every stored item and change: what follows it.
const layout = 1

// encodeItem writes an item without its key, which is the key in the file:
// numbers first, then the lengths of all texts, then the texts, Body and Blob.
func encodeItem(it *table.Item) []byte {
	b := append(make([]byte, 0, headBytes+table.Size(it)), layout)
	b = binary.AppendUvarint(b, it.Version)
	b = binary.AppendVarint(b, int64(it.Format))
	b = appendTime(b, it.CreatedAt)
	b = appendTime(b, it.UpdatedAt)
	b = binary.AppendVarint(b, it.TTL)
	texts := textsOf(it)
	for _, s := range texts {
		b = binary.AppendUvarint(b, uint64(len(s)))
	}
	b = binary.AppendUvarint(b, uint64(len(it.Body)))
	b = binary.AppendUvarint(b, uint64(len(it.Blob)))
	for _, s := range texts {
		b = append(b, s...)
	}
	return append(append(b, it.Body...), it.Blob...)
}

const (
	texts = 4 + 2*keys.Indexes
	// headBytes is room for what table.Size doesn't count, the lengths.
	headBytes = 64
)

func textsOf(it *table.Item) [texts]string {
	t := [texts]string{it.Type, it.Actor, it.RequestID, it.LastEvent}
	for i, k := range it.Index {
		t[4+2*i], t[5+2*i] = k.PK(), k.SK()
	}
	return t
}

// decodeItem reads an item. It keeps nothing of v, which belongs to the file:
// all texts are copied at once, and so are Body and Blob.
func decodeItem(k keys.Raw, v []byte) (*table.Item, error) {
	r := reader{rest: v}
	if !r.layout() {
		return nil, formatError(k, v)
	}
	it := &table.Item{Key: k}
	it.Version = r.uvarint()
	it.Format = int(r.varint())
	it.CreatedAt, it.UpdatedAt = r.time(), r.time()
	it.TTL = r.varint()
	var lengths [texts]int
	total := 0
	for i := range lengths {
		lengths[i] = r.length()
		total += lengths[i]
	}
	body, blob := r.length(), r.length()
	if r.damaged || total+body+blob != len(r.rest) {
		return nil, damagedError(k)
	}
	all := string(r.rest[:total])
	next := func(i int) string {
		s := all[:lengths[i]]
		all = all[lengths[i]:]
		return s
	}
	it.Type, it.Actor, it.RequestID, it.LastEvent = next(0), next(1), next(2), next(3)
	for i := range it.Index {
		it.Index[i] = keys.StoredIndexKey(next(4+2*i), next(5+2*i))
	}
	binaries := bytes.Clone(r.rest[total:])
	if body > 0 {
		it.Body = binaries[:body:body]
	}
	if blob > 0 {
		it.Blob = binaries[body:]
	}
	return it, nil
}

// decodeFound is decodeItem for a value that may be absent.
func decodeFound(k keys.Raw, v []byte) (*table.Item, error) {
	if v == nil {
		return nil, nil
	}
	return decodeItem(k, v)
}

func formatError(k keys.Raw, v []byte) error {
	if len(v) == 0 {
		return damagedError(k)
	}
	return fmt.Errorf("%w: %v has layout %d", table.ErrFormat, k, v[0])
}

func damagedError(k keys.Raw) error { return fmt.Errorf("%w: %v is damaged", table.ErrFormat, k) }

// appendTime keeps the zero time and nanoseconds, which Unix nanoseconds alone can't.
func appendTime(b []byte, t time.Time) []byte {
	b = binary.AppendVarint(b, t.Unix())
	return binary.AppendUvarint(b, uint64(t.Nanosecond()))
}

// reader takes values off the front of a record; after the first that is not
// there, it is damaged and everything else reads as zero.
type reader struct {
	rest    []byte
	damaged bool
}

func (r *reader) layout() bool {
	if len(r.rest) == 0 || r.rest[0] != layout {
		return false
	}
	r.rest = r.rest[1:]
	return true
}

func (r *reader) uvarint() uint64 {
	n, w := binary.Uvarint(r.rest)
	return r.took(n, w)
}

func (r *reader) varint() int64 {
	n, w := binary.Varint(r.rest)
	return int64(r.took(uint64(n), w))
}

func (r *reader) took(n uint64, width int) uint64 {
	if width <= 0 {
		r.rest, r.damaged = nil, true
		return 0
	}
	r.rest = r.rest[width:]
	return n
}

// length is a number that can be the length of something in the record.
func (r *reader) length() int {
	n := r.uvarint()
	if n > uint64(len(r.rest)) {
		r.rest, r.damaged = nil, true
		return 0
	}
	return int(n)
}

func (r *reader) bytes(n int) []byte {
	if n > len(r.rest) {
		r.rest, r.damaged = nil, true
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) time() time.Time {
	sec, nsec := r.varint(), r.uvarint()
	return time.Unix(sec, int64(nsec)).UTC()
}
