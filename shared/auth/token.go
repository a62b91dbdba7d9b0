// Package auth knows who is calling: it makes, reads and verifies API keys and
// operator keys, and says what their bearers may do. Of a secret only its
// SHA-256 hash is ever stored: 32 random bytes need no slow hash.
package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"strings"

	"github.com/wardenhq/warden/shared/rbac"
)

// A key's text is prefix, id, org and secret, joined by `_`:
//
//	wdn_live_ID_ORG_SECRET
//
// ID is 16 letters and digits, ORG the org's id in base64url (which may hold
// `_` itself), SECRET 43 letters, digits and `-` of 256 random bits in
// base64url with `_` written as `.`, and 6 of a CRC-32 over all before it: a
// typo, or a scanner's find, is told from a key without a look-up.
const (
	livePrefix     = "wdn_live_"
	operatorPrefix = "wdn_operator_"
	secretBytes    = 32
	checksumBytes  = 4
)

// idAlphabet has 32 letters, so that a random byte maps to one without bias.
const (
	idAlphabet = "abcdefghijklmnopqrstuvwxyz234567"
	idLength   = 16
)

// NewKeyID makes a random id of a key.
func NewKeyID() rbac.APIKeyID {
	var b [idLength]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	for i := range b {
		b[i] = idAlphabet[b[i]%byte(len(idAlphabet))]
	}
	return rbac.Must(rbac.ParseAPIKeyID(string(b[:])))
}

// NewAPIKey makes the text of a key, to be shown once, and the hash to store.
func NewAPIKey(org rbac.OrgID, id rbac.APIKeyID) (text string, hash []byte) {
	return newKey(livePrefix + id.String() + "_" + base64.RawURLEncoding.EncodeToString([]byte(org.String())) + "_")
}

// NewOperatorKey makes the text of an operator key and the hash to store.
func NewOperatorKey(id rbac.APIKeyID) (text string, hash []byte) {
	return newKey(operatorPrefix + id.String() + "_")
}

func newKey(head string) (text string, hash []byte) {
	var secret [secretBytes]byte
	_, _ = rand.Read(secret[:]) // never fails (crypto/rand)
	body := head + encode(secret[:])
	var sum [checksumBytes]byte
	binary.BigEndian.PutUint32(sum[:], crc32.ChecksumIEEE([]byte(body)))
	text = body + encode(sum[:])
	return text, Hash(text)
}

// encode is base64url without the separator.
func encode(b []byte) string {
	return strings.ReplaceAll(base64.RawURLEncoding.EncodeToString(b), "_", ".")
}

// Hash is what is stored of a key's text.
func Hash(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

// Kind is a kind of bearer.
type Kind uint8

// The kinds of bearers.
const (
	KindUnknown  Kind = iota // no text of ours; still compared with a given operator key
	KindAPIKey               // names its org and id
	KindOperator             // names its id
)

// Credential is a bearer as it was presented: who it says it is, and the hash
// of it. It proves nothing until it is verified.
type Credential struct {
	Kind Kind
	Org  rbac.OrgID    // for KindAPIKey
	ID   rbac.APIKeyID // for KindAPIKey and KindOperator
	hash [sha256.Size]byte
}

// Present reads a bearer's text. ok is false for an empty one, and for one that
// looks like ours and fails its checksum.
func Present(text string) (c Credential, ok bool) {
	if text == "" {
		return c, false
	}
	c.hash = sha256.Sum256([]byte(text))
	switch {
	case strings.HasPrefix(text, livePrefix):
		c.Kind = KindAPIKey
		rest, ok := checked(text, livePrefix)
		id, org, two := strings.Cut(rest, "_")
		if !ok || !two {
			return c, false
		}
		return c.named(id, org)
	case strings.HasPrefix(text, operatorPrefix):
		c.Kind = KindOperator
		rest, ok := checked(text, operatorPrefix)
		if !ok {
			return c, false
		}
		var err error
		c.ID, err = rbac.ParseAPIKeyID(rest)
		return c, err == nil
	}
	return c, true
}

// checked tests the checksum and returns what stands between prefix and secret.
func checked(text, prefix string) (string, bool) {
	at := strings.LastIndexByte(text, '_')
	secretLen := base64.RawURLEncoding.EncodedLen(secretBytes)
	if at < len(prefix) || len(text)-at-1 != secretLen+base64.RawURLEncoding.EncodedLen(checksumBytes) {
		return "", false
	}
	body := text[:at+1+secretLen]
	var sum [checksumBytes]byte
	binary.BigEndian.PutUint32(sum[:], crc32.ChecksumIEEE([]byte(body)))
	return text[len(prefix):at], encode(sum[:]) == text[len(body):]
}

func (c Credential) named(id, org string) (Credential, bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(org)
	if err != nil {
		return c, false
	}
	if c.Org, err = rbac.ParseOrgID(string(raw)); err != nil {
		return c, false
	}
	c.ID, err = rbac.ParseAPIKeyID(id)
	return c, err == nil
}

// Is compares with a stored hash in constant time.
func (c Credential) Is(hash []byte) bool {
	return len(hash) == len(c.hash) && subtle.ConstantTimeCompare(c.hash[:], hash) == 1
}

// Fingerprint tells credentials apart in caches, without holding the secret.
func (c Credential) Fingerprint() [sha256.Size]byte { return c.hash }
