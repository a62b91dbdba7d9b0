package webhook

import (
	"net/http"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func fixed(f float64) func() float64 { return func() float64 { return f } }

// middle is jitter that changes nothing.
var middle = fixed(0.5)

func TestLadderWithoutJitter(t *testing.T) {
	var waits []time.Duration
	for n := 1; ; n++ {
		v := Next(Attempt{Number: n, Status: 403}, now, middle)
		if v.Outcome != Retry {
			if v.Outcome != Exhausted || n != MaxAttempts {
				t.Errorf("attempt %d: %v, want the end after %d", n, v.Outcome, MaxAttempts)
			}
			break
		}
		waits = append(waits, v.At.Sub(now))
	}
	var sum time.Duration
	for i, want := range []time.Duration{
		5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
		10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
	} {
		if waits[i] != want {
			t.Errorf("after attempt %d: %v, want %v", i+1, waits[i], want)
		}
		sum += waits[i]
	}
	if MaxAttempts != 10 || sum.Round(6*time.Minute) != 75*time.Hour+36*time.Minute {
		t.Errorf("%d attempts within %v, want 10 within 75.6 h", MaxAttempts, sum)
	}
}

func TestOutcomes(t *testing.T) {
	at := func(wait time.Duration) time.Time { return now.Add(wait) }
	date := func(wait time.Duration) string { return now.Add(wait).Format(http.TimeFormat) }
	retry := func(wait time.Duration) Verdict { return Verdict{Retry, at(wait)} }
	for name, c := range map[string]struct {
		attempt Attempt
		want    Verdict
	}{
		"200":                         {Attempt{Number: 1, Status: 200}, Verdict{Outcome: Delivered}},
		"299":                         {Attempt{Number: 1, Status: 299}, Verdict{Outcome: Delivered}},
		"delivered at last":           {Attempt{Number: 10, Status: 204}, Verdict{Outcome: Delivered}},
		"101":                         {Attempt{Number: 1, Status: 101}, retry(5 * time.Second)},
		"300":                         {Attempt{Number: 1, Status: 300}, retry(5 * time.Second)},
		"302":                         {Attempt{Number: 1, Status: 302}, retry(5 * time.Second)},
		"304":                         {Attempt{Number: 1, Status: 304}, retry(5 * time.Second)},
		"400":                         {Attempt{Number: 1, Status: 400}, retry(5 * time.Second)},
		"404":                         {Attempt{Number: 1, Status: 404}, retry(5 * time.Second)},
		"500":                         {Attempt{Number: 2, Status: 500}, retry(5 * time.Minute)},
		"no answer":                   {Attempt{Number: 1}, retry(5 * time.Second)},
		"no answer in time":           {Attempt{Number: 1, TimedOut: true}, retry(75 * time.Second)},
		"429":                         {Attempt{Number: 1, Status: 429}, retry(75 * time.Second)},
		"502":                         {Attempt{Number: 1, Status: 502}, retry(75 * time.Second)},
		"503":                         {Attempt{Number: 1, Status: 503}, retry(75 * time.Second)},
		"504":                         {Attempt{Number: 1, Status: 504}, retry(75 * time.Second)},
		"503 later on":                {Attempt{Number: 2, Status: 503}, retry(5 * time.Minute)},
		"410":                         {Attempt{Number: 1, Status: 410}, Verdict{Outcome: Gone}},
		"410 at last":                 {Attempt{Number: 10, Status: 410}, Verdict{Outcome: Gone}},
		"asked for later":             {Attempt{Number: 1, Status: 503, RetryAfter: "1000"}, retry(1100 * time.Second)},
		"asked on any failure":        {Attempt{Number: 1, Status: 500, RetryAfter: "1000"}, retry(1100 * time.Second)},
		"asked for sooner":            {Attempt{Number: 2, Status: 503, RetryAfter: "1"}, retry(5 * time.Minute)},
		"asked for too late":          {Attempt{Number: 1, Status: 503, RetryAfter: "99999999"}, retry(24 * time.Hour)},
		"asked for ever":              {Attempt{Number: 1, Status: 503, RetryAfter: "99999999999999999999999"}, retry(24 * time.Hour)},
		"asked by date":               {Attempt{Number: 1, Status: 503, RetryAfter: date(1000 * time.Second)}, retry(1100 * time.Second)},
		"asked by a date gone by":     {Attempt{Number: 1, Status: 503, RetryAfter: date(-time.Hour)}, retry(75 * time.Second)},
		"asked by a date far off":     {Attempt{Number: 1, Status: 503, RetryAfter: "Fri, 31 Dec 9999 23:59:59 GMT"}, retry(24 * time.Hour)},
		"asked with spaces":           {Attempt{Number: 1, Status: 503, RetryAfter: " 1000 "}, retry(1100 * time.Second)},
		"asked for the past":          {Attempt{Number: 1, Status: 503, RetryAfter: "-5"}, retry(75 * time.Second)},
		"asked in words":              {Attempt{Number: 1, Status: 503, RetryAfter: "soon"}, retry(75 * time.Second)},
		"asked after the last":        {Attempt{Number: 10, Status: 503, RetryAfter: "5"}, Verdict{Outcome: Exhausted}},
		"asked with a success":        {Attempt{Number: 1, Status: 200, RetryAfter: "1000"}, Verdict{Outcome: Delivered}},
		"a count from before the log": {Attempt{Number: -1, Status: 500}, retry(0)},
	} {
		t.Run(name, func(t *testing.T) {
			got := Next(c.attempt, now, middle)
			if got.Outcome != c.want.Outcome || !got.At.Equal(c.want.At) {
				t.Errorf("got %v after %v, want %v after %v", got.Outcome, got.At.Sub(now), c.want.Outcome, c.want.At.Sub(now))
			}
		})
	}
}

func TestWaitsKeepTheirBounds(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		a := Attempt{
			Number:     rapid.IntRange(1, MaxAttempts-1).Draw(r, "number"),
			Status:     rapid.SampledFrom([]int{0, 302, 404, 429, 500, 502, 503, 504}).Draw(r, "status"),
			TimedOut:   rapid.Bool().Draw(r, "timed out"),
			RetryAfter: rapid.SampledFrom([]string{"", "0", "7", "90", "3600", "86400", "1000000", "x"}).Draw(r, "retry after"),
		}
		j := rapid.Float64Range(0, 0.9999999).Draw(r, "jitter")
		v := Next(a, now, fixed(j))
		wait, planned := v.At.Sub(now), ladder[a.Number]
		if v.Outcome != Retry || wait < planned*8/10 || wait > max(planned*12/10, 24*time.Hour) {
			r.Fatalf("%v after %v, planned %v", v.Outcome, wait, planned)
		}
		if a.overload() && wait < time.Minute {
			r.Fatalf("only %v after a sign of overload", wait)
		}
		if asked := retryAfter(a.RetryAfter, now); wait < asked {
			r.Fatalf("only %v where %v was asked", wait, asked)
		}
	})
}

// What failed together is not tried again together.
func TestJitterSpreads(t *testing.T) {
	for _, a := range []Attempt{{Number: 1, Status: 500}, {Number: 1, Status: 503}, {Number: 2, Status: 503, RetryAfter: "1000"}} {
		first, last := Next(a, now, fixed(0)), Next(a, now, fixed(0.999999))
		if spread := last.At.Sub(first.At); spread < first.At.Sub(now)/6 {
			t.Errorf("%+v: a spread of %v only", a, spread)
		}
	}
}

func TestHealth(t *testing.T) {
	failing := func(n int, every time.Duration) Health {
		var h Health
		for i := range n {
			h = h.After(false, now.Add(time.Duration(i)*every))
		}
		return h
	}
	day := 24 * time.Hour
	for name, c := range map[string]struct {
		health Health
		at     time.Duration
		want   bool
	}{
		"good":                         {Health{}, 100 * day, false},
		"ten failures at once":         {failing(10, 0), time.Minute, false},
		"nine failures for long":       {failing(9, time.Hour), 100 * day, false},
		"ten, a moment too soon":       {failing(10, time.Hour), 5*day - 1, false},
		"ten failures for five days":   {failing(10, time.Hour), 5 * day, true},
		"a success between":            {failing(9, time.Hour).After(true, now.Add(day)).After(false, now.Add(2*day)), 6 * day, false},
		"told out of order":            {failing(9, 0).After(false, now.Add(-day)), 4 * day, true},
		"good again by the last of it": {failing(20, time.Hour).After(true, now.Add(6*day)), 7 * day, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.health.Hopeless(now.Add(c.at)); got != c.want {
				t.Errorf("%+v: %v, want %v", c.health, got, c.want)
			}
		})
	}
}
