package webhook

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// ladder is the wait before each attempt, counted from the end of the one
// before it: the example of Standard Webhooks, "Deliverability and reliability".
var ladder = [...]time.Duration{
	0, 5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour,
	5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// MaxAttempts is how often one delivery is tried in all.
const MaxAttempts = len(ladder)

const (
	jitterShare = 0.2 // a wait is longer or shorter by up to this
	// overloadWait is the least planned wait after a sign of overload: with all
	// of the jitter off it, 60 s are left.
	overloadWait = 75 * time.Second
	// maxRetryAfter is the longest wait a receiver can ask for.
	maxRetryAfter = 24 * time.Hour
)

// Attempt is what is known of an attempt that is over.
type Attempt struct {
	Number     int    // from 1
	Status     int    // of a complete answer, 0 without one
	TimedOut   bool   // no complete answer in time
	RetryAfter string // the answer's Retry-After header, as it came
}

// Delivered says whether the attempt succeeded: a status from 200 to 299, and
// nothing else. A redirect is a failure.
func (a Attempt) Delivered() bool { return a.Status >= 200 && a.Status <= 299 }

func (a Attempt) overload() bool {
	switch a.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return a.TimedOut
}

// Outcome is what follows from an attempt.
type Outcome uint8

// The outcomes of an attempt.
const (
	Delivered Outcome = iota + 1 // done
	Retry                        // try again at Verdict.At
	Exhausted                    // that was the last attempt; the delivery failed
	Gone                         // 410: the delivery failed, and the endpoint is to be disabled now
)

func (o Outcome) String() string {
	switch o {
	case Delivered:
		return "delivered"
	case Retry:
		return "retry"
	case Exhausted:
		return "exhausted"
	case Gone:
		return "gone"
	}
	return "unknown"
}

// Verdict is an outcome, with the next attempt's time for Retry.
type Verdict struct {
	Outcome Outcome
	At      time.Time
}

// Next decides what follows from an attempt that ended now. The wait is the
// ladder's with up to 20 % of jitter, at least 60 s after 429, 502, 503, 504 and
// a timeout. A Retry-After, in seconds or as a date, is honoured on any failure,
// up to 24 h and never before the ladder's time; jitter only adds to it. jitter
// gives a number in [0, 1).
func Next(a Attempt, now time.Time, jitter func() float64) Verdict {
	switch {
	case a.Delivered():
		return Verdict{Outcome: Delivered}
	case a.Status == http.StatusGone:
		return Verdict{Outcome: Gone}
	case a.Number >= MaxAttempts:
		return Verdict{Outcome: Exhausted}
	}
	planned := ladder[max(a.Number, 0)]
	if a.overload() {
		planned = max(planned, overloadWait)
	}
	share := jitter()
	wait := stretch(planned, 2*share-1)
	if asked := retryAfter(a.RetryAfter, now); asked > 0 {
		wait = max(wait, min(stretch(asked, share), maxRetryAfter))
	}
	return Verdict{Retry, now.Add(wait)}
}

// stretch makes a wait longer or shorter by the share of the jitter, -1 to 1.
func stretch(d time.Duration, share float64) time.Duration {
	return d + time.Duration(float64(d)*jitterShare*share)
}

// retryAfter is how long a Retry-After asks to wait (RFC 9110, section 10.2.3),
// at most maxRetryAfter; 0 when it asks nothing or can't be read.
func retryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if date, err := http.ParseTime(value); err == nil {
		return min(max(date.Sub(now), 0), maxRetryAfter)
	}
	if value == "" || strings.Trim(value, "0123456789") != "" {
		return 0
	}
	seconds, err := strconv.ParseUint(value, 10, 64)
	if err != nil {
		seconds = math.MaxUint64 // digits only, and too many of them
	}
	return time.Duration(min(seconds, uint64(maxRetryAfter/time.Second))) * time.Second
}
