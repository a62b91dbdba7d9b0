package chain

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"github.com/wardenhq/warden/events/jcs"
)

// Errors of checkpoints.
var (
	ErrForeignKey = errors.New("chain: the checkpoint was signed by another key")
	ErrSignature  = errors.New("chain: the checkpoint's signature does not hold")
)

// checkpointType keeps a checkpoint's signature from being one of anything else.
const checkpointType = "warden.checkpoint.v1"

// Checkpoint says how far a chain was at a time. Signed ones, kept apart from
// the log, show that its tail was cut or the whole written anew.
type Checkpoint struct {
	Org       string  `json:"org"`
	Scope     *string `json:"scope"` // null: the org's own chain
	Count     uint64  `json:"count"` // of events; the seq of the last
	Head      Hash    `json:"head"`  // hash of the last
	Time      string  `json:"time"`  // RFC 3339, UTC
	Key       string  `json:"key"`   // KeyID of who signed
	Signature []byte  `json:"signature"`
}

// CheckpointOf is a chain's checkpoint at a time, not signed yet.
func CheckpointOf(id ID, head Head, time string) Checkpoint {
	c := Checkpoint{Org: id.Org, Count: head.Seq, Head: head.Hash, Time: time}
	if id.Scope != "" {
		c.Scope = &id.Scope
	}
	return c
}

// ID is the chain that the checkpoint is of.
func (c *Checkpoint) ID() ID {
	if c.Scope == nil {
		return ID{Org: c.Org}
	}
	return ID{c.Org, *c.Scope}
}

// KeyID names a public key: the first 16 hex digits of its SHA-256.
func KeyID(key ed25519.PublicKey) string {
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:8])
}

// Sign is the checkpoint with the key's id and its signature (RFC 8032,
// Ed25519).
func (c Checkpoint) Sign(key ed25519.PrivateKey) Checkpoint {
	public := ed25519.PublicKey(key[ed25519.SeedSize:])
	c.Key = KeyID(public)
	c.Signature = ed25519.Sign(key, c.signed())
	return c
}

// Verify tests the signature. Errors: ErrForeignKey, ErrSignature.
func (c *Checkpoint) Verify(key ed25519.PublicKey) error {
	switch {
	case c.Key != KeyID(key):
		return ErrForeignKey
	case !ed25519.Verify(key, c.signed(), c.Signature):
		return ErrSignature
	}
	return nil
}

// signed are the bytes that the signature is of: canonical JSON.
func (c *Checkpoint) signed() []byte {
	var scope any
	if c.Scope != nil {
		scope = *c.Scope
	}
	return jcs.Append(nil, map[string]any{
		"type": checkpointType, "org": c.Org, "scope": scope, "count": float64(c.Count), "head": c.Head.String(), "time": c.Time, "key": c.Key,
	})
}
