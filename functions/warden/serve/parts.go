package serve

import (
	"crypto/rand"
	mathrand "math/rand/v2"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/wardenhq/warden/shared/auth"
	"github.com/wardenhq/warden/shared/clock"
	"github.com/wardenhq/warden/shared/decide"
	"github.com/wardenhq/warden/shared/egress"
	"github.com/wardenhq/warden/shared/ratelimit"
	"github.com/wardenhq/warden/shared/recompute"
	"github.com/wardenhq/warden/shared/retry"
	"github.com/wardenhq/warden/shared/snapshot"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/write"
)

// What the process keeps between requests.
const (
	cacheBytes        = 32 << 20
	cachedDefinitions = 50_000
)

// parts are what the functions of one process share.
type parts struct {
	store     table.Store
	snapshots *snapshot.Reader
	cache     *decide.Cache
	writer    *write.Writer
	engine    *recompute.Engine
	charge    func(auth.Principal, int) error
	backoff   retry.Backoff
	secrets   secrets
	guard     egress.Guard // of requests to hosts that customers name
	changed   *listeners
}

// listeners are told of every key that may have been written.
type listeners struct{ all []func([]keys.Raw) }

// add is for the time before anything is written.
func (l *listeners) add(f func([]keys.Raw)) { l.all = append(l.all, f) }

func (l *listeners) tell(written []keys.Raw) {
	for _, f := range l.all {
		f(written)
	}
}

func newParts(store table.Store, limiter *ratelimit.Limiter, s secrets, guard egress.Guard) parts {
	backoff := retry.Backoff{
		Clock: clock.System{}, Jitter: mathrand.Float64,
		Base: 5 * time.Millisecond, Max: 200 * time.Millisecond, Tries: 5,
	}
	p := parts{
		backoff: backoff, secrets: s, guard: guard, changed: &listeners{},
		charge: func(p auth.Principal, n int) error { return limiter.Charge(p, n, time.Now()) },
		store:  store, cache: decide.NewCache(cacheBytes),
		snapshots: &snapshot.Reader{Table: store, Cache: snapshot.NewCache(cachedDefinitions), Backoff: backoff},
	}
	p.changed.add(p.cache.Drop)
	p.writer = &write.Writer{
		Table: store, Snapshots: p.snapshots, Clock: clock.System{}, Backoff: backoff,
		EventID: eventID, Changed: p.changed.tell,
	}
	p.engine = &recompute.Engine{Table: store, Snapshots: p.snapshots, Clock: clock.System{}, Backoff: backoff, Changed: p.changed.tell}
	return p
}

func eventID(at time.Time) string {
	return "evt_" + ulid.MustNew(ulid.Timestamp(at), rand.Reader).String()
}
