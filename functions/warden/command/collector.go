package command

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// room is how far the heap may grow between two collections at least, in bytes.
const room = 24 << 20

// giveRoom lets the garbage collector wait for that much garbage. Otherwise it
// waits for as much as is alive, and of that there is little here whatever the
// size of the tenants: some megabytes, for which it ran each few dozen writes and
// took a quarter of their processor time. A larger heap is collected as always.
//
// It holds for the process, so only a command calls it, and not when the
// operator has said how to collect.
func giveRoom() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	percent := 0
	var collected func(*sentinel)
	collected = func(s *sentinel) { // after each collection, as nothing else holds it
		metrics.Read(live)
		if p := growth(live[0].Value.Uint64()); p != percent {
			percent = p
			debug.SetGCPercent(p)
		}
		runtime.SetFinalizer(s, collected)
	}
	collected(new(sentinel))
}

// sentinel is larger than what the runtime allocates together and may never finalize.
type sentinel [64]byte

// The bounds of growth, and its grain: changing it stops the world for a moment.
const (
	leastGrowth = 100 // what the runtime does of its own accord
	mostGrowth  = 800
	grain       = 50
)

// growth is by how many percent a heap may grow of which so many bytes are alive.
func growth(live uint64) int {
	p := 100 * room / max(live, 1)
	return int(min(max(p-p%grain, leastGrowth), mostGrowth))
}
