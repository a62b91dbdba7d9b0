package weak

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/wardenhq/warden/shared/table"
)

// shard is the only one there is: records of all partitions are mixed in it.
const shard = "weak"

// maxDoubled is how many changes are told once more at most.
const maxDoubled = 3

// feed is what was told, and what is still on its way, in the order of commits.
type feed struct {
	told    []table.Change
	waiting []record
}

// record is a change on its way.
type record struct {
	table.Change

	pk  string
	due time.Time
}

func (f *feed) add(c change, at, due time.Time) {
	f.waiting = append(f.waiting, record{table.Change{Shard: shard, At: at, Old: c.old, New: c.new}, c.key.PK(), due})
}

func (f *feed) tell(i int) {
	c := f.waiting[i].Change
	c.Sequence = fmt.Sprintf("%020d", len(f.told)+1)
	f.told = append(f.told, c)
	f.waiting = slices.Delete(f.waiting, i, i+1)
}

// release tells what is due, partitions in any order among each other, each
// partition's own changes in theirs.
func (t *Table) release() {
	for {
		ready := t.feed.ready(t.opt.Now())
		switch {
		case len(ready) == 0:
			return
		case t.knobs.FeedLag > 0:
			t.feed.tell(ready[t.opt.Rand.IntN(len(ready))])
		default:
			t.feed.tell(ready[0])
		}
	}
}

func (t *Table) releaseAll() {
	for len(t.feed.waiting) > 0 {
		t.feed.tell(0)
	}
}

// ready are the partitions' first records that are due.
func (f *feed) ready(now time.Time) []int {
	var ready []int
	passed := map[string]bool{}
	for i, r := range f.waiting {
		if !passed[r.pk] && !r.due.After(now) {
			ready = append(ready, i)
		}
		passed[r.pk] = true
	}
	return ready
}

// Shards implements table.Feed.
func (t *Table) Shards(ctx context.Context) ([]string, error) { return []string{shard}, ctx.Err() }

// Changes implements table.Feed.
func (t *Table) Changes(ctx context.Context, in, after string, limit int) ([]table.Change, string, error) {
	if err := t.before(ctx, Call{Kind: Changes}); err != nil {
		return nil, after, err
	}
	start := 0
	if after != "" {
		n, err := strconv.Atoi(after)
		if err != nil {
			return nil, after, fmt.Errorf("weak: position %q: %w", after, err)
		}
		start = n
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.release()
	if in != shard || start < 0 || start > len(t.feed.told) {
		return nil, after, fmt.Errorf("weak: no position %q in shard %q", after, in)
	}
	known := start
	if start > 0 && t.chance(t.knobs.Doubled) {
		start -= 1 + t.opt.Rand.IntN(min(start, maxDoubled))
	}
	end := min(len(t.feed.told), start+max(limit, 0))
	next := after
	if end > known {
		next = t.feed.told[end-1].Sequence
	}
	return slices.Clone(t.feed.told[start:end]), next, nil
}
