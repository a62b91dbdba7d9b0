package webhook

import "time"

// An endpoint is disabled when it has failed for this long and this often.
const (
	DisableAfter    = 5 * 24 * time.Hour
	DisableAttempts = 10
)

// Health is what an endpoint's attempts of late say of it, over all deliveries.
// The zero Health is a good one.
type Health struct {
	FailingSince time.Time `json:"failing_since,omitzero"` // first failure after the last success
	Failures     int       `json:"failures,omitzero"`      // attempts failed since
}

// After is the health after one more attempt that ended then. One success makes
// it good again. Attempts may be told in any order.
func (h Health) After(delivered bool, ended time.Time) Health {
	if delivered {
		return Health{}
	}
	if h.Failures == 0 || ended.Before(h.FailingSince) {
		h.FailingSince = ended
	}
	h.Failures++
	return h
}

// Hopeless says whether the endpoint is to be disabled: five days without a
// success and at least ten attempts.
func (h Health) Hopeless(now time.Time) bool {
	return h.Failures >= DisableAttempts && now.Sub(h.FailingSince) >= DisableAfter
}
