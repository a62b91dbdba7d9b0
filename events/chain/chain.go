// Package chain makes an audit log one that shows what was done to it: each
// event's hash covers the event and the hash of the one before, signed
// checkpoints hold the chain's head, and Verify finds the first line of an
// export that is not as it was written. All of it is pure.
//
// # What is hashed
//
// SHA-256 over the canonical JSON (package jcs) of the event without its members
// `hash`, `salt` and `erasure`, in which each member that can be personal data
// (see Member), when it is there and not null, is replaced by
//
//	{"commitment": HEX}    HMAC-SHA256(key, canonical JSON of the member)
//	                       key = HMAC-SHA256(salt, the member's name)
//
// So such a member can be erased later and the hash still holds: the event keeps
// the commitment, loses the salt, and keeps the keys of the members that stay.
// Without its key a commitment tells nothing, not even to who guesses right.
// Members that are added to events later are hashed like all others.
package chain

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/wardenhq/warden/events"
)

// ErrHash is the error of a text that is no Hash.
var ErrHash = errors.New("chain: a hash is 64 lower-case hex digits")

// Hash is a SHA-256 digest, as text 64 lower-case hex digits. The zero Hash is
// the previous_hash of a chain's first event.
type Hash [sha256.Size]byte

func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText is the form that events show.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads that form and no other; the error is ErrHash.
func (h *Hash) UnmarshalText(text []byte) error {
	var read Hash
	if hex.DecodedLen(len(text)) != len(read) {
		return ErrHash
	}
	if _, err := hex.Decode(read[:], text); err != nil || read.String() != string(text) {
		return ErrHash
	}
	*h = read
	return nil
}

// Salt blinds one event's commitments. It must be random and used once.
type Salt [16]byte

// ID names a chain: that of a scope, or of an org's events without a scope.
type ID struct {
	Org   string
	Scope string // empty: the org's own chain
}

func (id ID) String() string {
	if id.Scope == "" {
		return fmt.Sprintf("org %q", id.Org)
	}
	return fmt.Sprintf("scope %q of org %q", id.Scope, id.Org)
}

// Of is the chain an event belongs to.
func Of(e *events.Event) ID {
	if e.Scope == nil {
		return ID{Org: e.Org}
	}
	return ID{e.Org, *e.Scope}
}

// Head is where a chain ends: its last event's seq, which is also how many there
// are, and hash. The zero Head is that of a chain without events.
type Head struct {
	Seq  uint64
	Hash Hash
}

// Seal is an event as the audit log keeps it after the head: with Seq, Salt,
// PreviousHash and Hash; and the head from then on.
func Seal(e events.Event, after Head, salt Salt) (events.Event, Head, error) {
	e.Seq, e.PreviousHash, e.Hash = after.Seq+1, after.Hash.String(), ""
	e.Salt, e.Erasure = hex.EncodeToString(salt[:]), nil
	hash, err := HashOf(&e)
	if err != nil {
		return events.Event{}, Head{}, err
	}
	e.Hash = hash.String()
	return e, Head{e.Seq, hash}, nil
}

// HashOf is an event's hash, computed anew from all but its Hash. The error
// wraps ErrMalformed.
func HashOf(e *events.Event) (Hash, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return Hash{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	members, err := parse(text)
	if err != nil {
		return Hash{}, err
	}
	return members.hash()
}

func mac(key, of []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write(of)
	return h.Sum(nil)
}
