package command

import "testing"

func TestGrowthOfTheHeap(t *testing.T) {
	for live, want := range map[uint64]int{
		0:        mostGrowth,
		1 << 20:  mostGrowth,
		4 << 20:  600,
		5 << 20:  450,
		16 << 20: 150,
		24 << 20: 100,
		1 << 30:  leastGrowth,
	} {
		if got := growth(live); got != want {
			t.Errorf("%d bytes alive: %d %%, want %d %%", live, got, want)
		}
	}
}
