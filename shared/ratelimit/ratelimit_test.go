package ratelimit_test

import (
	"testing"
	"time"

	"github.com/wardenhq/warden/shared/ratelimit"
)

var start = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func TestKeysAndOrgsHaveBucketsOfTheirOwn(t *testing.T) {
	l := ratelimit.New(ratelimit.Limit{PerSecond: 10, Burst: 2}, ratelimit.Limit{PerSecond: 10, Burst: 3})
	for i, c := range []struct {
		key, org string
		passes   bool
	}{
		{"a", "o", true}, {"a", "o", true}, {"a", "o", false}, // the key's burst
		{"b", "o", true}, {"b", "o", false}, // the org's
		{"c", "p", true}, {"c", "p", true}, // another tenant is not slowed
		{"operator", "", true},
	} {
		wait := l.Take(c.key, c.org, 1, start)
		if (wait == 0) != c.passes || wait > 200*time.Millisecond {
			t.Errorf("%d: key %s of org %s waits %s", i, c.key, c.org, wait)
		}
	}
}

func TestRefusedRequestsTakeNothing(t *testing.T) {
	l := ratelimit.New(ratelimit.Limit{PerSecond: 1, Burst: 2}, ratelimit.Limit{PerSecond: 1, Burst: 1})
	l.Take("a", "o", 1, start)
	for range 100 {
		if l.Take("a", "o", 1, start) == 0 {
			t.Fatal("over the org's limit")
		}
	}
	if wait := l.Take("a", "o", 1, start.Add(time.Second)); wait != 0 {
		t.Errorf("after a second it still waits %s: refused requests were counted", wait)
	}
}

func TestRefills(t *testing.T) {
	l := ratelimit.New(ratelimit.Limit{PerSecond: 2, Burst: 1}, ratelimit.Limit{})
	if l.Take("a", "o", 1, start) != 0 {
		t.Fatal("the first is refused")
	}
	if wait := l.Take("a", "o", 1, start); wait != 500*time.Millisecond {
		t.Errorf("waits %s", wait)
	}
	if wait := l.Take("a", "o", 1, start.Add(500*time.Millisecond)); wait != 0 {
		t.Errorf("waits %s", wait)
	}
}

func TestBatchesCountForWhatTheyAsk(t *testing.T) {
	l := ratelimit.New(ratelimit.Limit{PerSecond: 100, Burst: 100}, ratelimit.Limit{})
	if l.Take("a", "", 60, start) != 0 || l.Take("a", "", 60, start) == 0 {
		t.Error("120 checks in two batches passed a burst of 100")
	}
	if l.Take("b", "", 1000, start) != 0 {
		t.Error("a batch larger than the burst can never come")
	}
	if wait := l.Take("b", "", 1, start); wait < 9*time.Second {
		t.Errorf("after 1,000 checks at 100 a second the next comes after %s", wait)
	}
}

func TestNoLimit(t *testing.T) {
	var none *ratelimit.Limiter
	for range 1000 {
		if none.Take("a", "o", 1, start) != 0 || ratelimit.New(ratelimit.Limit{}, ratelimit.Limit{}).Take("a", "o", 1, start) != 0 {
			t.Fatal("limited")
		}
	}
}
