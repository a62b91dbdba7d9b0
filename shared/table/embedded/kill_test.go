package embedded_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/embedded"
	"github.com/wardenhq/warden/shared/table/keys"
)

const (
	stormDir     = "WARDEN_TEST_STORM_DIR"
	stormWriters = 8
)

// TestKilledWritersKeepEveryAcknowledgedTransaction kills a process in the
// middle of a write storm, a few times over the same directory.
func TestKilledWritersKeepEveryAcknowledgedTransaction(t *testing.T) {
	if isChild(t) {
		storm(t, os.Getenv(stormDir))
		return
	}
	dir := t.TempDir()
	var acknowledged [stormWriters]uint64
	for range 5 {
		killDuringStorm(t, dir, &acknowledged)
		s := open(t, embedded.Options{Dir: dir})
		for w := range stormWriters {
			acknowledged[w] = checkStorm(t, s, w, acknowledged[w])
		}
		checkStormFeed(t, s, acknowledged)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// storm writes until it is killed: each writer's n-th transaction raises three
// items to version n, moves one of them in an index and adds a log entry. What
// is acknowledged goes to standard output.
func storm(t *testing.T, dir string) {
	s := open(t, embedded.Options{Dir: dir})
	var all sync.WaitGroup
	for w := range stormWriters {
		all.Go(func() {
			stored, err := s.Get(context.Background(), stormKey(w, "STATE#0"), table.Strong)
			for n := table.VersionOf(stored) + 1; err == nil; n++ {
				if err = s.Transact(context.Background(), stormTx(w, n)); err == nil {
					fmt.Printf("\nacknowledged %d %d\n", w, n)
				}
			}
			t.Error(err)
		})
	}
	all.Wait()
}

func stormKey(w int, sk string) keys.Raw { return keys.Stored(fmt.Sprint("WRITER#", w), sk) }

func stormTx(w int, n uint64) table.Tx {
	out := table.Tx{Token: fmt.Sprint(w, "-", n)}
	for i := range 3 {
		it := item("", n)
		it.Key = stormKey(w, fmt.Sprint("STATE#", i))
		it.Body = []byte(strings.Repeat("x", 1_000*(i+1)))
		if i == 0 {
			it.Index[2] = keys.StoredIndexKey(fmt.Sprint("WRITER#", w), fmt.Sprintf("%09d", n))
		}
		out.Ops = append(out.Ops, table.Put(it, table.VersionIs(n-1)))
	}
	log := item("", 1)
	log.Key = stormKey(w, fmt.Sprintf("LOG#%09d", n))
	out.Ops = append(out.Ops, table.Put(log, table.Absent()))
	return out
}

// killDuringStorm starts a storm and kills it at a moment it can't know.
func killDuringStorm(t *testing.T, dir string, acknowledged *[stormWriters]uint64) {
	t.Helper()
	cmd := child(t, stormDir+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines, left := bufio.NewScanner(out), 50+rand.IntN(300)
	for lines.Scan() {
		var w int
		var n uint64
		if _, err := fmt.Sscanf(lines.Text(), "acknowledged %d %d", &w, &n); err != nil {
			continue // what the test itself prints
		}
		acknowledged[w] = max(acknowledged[w], n)
		if left--; left == 0 {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil || left > 0 {
		t.Fatalf("the storm ended by itself: %v", err)
	}
}

// checkStorm finds a writer's last transaction, at most one above what was
// acknowledged, whole.
func checkStorm(t *testing.T, s *embedded.Store, w int, acknowledged uint64) uint64 {
	t.Helper()
	wanted := []keys.Raw{stormKey(w, "STATE#0"), stormKey(w, "STATE#1"), stormKey(w, "STATE#2")}
	state, err := s.TransactGet(t.Context(), wanted)
	if err != nil {
		t.Fatal(err)
	}
	last := table.VersionOf(state[0])
	if last < acknowledged || last > acknowledged+1 {
		t.Fatalf("writer %d: version %d after %d was acknowledged", w, last, acknowledged)
	}
	for _, it := range state {
		if table.VersionOf(it) != last {
			t.Fatalf("writer %d: half a transaction: %d beside %d", w, table.VersionOf(it), last)
		}
	}
	entries, logged := 0, uint64(0)
	for q := (table.Query{Index: keys.GSI3, PK: fmt.Sprint("WRITER#", w), Limit: 1000}); ; {
		page, err := s.Query(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		entries += len(page.Items)
		if q.Cursor = page.Cursor; q.Cursor == "" {
			break
		}
	}
	for q := (table.Query{PK: fmt.Sprint("WRITER#", w), Prefix: "LOG#", Limit: 1000}); ; {
		page, err := s.Query(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		logged += uint64(len(page.Items))
		if q.Cursor = page.Cursor; q.Cursor == "" {
			break
		}
	}
	if logged != last || entries != int(min(last, 1)) {
		t.Fatalf("writer %d: %d log entries and %d in the index, after %d transactions", w, logged, entries, last)
	}
	return last
}

// checkStormFeed finds exactly the four changes of each transaction, in order.
func checkStormFeed(t *testing.T, s *embedded.Store, transactions [stormWriters]uint64) {
	t.Helper()
	seen := map[keys.Raw]uint64{}
	count, after := uint64(0), ""
	for {
		changes, next, err := s.Changes(t.Context(), embedded.Shard, after, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if len(changes) == 0 {
			break
		}
		for _, c := range changes {
			if table.VersionOf(c.Old) != seen[c.New.Key] || c.New.Version != seen[c.New.Key]+1 {
				t.Fatalf("%v: change from %d to %d after %d", c.New.Key, table.VersionOf(c.Old), c.New.Version, seen[c.New.Key])
			}
			seen[c.New.Key] = c.New.Version
		}
		count, after = count+uint64(len(changes)), next
	}
	total := uint64(0)
	for _, n := range transactions {
		total += n
	}
	if count != 4*total {
		t.Fatalf("%d changes of %d transactions", count, total)
	}
}
