// Package trail takes an audit log off a server, and verifies what was taken off
// without one.
//
// An export is a file with an event a line, as the server keeps them. Beside it
// lies a record of it: which log it is of, and signed checkpoints, which show
// that the tail of the export was cut or that all of it was written anew. The
// record is worth the key that signed it; who wants to rely on it pins that key.
package trail

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"

	"github.com/wardenhq/warden/events/chain"
)

// RecordSuffix makes the name of an export's record of the export's.
const RecordSuffix = ".checkpoints.json"

// Log names an audit log: a scope's, or that of an org and all its scopes.
type Log struct {
	Org   string `json:"org,omitempty"`
	Scope string `json:"scope,omitempty"`
}

func (l Log) String() string {
	if l.Scope != "" {
		return fmt.Sprintf("scope %q", l.Scope)
	}
	return fmt.Sprintf("org %q", l.Org)
}

// Record is what an export is held against.
type Record struct {
	Log         Log                `json:"log"`
	Keys        []Key              `json:"keys"` // of the server, unpinned
	Checkpoints []chain.Checkpoint `json:"checkpoints"`
}

// Key is a public Ed25519 key, as servers show it.
type Key struct {
	ID        string `json:"id"`
	PublicKey string `json:"public_key"` // 32 bytes in base64
}

// ParseKey reads a public key: 32 bytes in base64.
func ParseKey(text string) (ed25519.PublicKey, error) {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(raw) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("a public key is %d bytes in base64", ed25519.PublicKeySize)
	}
	return ed25519.PublicKey(raw), nil
}
