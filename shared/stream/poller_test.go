package stream_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/wardenhq/warden/shared/stream"
	"github.com/wardenhq/warden/shared/table"
)

// feed is a feed of numbered changes.
type feed struct {
	mu      sync.Mutex
	count   int
	changed chan struct{}
}

func newFeed(n int) *feed { return &feed{count: n, changed: make(chan struct{})} }

func (f *feed) Shards(context.Context) ([]string, error) { return []string{"s"}, nil }

func (f *feed) Changes(_ context.Context, shard, after string, limit int) (out []table.Change, next string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, _ := strconv.Atoi(after)
	for at < f.count && len(out) < limit {
		at++
		out = append(out, table.Change{Shard: shard, Sequence: strconv.Itoa(at)})
	}
	return out, strconv.Itoa(at), nil
}

func (f *feed) Changed() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changed
}

func (f *feed) add(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count += n
	close(f.changed)
	f.changed = make(chan struct{})
}

type checkpoints struct {
	mu sync.Mutex
	at map[string]string
}

func (c *checkpoints) Checkpoint(_ context.Context, reader, shard string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at[reader+shard], nil
}

func (c *checkpoints) SaveCheckpoint(_ context.Context, reader, shard, sequence string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at[reader+shard] = sequence
	return nil
}

// still is a clock that doesn't wait, and notes how long it was asked to.
type still struct{ waits []time.Duration }

func (*still) Now() time.Time { return time.Time{} }

func (s *still) Sleep(ctx context.Context, d time.Duration) error {
	s.waits = append(s.waits, d)
	return ctx.Err()
}

// run polls until the handler has seen the change `last`, and returns all it was given to do.
func run(t *testing.T, p *stream.Poller, handle func(table.Change) error, last string) (seen []string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p.Handler = stream.Each(func(_ context.Context, c table.Change) error {
		seen = append(seen, c.Sequence)
		err := handle(c)
		if err == nil && c.Sequence == last {
			cancel()
		}
		return err
	})
	if err := p.Run(ctx); err != nil {
		t.Fatal(err)
	}
	return seen
}

func poller(f *feed, c *checkpoints) *stream.Poller {
	return &stream.Poller{
		Name: "r", Feed: f, Checkpoints: c, Clock: &still{}, Batch: 4, Attempts: 3, Backoff: time.Second,
		Park: func(context.Context, string, table.Change, error) error { return errors.New("nothing is to be parked") },
	}
}

func TestInOrderAndResumed(t *testing.T) {
	f, c := newFeed(10), &checkpoints{at: map[string]string{}}
	first := run(t, poller(f, c), func(table.Change) error { return nil }, "10")
	if !slices.Equal(first, []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10"}) {
		t.Errorf("got %v", first)
	}
	f.add(2)
	again := run(t, poller(f, c), func(table.Change) error { return nil }, "12")
	if n := len(again); n < 2 || n > 6 || again[n-1] != "12" || again[n-2] != "11" { // at least once: the last batch may come again
		t.Errorf("after a restart got %v", again)
	}
}

func TestWakesOnChange(t *testing.T) {
	f, c := newFeed(0), &checkpoints{at: map[string]string{}}
	go f.add(1)
	if got := run(t, poller(f, c), func(table.Change) error { return nil }, "1"); len(got) != 1 {
		t.Errorf("got %v", got)
	}
}

func TestStopsAtTheFirstFailure(t *testing.T) {
	p := poller(newFeed(4), &checkpoints{at: map[string]string{}})
	tries := 0
	got := run(t, p, func(c table.Change) error {
		if c.Sequence == "2" {
			if tries++; tries < 3 {
				return errors.New("not yet")
			}
		}
		return nil
	}, "4")
	if !slices.Equal(got, []string{"1", "2", "2", "2", "3", "4"}) {
		t.Errorf("got %v: what follows a failure has to wait for it", got)
	}
}

func TestPoisonIsParkedAndPassed(t *testing.T) {
	p := poller(newFeed(4), &checkpoints{at: map[string]string{}})
	c := &still{}
	p.Clock = c
	var parked, reported []string
	p.Park = func(_ context.Context, reader string, ch table.Change, cause error) error {
		parked = append(parked, fmt.Sprintf("%s %s: %v", reader, ch.Sequence, cause))
		return nil
	}
	p.Report = func(_ string, ch table.Change, attempt int, _ error) {
		reported = append(reported, fmt.Sprintf("%s/%d", ch.Sequence, attempt))
	}
	got := run(t, p, func(c table.Change) error {
		if c.Sequence == "2" {
			return errors.New("poison")
		}
		return nil
	}, "4")
	if !slices.Equal(got, []string{"1", "2", "2", "2", "3", "4"}) || !slices.Equal(parked, []string{"r 2: poison"}) {
		t.Errorf("got %v, parked %v", got, parked)
	}
	if !slices.Equal(reported, []string{"2/1", "2/2", "2/3"}) || !slices.Equal(c.waits, []time.Duration{time.Second, 2 * time.Second}) {
		t.Errorf("reported %v, waits %v", reported, c.waits)
	}
}

func TestWhatCannotBeParkedIsNotPassed(t *testing.T) {
	p := poller(newFeed(2), &checkpoints{at: map[string]string{}})
	p.Handler = stream.Each(func(context.Context, table.Change) error { return errors.New("poison") })
	if err := p.Run(t.Context()); err == nil {
		t.Error("the reader went on")
	}
	if at, _ := p.Checkpoints.Checkpoint(t.Context(), "r", "s"); at != "" {
		t.Errorf("checkpoint %q", at)
	}
}
