// Package ratelimit keeps callers to their share: a token bucket for each key
// and one for each org, so that a tenant at its limit slows no other.
//
// Buckets are the process's own: behind several Lambdas a caller may reach the
// limit in each. What it protects is the process and the table behind it.
package ratelimit

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/wardenhq/warden/shared/auth"
	"github.com/wardenhq/warden/shared/fault"
)

// Limit is a rate and how much may come at once. The zero value is no limit.
type Limit struct {
	PerSecond float64
	Burst     int
}

// Limiter limits. Safe for concurrent use.
type Limiter struct {
	key, org Limit

	mu      sync.Mutex
	buckets map[string]*bucket
	swept   time.Time
}

type bucket struct {
	limiter *rate.Limiter
	used    time.Time
}

// New makes a limiter of two limits, each for one key and for one org.
func New(key, org Limit) *Limiter {
	return &Limiter{key: key, org: org, buckets: make(map[string]*bucket)}
}

// idle is after how long without a request a bucket is forgotten: it is full by then.
const idle = 10 * time.Minute

// Take takes n requests of a key of an org, an empty org for callers of none. It
// returns 0, or how long to wait before coming back; then nothing was taken.
func (l *Limiter) Take(key, org string, n int, now time.Time) time.Duration {
	if l == nil {
		return 0
	}
	first := l.bucket("key/"+key, l.key, now)
	wait := take(first, l.key, n, now)
	if wait > 0 || org == "" {
		return wait
	}
	if wait = take(l.bucket("org/"+org, l.org, now), l.org, n, now); wait > 0 && first != nil {
		give(first, l.key, n, now)
	}
	return wait
}

// Charge is Take as who verifies callers asks it: fault.TooManyRequests with when
// to come back. Operators are never limited.
func (l *Limiter) Charge(p auth.Principal, n int, now time.Time) error {
	if l == nil || n == 0 || p.Operator() {
		return nil
	}
	if wait := l.Take(p.ID(), p.Org().String(), n, now); wait > 0 {
		return &fault.Error{Code: fault.TooManyRequests, Detail: "the rate limit is reached", RetryAfter: wait}
	}
	return nil
}

func (l *Limiter) bucket(name string, of Limit, now time.Time) *rate.Limiter {
	if of.PerSecond <= 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sweep(now)
	b := l.buckets[name]
	if b == nil {
		b = &bucket{limiter: rate.NewLimiter(rate.Limit(of.PerSecond), of.Burst)}
		l.buckets[name] = b
	}
	b.used = now
	return b.limiter
}

func (l *Limiter) sweep(now time.Time) {
	if now.Sub(l.swept) < idle {
		return
	}
	l.swept = now
	for name, b := range l.buckets {
		if now.Sub(b.used) >= idle {
			delete(l.buckets, name)
		}
	}
}

// take takes what one request asks. One that asks for more than a burst passes
// when a whole burst is there, and leaves the bucket in debt for the rest: else
// it could never come.
func take(b *rate.Limiter, of Limit, n int, now time.Time) time.Duration {
	if b == nil {
		return 0
	}
	r := b.ReserveN(now, min(n, of.Burst))
	if wait := r.DelayFrom(now); wait > 0 {
		r.CancelAt(now)
		return wait
	}
	for n -= of.Burst; n > 0; n -= of.Burst {
		b.ReserveN(now, min(n, of.Burst))
	}
	return 0
}

// give gives back what a request took that does not go through after all.
func give(b *rate.Limiter, of Limit, n int, now time.Time) {
	for ; n > 0; n -= of.Burst {
		b.AllowN(now, -min(n, of.Burst))
	}
}
