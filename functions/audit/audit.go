// Package audit is the function that keeps the audit log. As a reader of the
// stream it gives every event that was committed its place in its chain, hands
// it on to the bus, and notices changes of entities that no event claims. The
// scheduler calls on it for what the stream lost and for checkpoints. Over HTTP
// it shows, exports and proves the log.
//
// Everything may come twice, late, out of order and to two workers at once: an
// event is in its chain once, and is published at least once.
package audit

import (
	"context"
	"crypto/ed25519"
	"log/slog"
	"sync"
	"time"

	"github.com/wardenhq/warden/events"
	trail "github.com/wardenhq/warden/shared/audit"
	"github.com/wardenhq/warden/shared/clock"
	"github.com/wardenhq/warden/shared/table"
)

// Config is what the function works with.
type Config struct {
	Table table.Store
	Log   *trail.Log
	Clock clock.Clock
	Key   ed25519.PrivateKey // signs checkpoints
	// Publish takes events that are in their chain, in the order of seq, each at
	// least once. An error has them published again.
	Publish func(context.Context, []events.Event) error
	EventID func(time.Time) string // a new event's id
	Report  *slog.Logger
}

// Audit is the function.
type Audit struct {
	Config
	mu    sync.Mutex
	swept time.Time // when chains that were never begun were looked for
}

// New makes the function.
func New(c Config) *Audit { return &Audit{Config: c} }

func (a *Audit) publicKey() ed25519.PublicKey {
	return ed25519.PublicKey(a.Key[ed25519.SeedSize:])
}
