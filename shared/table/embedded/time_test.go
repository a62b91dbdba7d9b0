package embedded_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/embedded"
	"github.com/wardenhq/warden/shared/table/keys"
)

// clock is set by the test.
type clock struct{ unix atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.unix.Store(1_800_000_000)
	return c
}

func (c *clock) now() time.Time          { return time.Unix(c.unix.Load(), 0) }
func (c *clock) advance(d time.Duration) { c.unix.Add(int64(d / time.Second)) }

// feedOf reads what the feed keeps after a sequence.
func feedOf(t *testing.T, s *embedded.Store, after string) ([]table.Change, string) {
	t.Helper()
	var all []table.Change
	for {
		changes, next, err := s.Changes(t.Context(), embedded.Shard, after, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if len(changes) == 0 {
			return all, next
		}
		all, after = append(all, changes...), next
	}
}

func TestTokenLivesTenMinutes(t *testing.T) {
	dir, c := t.TempDir(), newClock()
	o := embedded.Options{Dir: dir, Now: c.now}
	s := open(t, o)
	once := table.Tx{Token: "t", Ops: []table.Op{table.Put(item("A", 1), table.Absent())}}
	other := table.Tx{Token: "t", Ops: []table.Op{table.Put(item("A", 1), table.Any())}}
	if err := s.Transact(t.Context(), once); err != nil {
		t.Fatal(err)
	}
	put(t, s, item("A", 2))
	s = reopen(t, s, o)
	c.advance(table.TokenLifetime - time.Second)
	if err := s.Transact(t.Context(), once); err != nil {
		t.Fatalf("sent again: %v", err)
	}
	if err := s.Transact(t.Context(), other); !errors.Is(err, table.ErrTokenReused) {
		t.Fatalf("with another condition: %v", err)
	}
	want(t, s, "A", 2)

	c.advance(time.Second)
	var canceled *table.CanceledError
	if err := s.Transact(t.Context(), once); !errors.As(err, &canceled) {
		t.Fatalf("after its time: %v, want a new try", err)
	}
	if err := s.Transact(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	c.advance(time.Second)
	put(t, s, item("B", 1)) // forgets the first use of the token, and not the second
	if err := s.Transact(t.Context(), once); !errors.Is(err, table.ErrTokenReused) {
		t.Fatalf("the token's second life: %v", err)
	}
}

func TestRefusedTransactionsTokenIsFree(t *testing.T) {
	s := open(t, embedded.Options{Dir: embedded.Memory})
	var canceled *table.CanceledError
	refused := table.Tx{Token: "t", Ops: []table.Op{table.Put(item("A", 1), table.Present())}}
	if err := s.Transact(t.Context(), refused); !errors.As(err, &canceled) {
		t.Fatal(err)
	}
	accepted := tx(item("A", 1))
	accepted.Token = "t"
	if err := s.Transact(t.Context(), accepted); err != nil {
		t.Fatal(err)
	}
}

func TestTokensAreForgotten(t *testing.T) {
	c := newClock()
	s := open(t, embedded.Options{Dir: embedded.Memory, Now: c.now})
	for i := range 300 {
		one := tx(item("A", uint64(i+1)))
		one.Token = fmt.Sprint(i)
		if err := s.Transact(t.Context(), one); err != nil {
			t.Fatal(err)
		}
	}
	c.advance(table.TokenLifetime + time.Second)
	previous := s.Entries(t, "tokens")
	if previous != 300 {
		t.Fatalf("%d tokens kept of 300", previous)
	}
	for v := uint64(1); previous > 0; v++ {
		put(t, s, item("B", v))
		left := s.Entries(t, "tokens")
		if left != s.Entries(t, "token-expiry") || left >= previous || previous-left > 100 {
			t.Fatalf("a commit left %d of %d tokens", left, previous)
		}
		previous = left
	}
}

func TestExpiredItemsAreRemovedInPieces(t *testing.T) {
	c := newClock()
	s := open(t, embedded.Options{Dir: embedded.Memory, Now: c.now})
	const expiring = 300
	for i := range expiring {
		it := item(fmt.Sprintf("OLD#%03d", i), 1)
		it.TTL = c.now().Unix() + 60
		it.Index[3] = keys.StoredIndexKey("DUE", fmt.Sprintf("%03d", i))
		put(t, s, it)
	}
	later := item("LATER", 1)
	later.TTL = c.now().Unix() + 3600
	renewed := item("OLD#000", 2)
	renewed.TTL = later.TTL
	put(t, s, later, renewed, item("FOREVER", 1))
	_, after := feedOf(t, s, "")

	c.advance(61 * time.Second)
	want(t, s, "OLD#001", 1) // a read removes nothing
	removed := map[keys.Raw]bool{}
	for v := uint64(1); len(removed) < expiring-1; v++ {
		put(t, s, item("B", v))
		var changes []table.Change
		if changes, after = feedOf(t, s, after); len(changes) < 2 || len(changes) > 100 {
			t.Fatalf("a commit made %d changes", len(changes))
		}
		for _, change := range changes {
			if change.New == nil {
				removed[change.Old.Key] = true
			}
		}
	}
	for _, sk := range []string{"OLD#000", "LATER", "FOREVER"} {
		if removed[key(sk)] {
			t.Errorf("%s was removed", sk)
		}
	}
	page, err := s.Query(t.Context(), table.Query{Index: keys.GSI4, PK: "DUE", Limit: 10})
	if err != nil || len(page.Items) != 0 {
		t.Fatalf("the index shows %v, %v", page.Items, err)
	}
	if n := s.Entries(t, "ttl"); n != 2 {
		t.Errorf("%d items wait for their TTL, want 2", n)
	}
}

func TestFeedIsKeptForItsRetention(t *testing.T) {
	c := newClock()
	s := open(t, embedded.Options{Dir: embedded.Memory, Now: c.now})
	for v := uint64(1); v <= 300; v++ {
		put(t, s, item("A", v))
	}
	first, _ := feedOf(t, s, "")
	c.advance(24 * time.Hour)
	put(t, s, item("B", 1))
	if kept, _ := feedOf(t, s, ""); len(kept) != 301 {
		t.Fatalf("%d changes kept for 24 hours, want 301", len(kept))
	}
	c.advance(time.Second)
	for v := uint64(2); v <= 6; v++ {
		put(t, s, item("B", v))
	}
	kept, _ := feedOf(t, s, first[0].Sequence)
	if len(kept) != 6 || kept[0].New.Key != key("B") || kept[0].At.Unix() != c.now().Unix()-1 {
		t.Fatalf("%d changes kept past 24 hours, from %+v", len(kept), kept[0])
	}
	if kept[0].Sequence <= first[299].Sequence || len(kept[0].Sequence) != len(first[0].Sequence) {
		t.Fatalf("sequence %q after %q", kept[0].Sequence, first[299].Sequence)
	}
}

func TestFeedWakesItsReaders(t *testing.T) {
	s := open(t, embedded.Options{Dir: embedded.Memory})
	changed, other := s.Changed(), s.Changed()
	put(t, s, item("A", 1))
	<-changed
	<-other
	changed = s.Changed()
	if err := s.Transact(t.Context(), table.Tx{Ops: []table.Op{table.Check(key("A"), table.Present())}}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-changed:
		t.Error("woken by no change")
	default:
	}
	put(t, s, item("A", 2))
	<-changed
}

func TestFeedRefusesWhatIsNoPosition(t *testing.T) {
	s := open(t, embedded.Options{Dir: embedded.Memory})
	for _, c := range []struct {
		shard, after string
		limit        int
	}{{"1", "", 1}, {"0", "x", 1}, {"0", "-1", 1}, {"0", "", 0}} {
		if _, _, err := s.Changes(t.Context(), c.shard, c.after, c.limit); !errors.Is(err, table.ErrInvalidQuery) {
			t.Errorf("%+v: %v, want ErrInvalidQuery", c, err)
		}
	}
}
