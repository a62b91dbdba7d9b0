package serve

import (
	"crypto/ed25519"
	"crypto/rand"
	"path/filepath"

	"github.com/wardenhq/warden/shared/audit"
	"github.com/wardenhq/warden/shared/delivery"
	"github.com/wardenhq/warden/shared/seal"
)

// dataKeyFile holds the key that seals what must be read again: webhooks' secrets.
const dataKeyFile = "secret.key"

// secrets are the process's keys; in memory they end with it.
type secrets struct {
	vault   delivery.Vault
	signing ed25519.PrivateKey
}

func openSecrets(dir string) (s secrets, err error) {
	var key seal.Key
	if dir == Memory {
		key, err = seal.NewKey(rand.Reader)
		if err == nil {
			_, s.signing, err = ed25519.GenerateKey(rand.Reader)
		}
	} else {
		key, err = seal.ReadOrCreateKey(filepath.Join(dir, dataKeyFile), rand.Reader)
		if err == nil {
			s.signing, err = audit.OpenSigningKey(filepath.Join(dir, audit.SigningKeyFile), rand.Reader)
		}
	}
	s.vault = delivery.Vault{Sealer: seal.Sealer{Keys: seal.Ring{key}, Random: rand.Reader}}
	return s, err
}
