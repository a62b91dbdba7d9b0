// Package revision is the opaque token that a write returns and a check may
// demand (api.md, "consistency"): scope, HEAD revision and, from a policy
// write, the subject and its document's version; from a write of an org itself,
// the org.
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
	Scope    uint64 // hash of the scope's id; 0 for a write of an org itself
	Revision rbac.Revision
	Subject  uint64 // hash of the subject's id
	Version  uint64 // of the subject's document
	Org      uint64 // hash of the org's id, for a write of an org itself; else 0
}

// OfDefinition is the token of a definition write, or of what a check saw of HEAD.
func OfDefinition(s rbac.ScopeID, r rbac.Revision) Token {
	return Token{Scope: hash(s.String()), Revision: r}
}

// OfPolicy is the token of a policy write.
func OfPolicy(s rbac.ScopeID, r rbac.Revision, u rbac.SubjectID, version uint64) Token {
	return Token{Scope: hash(s.String()), Revision: r, Subject: hash(u.String()), Version: version}
}

// OfScope is the token of a write that no answer of the scope depends on: each
// reflects it.
func OfScope(s rbac.ScopeID) Token { return OfDefinition(s, 0) }

// OfOrg is the token of a write of an org itself: its keys, its settings, its
// deletion. It can be demanded in every scope of the org, and a strong answer
// proves it.
func OfOrg(o rbac.OrgID) Token { return Token{Org: hash(o.String())} }

// many stands for a subject that is none: no one document proves the write.
const many = 1<<64 - 1

// OfMany is the token of a write of several subjects' documents. No answer from
// a cache proves it; a strong one does.
func OfMany(s rbac.ScopeID) Token { return Token{Scope: hash(s.String()), Subject: many} }

// Many says whether only a strong answer proves the token's write.
func (t Token) Many() bool { return t.Subject == many }

// Of says whether the token is of that scope.
func (t Token) Of(s rbac.ScopeID) bool { return t.Scope == hash(s.String()) }

// OrgWide says whether the token is of an org itself.
func (t Token) OrgWide() bool { return t.Org != 0 }

// OfOrg says whether the token is of that org itself.
func (t Token) OfOrg(o rbac.OrgID) bool { return t.Org == hash(o.String()) }

// About says whether the token tells of that subject's document.
func (t Token) About(u rbac.SubjectID) bool { return t.Subject != 0 && t.Subject == hash(u.String()) }

// hash is neither 0, which stands for none, nor many.
func hash(id string) uint64 { return min(max(1, xxhash.Sum64String(id)), many-1) }

// The layouts of a token, and its first byte.
const (
	layoutScope = 1
	layoutOrg   = 2
)

const maxBytes = 1 + 8 + binary.MaxVarintLen64 + 8 + binary.MaxVarintLen64 + 4

// Append writes the token's text.
func (t Token) Append(dst []byte) []byte {
	var raw [maxBytes]byte
	b := raw[:0]
	if t.OrgWide() {
		b = binary.BigEndian.AppendUint64(append(b, layoutOrg), t.Org)
	} else {
		b = t.appendScope(append(b, layoutScope))
	}
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	return base64.RawURLEncoding.AppendEncode(dst, b)
}

func (t Token) appendScope(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, t.Scope)
	b = binary.AppendUvarint(b, uint64(t.Revision))
	if t.Subject != 0 {
		b = binary.BigEndian.AppendUint64(b, t.Subject)
		b = binary.AppendUvarint(b, t.Version)
	}
	return b
}

func (t Token) String() string { return string(t.Append(nil)) }

// Parse reads a token's text; ErrMalformed for any other.
func Parse(s string) (Token, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil || len(b) < 1+8+4 || len(b) > maxBytes {
		return Token{}, ErrMalformed
	}
	body, sum := b[:len(b)-4], b[len(b)-4:]
	if crc32.ChecksumIEEE(body) != binary.BigEndian.Uint32(sum) {
		return Token{}, ErrMalformed
	}
	owner, rest := binary.BigEndian.Uint64(body[1:]), body[9:]
	switch {
	case b[0] == layoutScope:
		return parseScope(owner, rest)
	case b[0] == layoutOrg && owner != 0 && len(rest) == 0:
		return Token{Org: owner}, nil
	}
	return Token{}, ErrMalformed
}

// parseScope reads what follows the scope's hash.
func parseScope(scope uint64, body []byte) (Token, error) {
	t := Token{Scope: scope}
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
