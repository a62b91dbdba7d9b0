package protocoltest

import (
	"testing"

	"go.uber.org/goleak"
)

// No schedule leaves an actor behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A seed gives the same run each time: or no fault could be looked at twice.
func TestSeedsReplay(t *testing.T) {
	for seed := range uint64(60) {
		if first := replay(seed, nil); first == "" || first != replay(seed, nil) {
			t.Fatalf("seed %d: two runs, two traces", seed)
		}
	}
}
