// Package revision is the opaque token that a write returns and a check may
// demand (api.md, "consistency"): scope, HEAD revision and, from a policy
// write, the subject and its document's version.
package revision

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"

	"github.com/cespare/xxhash/v2"

	"github.com/wardenhq/warden/shared/rbac"
)

// ErrMalformed is the error of a text that is no token, or a damaged one.
var ErrMalformed = errors.New("revision: malformed token")

// Token is what a write proved. A zero Subject: it was no policy write.
type Token struct {
	Scope    uint64 // hash of the scope's id; 0 for writes without a scope
	Revision rbac.Revision
	Subject  uint64 // hash of the subject's id
	Version  uint64 // of the subject's document
}

// OfDefinition is the token of a definition write, or of what a check saw of HEAD.
func OfDefinition(s rbac.ScopeID, r rbac.Revision) Token {
	return Token{Scope: hash(s.String()), Revision: r}
}

// OfPolicy is the token of a policy write.
func OfPolicy(s rbac.ScopeID, r rbac.Revision, u rbac.SubjectID, version uint64) Token {
	return Token{Scope: hash(s.String()), Revision: r, Subject: hash(u.String()), Version: version}
}

// many stands for a subject that is none: no one document proves the write.
const many = 1<<64 - 1

// OfMany is the token of a write of several subjects' documents. No answer from
// a cache proves it; a strong one does.
func OfMany(s rbac.ScopeID) Token { return Token{Scope: hash(s.String()), Subject: many} }

// Many says whether only a strong answer proves the token's write.
func (t Token) Many() bool { return t.Subject == many }

// Of says whether the token is of that scope.
func (t Token) Of(s rbac.ScopeID) bool { return t.Scope == hash(s.String()) }

// About says whether the token tells of that subject's document.
func (t Token) About(u rbac.SubjectID) bool { return t.Subject != 0 && t.Subject == hash(u.String()) }

// hash is neither 0, which stands for none, nor many.
func hash(id string) uint64 { return min(max(1, xxhash.Sum64String(id)), many-1) }

// layout is the token's version, and its first byte.
const layout = 1

const maxBytes = 1 + 8 + binary.MaxVarintLen64 + 8 + binary.MaxVarintLen64 + 4

// Append writes the token's text.
func (t Token) Append(dst []byte) []byte {
	var raw [maxBytes]byte
	b := append(raw[:0], layout)
	b = binary.BigEndian.AppendUint64(b, t.Scope)
	b = binary.AppendUvarint(b, uint64(t.Revision))
	if t.Subject != 0 {
		b = binary.BigEndian.AppendUint64(b, t.Subject)
		b = binary.AppendUvarint(b, t.Version)
	}
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	return base64.RawURLEncoding.AppendEncode(dst, b)
}

func (t Token) String() string { return string(t.Append(nil)) }

// Parse reads a token's text; ErrMalformed for any other.
func Parse(s string) (Token, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil || len(b) < 1+8+1+4 || len(b) > maxBytes || b[0] != layout {
		return Token{}, ErrMalformed
	}
	body, sum := b[:len(b)-4], b[len(b)-4:]
	if crc32.ChecksumIEEE(body) != binary.BigEndian.Uint32(sum) {
		return Token{}, ErrMalformed
	}
	t := Token{Scope: binary.BigEndian.Uint64(body[1:])}
	body = body[9:]
	rev, n := binary.Uvarint(body)
	if n <= 0 {
		return Token{}, ErrMalformed
	}
	t.Revision, body = rbac.Revision(rev), body[n:]
	if len(body) == 0 {
		return t, nil
	}
	if len(body) < 9 {
		return Token{}, ErrMalformed
	}
	t.Subject = binary.BigEndian.Uint64(body)
	t.Version, n = binary.Uvarint(body[8:])
	if n != len(body)-8 || n <= 0 {
		return Token{}, ErrMalformed
	}
	return t, nil
}
