package check

import (
	"crypto/sha256"
	"sync"

	"github.com/wardenhq/warden/shared/auth"
)

// maxPresented bounds how many bearers are remembered.
const maxPresented = 4096

// presenter reads bearers, and remembers what those said that were in order, by
// their hash and without their secret: reading costs more than hashing. What is
// remembered proves nothing. The zero value is ready.
type presenter struct {
	mu     sync.RWMutex
	byHash map[[sha256.Size]byte]auth.Credential
}

// present is auth.Present. known says that it was remembered.
func (p *presenter) present(bearer string) (c auth.Credential, known, ok bool) {
	hash := sha256.Sum256([]byte(bearer))
	p.mu.RLock()
	c, known = p.byHash[hash]
	p.mu.RUnlock()
	if known {
		return c, true, true
	}
	c, ok = auth.Present(bearer)
	return c, false, ok
}

// remember keeps a credential that was verified. Others are not, so that made-up
// bearers push nothing out.
func (p *presenter) remember(c auth.Credential) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byHash == nil {
		p.byHash = make(map[[sha256.Size]byte]auth.Credential)
	}
	for any := range p.byHash {
		if len(p.byHash) < maxPresented {
			break
		}
		delete(p.byHash, any)
	}
	p.byHash[c.Fingerprint()] = c
}
