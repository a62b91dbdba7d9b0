package table

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"io"
	"strconv"
	"strings"

	"github.com/wardenhq/warden/shared/table/keys"
)

// Position is where a page ended: the last item's sort key, and for an index
// also its key in the table. The partition comes from the query itself, so no
// cursor leads into another partition.
type Position struct {
	SK   string   // sort key in the table or the index
	Base keys.Raw // the item's key in the table, for a query on an index
}

const digestSize = 12

// EncodeCursor makes the cursor of a page that ended at the position. Sort keys
// are kept without the query's prefix, and packed, so that it stays below the
// contract's 1 KB for the longest ids.
func EncodeCursor(q Query, p Position) string {
	var plain []byte
	for _, s := range []string{strings.TrimPrefix(p.SK, q.Prefix), p.Base.PK(), p.Base.SK()} {
		plain = binary.AppendUvarint(plain, uint64(len(s)))
		plain = append(plain, s...)
	}
	body := pack(plain)
	sum := cursorDigest(q, body)
	return base64.RawURLEncoding.EncodeToString(append(sum[:digestSize:digestSize], body...))
}

// DecodeCursor reads a query's own cursor; ok is false when it has none. A
// cursor of another query, or a damaged one, is ErrBadCursor.
func DecodeCursor(q Query) (p Position, ok bool, err error) {
	if q.Cursor == "" {
		return Position{}, false, nil
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(q.Cursor)
	if err != nil || len(raw) < digestSize {
		return Position{}, false, ErrBadCursor
	}
	sum, body := raw[:digestSize], raw[digestSize:]
	if want := cursorDigest(q, body); string(want[:digestSize]) != string(sum) {
		return Position{}, false, ErrBadCursor
	}
	b, err := unpack(body)
	if err != nil {
		return Position{}, false, ErrBadCursor
	}
	var parts [3]string
	for i := range parts {
		n, w := binary.Uvarint(b)
		if w <= 0 || n > uint64(len(b)-w) {
			return Position{}, false, ErrBadCursor
		}
		parts[i], b = string(b[w:w+int(n)]), b[w+int(n):]
	}
	p = Position{SK: q.Prefix + parts[0], Base: keys.Stored(parts[1], parts[2])}
	outside := q.To != "" && (p.SK < q.From || p.SK > q.To)
	if len(b) != 0 || outside || p.Base.Valid() != (q.Index != keys.Table) {
		return Position{}, false, ErrBadCursor
	}
	return p, true, nil
}

const (
	maxUnpacked = 2 * (keys.MaxPK + 2*keys.MaxSK)
	// maxPlain needs no packing, which costs more than reading a page.
	maxPlain = 512
)

func pack(plain []byte) []byte {
	if len(plain) <= maxPlain {
		return append([]byte{0}, plain...)
	}
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestSpeed)
	if err == nil {
		_, err = w.Write(plain)
	}
	if err != nil || w.Close() != nil || b.Len() >= len(plain) {
		return append([]byte{0}, plain...)
	}
	return append([]byte{1}, b.Bytes()...)
}

func unpack(body []byte) ([]byte, error) {
	if len(body) == 0 {
		return nil, ErrBadCursor
	}
	switch body[0] {
	case 0:
		return body[1:], nil
	case 1:
		return io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(body[1:])), maxUnpacked))
	}
	return nil, ErrBadCursor
}

func cursorDigest(q Query, position []byte) [sha256.Size]byte {
	var b []byte
	for _, s := range []string{q.Index.String(), q.PK, q.Prefix, q.From, q.To, strconv.FormatBool(q.Descending)} {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	return sha256.Sum256(append(b, position...))
}
