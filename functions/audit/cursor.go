package audit

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strings"

	trail "github.com/wardenhq/warden/shared/audit"
	"github.com/wardenhq/warden/shared/table"
)

const digestSize = 12

// cursor says what of a log is still to be read, bound to the log and to what was
// asked.
func cursor(id trail.ID, f *filter, rest trail.Window) string {
	body := rest.From + "\n" + rest.To
	sum := cursorDigest(id, f, body)
	return base64.RawURLEncoding.EncodeToString(append(sum[:digestSize:digestSize], body...))
}

// readCursor is table.ErrBadCursor for a cursor of another log or query, or a
// damaged one.
func readCursor(id trail.ID, f *filter, text string) (trail.Window, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) < digestSize {
		return trail.Window{}, table.ErrBadCursor
	}
	body := string(raw[digestSize:])
	sum := cursorDigest(id, f, body)
	from, to, ok := strings.Cut(body, "\n")
	if !ok || string(sum[:digestSize]) != string(raw[:digestSize]) {
		return trail.Window{}, table.ErrBadCursor
	}
	return trail.Window{From: from, To: to}, nil
}

func cursorDigest(id trail.ID, f *filter, body string) [sha256.Size]byte {
	var b []byte
	for _, s := range append([]string{id.Org.String(), id.Scope.String(), body}, f.asked...) {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	return sha256.Sum256(b)
}
