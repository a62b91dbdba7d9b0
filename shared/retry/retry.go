// Package retry is the one way in which Warden tries again: with full jitter
// and a bound.
package retry

import (
	"context"
	"time"

	"github.com/wardenhq/warden/shared/clock"
)

// Backoff waits between tries. The n-th wait is a random part of Base·2ⁿ, at
// most Max.
type Backoff struct {
	Clock  clock.Clock
	Jitter func() float64 // in [0, 1)
	Base   time.Duration
	Max    time.Duration
	Tries  int // how often something is tried in all
}

// Wait waits after the n-th try, counted from 0. False when that was the last
// one; the error is the context's.
func (b Backoff) Wait(ctx context.Context, n int) (again bool, err error) {
	if n+1 >= b.Tries {
		return false, nil
	}
	d := min(b.Max, b.Base<<min(n, 20))
	if err := b.Clock.Sleep(ctx, time.Duration(b.Jitter()*float64(d))); err != nil {
		return false, err
	}
	return true, nil
}
