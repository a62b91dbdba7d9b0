// Package tabletest is the conformance suite of the storage port: one test for
// each promise in the package comment of table, run over every adapter.
package tabletest

import (
	"slices"
	"testing"

	"github.com/wardenhq/warden/shared/table"
)

// Harness is one backend under test.
type Harness struct {
	// New returns an empty store, and its feed where the backend has one. What
	// it opens is closed by the test's cleanup.
	New func(t *testing.T) (table.Store, table.Feed)
	// Settle waits until eventual reads and indexes show every acknowledged
	// write. Nil: they do so at once.
	Settle func(t *testing.T)
	// LeaveOut makes the store leave at least one key unanswered in each of its
	// next calls that read a batch. Nil: the backend can't be made to.
	LeaveOut func(s table.Store, calls int)
	// CannotProve names the promises that this backend can't show, each with
	// the reason. Everything else is run.
	CannotProve map[string]string
}

type promise struct {
	name  string
	prove func(*world)
}

var promises = slices.Concat(readPromises, queryPromises, transactPromises, limitPromises, feedPromises, costPromises)

// Run holds the backend to every promise of the port; each is one subtest.
func Run(t *testing.T, h Harness) {
	t.Helper()
	for name := range h.CannotProve {
		if !slices.ContainsFunc(promises, func(p promise) bool { return p.name == name }) {
			t.Errorf("CannotProve names %q, which is no promise", name)
		}
	}
	for _, p := range promises {
		t.Run(p.name, func(t *testing.T) {
			if reason, ok := h.CannotProve[p.name]; ok {
				t.Skip("this backend can't prove it: " + reason)
			}
			store, feed := h.New(t)
			p.prove(&world{T: t, Harness: h, store: store, feed: feed})
		})
	}
}
