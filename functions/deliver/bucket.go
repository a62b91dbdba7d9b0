package deliver

import "time"

// bucket limits an endpoint's deliveries a second; a second's worth may come at
// once. The zero bucket limits nothing.
type bucket struct {
	rate   float64 // a second; 0: no limit
	tokens float64
	at     time.Time // when tokens was right
}

// limit sets the rate.
func (b *bucket) limit(rate int, now time.Time) {
	if r := float64(rate); r != b.rate {
		*b = bucket{rate: r, tokens: r, at: now}
	}
}

// wait is after how long the next delivery may start.
func (b *bucket) wait(now time.Time) time.Duration {
	if b.rate == 0 {
		return 0
	}
	b.tokens = min(b.rate, b.tokens+b.rate*now.Sub(b.at).Seconds())
	b.at = now
	if b.tokens >= 1 {
		return 0
	}
	return time.Duration((1-b.tokens)/b.rate*float64(time.Second)) + 1 // rounded up
}

// take uses one up.
func (b *bucket) take() {
	if b.rate > 0 {
		b.tokens--
	}
}
