package audit

import (
	"crypto/ed25519"
	"io"

	"github.com/wardenhq/warden/shared/seal"
)

// SigningKeyFile is the name of the file, beside the data key's, that holds the
// seed of the key that signs checkpoints.
const SigningKeyFile = "audit.key"

// OpenSigningKey is the key whose seed is in the file, 32 raw bytes that only
// their owner can read; it is made where there is none. Errors are those of
// seal.ReadOrCreateSecret.
func OpenSigningKey(path string, random io.Reader) (ed25519.PrivateKey, error) {
	seed, err := seal.ReadOrCreateSecret(path, random)
	if err != nil {
		return nil, err
	}
	return ed25519.NewKeyFromSeed(seed[:]), nil
}
