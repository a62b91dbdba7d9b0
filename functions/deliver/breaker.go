package deliver

import "time"

// A breaker opens after this many failures in a row within that time. Then one
// delivery at a time tries the endpoint out, once a minute at first.
const (
	breakerFailures = 10
	breakerWindow   = 10 * time.Minute
	firstProbe      = time.Minute
	longestProbe    = 15 * time.Minute
)

// result is what an attempt says of its endpoint.
type result uint8

const (
	nothing   result = iota // there was no attempt, or it says nothing of the endpoint
	succeeded               // delivered
	failed                  // not delivered
	cancelled               // the endpoint is gone or disabled
)

// breaker keeps an endpoint that fails from being tried by every delivery.
type breaker struct {
	failures int       // in a row
	since    time.Time // the first of them
	open     bool
	probing  bool // the one delivery that tries it out is under way
	probeAt  time.Time
	interval time.Duration
}

// blocked says whether nothing may start, and for how long; 0: until the probe
// under way is over.
func (b *breaker) blocked(now time.Time) (bool, time.Duration) {
	switch {
	case !b.open:
		return false, 0
	case b.probing:
		return true, 0
	}
	wait := b.probeAt.Sub(now)
	return wait > 0, max(wait, 0)
}

// start says whether what starts is a probe.
func (b *breaker) start() bool {
	b.probing = b.open
	return b.open
}

// told takes in a result.
func (b *breaker) told(r result, probe bool, now time.Time) {
	switch r {
	case succeeded:
		*b = breaker{}
	case failed:
		b.failed(probe, now)
	case nothing, cancelled:
		if probe {
			b.probing = false
		}
	}
}

func (b *breaker) failed(probe bool, now time.Time) {
	if b.open {
		if probe {
			b.probing = false
			b.interval = min(2*b.interval, longestProbe)
			b.probeAt = now.Add(b.interval)
		}
		return
	}
	if b.failures == 0 || now.Sub(b.since) > breakerWindow {
		b.failures, b.since = 0, now
	}
	if b.failures++; b.failures >= breakerFailures {
		b.open, b.interval, b.probeAt = true, firstProbe, now.Add(firstProbe)
	}
}
