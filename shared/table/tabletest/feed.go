package tabletest

import (
	"fmt"
	"time"

	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

var feedPromises = []promise{
	{"FeedImages", feedImages},
	{"FeedOrder", feedOrder},
	{"FeedResume", feedResume},
}

// reader follows the feed from given positions on.
type reader struct {
	*world

	after map[string]string // the position to go on after, of each shard
	seen  map[string]bool   // shard and sequence of what was told already
	limit int
}

func (w *world) reader(limit int) *reader {
	w.Helper()
	if w.feed == nil {
		w.Fatal("the backend has no feed; CannotProve must say so")
	}
	return &reader{w, map[string]string{}, map[string]bool{}, limit}
}

// poll asks every shard once and returns what was not told before.
func (r *reader) poll() []table.Change {
	r.Helper()
	shards, err := r.feed.Shards(r.Context())
	r.must(err)
	var fresh []table.Change
	for _, shard := range shards {
		changes, next, err := r.feed.Changes(r.Context(), shard, r.after[shard], r.limit)
		r.must(err)
		if len(changes) > r.limit {
			r.Fatalf("%d changes, limit %d", len(changes), r.limit)
		}
		r.after[shard] = next
		for _, c := range changes {
			if c.Shard != shard || c.Sequence == "" || c.At.IsZero() {
				r.Fatalf("a change of shard %q without its place: %+v", shard, c)
			}
			if id := shard + " " + c.Sequence; !r.seen[id] {
				r.seen[id] = true
				fresh = append(fresh, c)
			}
		}
	}
	return fresh
}

// feedPatience is how long a change may take from its acknowledgement to the feed.
const feedPatience = 30 * time.Second

// read waits for that many changes not told before.
func (r *reader) read(n int) []table.Change {
	r.Helper()
	var got []table.Change
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for start := time.Now(); len(got) < n; <-tick.C {
		if time.Since(start) > feedPatience {
			r.Fatalf("%d changes, want %d", len(got), n)
		}
		got = append(got, r.poll()...)
	}
	return got
}

func feedImages(w *world) {
	r := w.reader(100)
	a1, b1 := item(key("A"), 1), item(keys.Stored("Q", "B"), 1)
	b1.Body, b1.Blob, b1.TTL = []byte(`{"é":"🦊"}`), []byte{0, 255}, 1<<40
	b1.Actor, b1.RequestID, b1.LastEvent = "user:b", "r", "e"
	indexed(indexed(b1, keys.GSI1, "I", "1"), keys.GSI4, "D", "2")
	a2 := item(key("A"), 2)
	type change struct{ Old, New *table.Item }
	want := map[keys.Raw][]change{
		a1.Key: {{nil, a1}, {a1, a2}, {a2, nil}},
		b1.Key: {{nil, b1}},
	}
	w.write(put(a1), put(b1))
	w.write(put(a2), table.Check(b1.Key, table.VersionIs(1))) // a check changes nothing
	w.wantCanceled(w.store.Transact(w.Context(), table.Tx{Ops: []table.Op{
		put(item(key("REFUSED"), 1)), table.Check(key("NONE"), table.Present()),
	}}))
	w.write(table.Delete(key("NONE"), table.Any())) // nor does removing what is not there
	w.write(table.Delete(a1.Key, table.Any()))

	got := map[keys.Raw][]change{}
	for _, c := range append(r.read(4), r.poll()...) {
		k := keys.Raw{}
		switch {
		case c.New != nil:
			k = c.New.Key
		case c.Old != nil:
			k = c.Old.Key
		}
		got[k] = append(got[k], change{c.Old, c.New})
	}
	for k, changes := range want {
		w.wantSame(got[k], changes)
	}
	if len(got) != len(want) {
		w.Fatalf("changes of %d items, want %d", len(got), len(want))
	}
}

// history writes versions 1 to n of several items, interleaved.
func (w *world) history(items, n int) {
	w.Helper()
	for v := range n {
		var ops []table.Op
		for i := range items {
			ops = append(ops, put(item(keys.Stored(fmt.Sprintf("P%d", i), "A"), uint64(v+1))))
		}
		w.must(w.store.Transact(w.Context(), table.Tx{Ops: ops}))
	}
	w.settle()
}

func feedOrder(w *world) {
	const items, versions = 5, 12
	r := w.reader(7)
	w.history(items, versions)
	last := map[keys.Raw]uint64{}
	for _, c := range r.read(items * versions) {
		if c.New == nil || table.VersionOf(c.Old) != c.New.Version-1 || last[c.New.Key] != c.New.Version-1 {
			w.Fatalf("change %+v after version %d", c, last[c.New.Key])
		}
		last[c.New.Key] = c.New.Version
	}
}

func feedResume(w *world) {
	const items, versions = 3, 6
	w.history(items, versions)
	whole := w.reader(100).read(items * versions)
	ofShard := map[string][]table.Change{}
	for _, c := range whole {
		ofShard[c.Shard] = append(ofShard[c.Shard], c)
	}
	for shard, all := range ofShard {
		for i, c := range all {
			r := w.reader(2)
			for other, changes := range ofShard { // the other shards are read to their end
				r.after[other] = changes[len(changes)-1].Sequence
			}
			r.after[shard] = c.Sequence
			w.wantSame(r.read(len(all)-i-1), all[i+1:])
		}
	}

	// A position stays good after more was written.
	r := w.reader(100)
	before := r.read(items * versions)
	w.write(put(item(keys.Stored("P0", "NEW"), 1)))
	after := r.read(1)
	w.wantSame(after[0].New, item(keys.Stored("P0", "NEW"), 1))
	if len(before) != items*versions || len(after) != 1 {
		w.Fatalf("%d changes, then %d", len(before), len(after))
	}
}
