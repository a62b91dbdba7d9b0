package protocoltest

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// run is one schedule from its world to rest; nil when nothing was wrong.
func (s *sim) run() error {
	s.draw()
	s.build()
	s.enter()
	s.schedule()
	if s.broken == nil {
		s.rest()
	}
	s.end()
	return s.broken
}

// play runs the schedules of the seeds from first on, on every processor, until
// one is wrong. It returns how many ran, how many questions they judged, and the
// lowest wrong seed with its fault.
func play(first uint64, count int, m *mutation) (ran, answers int, wrong uint64, fault error) {
	var (
		next, judged atomic.Int64
		mu           sync.Mutex
		wg           sync.WaitGroup
		stop         atomic.Bool
	)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for !stop.Load() {
				n := next.Add(1)
				if n > int64(count) {
					next.Add(-1)
					return
				}
				seed := first + uint64(n) - 1
				s := newSim(seed, m, false)
				err := s.run()
				judged.Add(int64(s.answers))
				if err == nil {
					continue
				}
				stop.Store(true)
				mu.Lock()
				if fault == nil || seed < wrong {
					wrong, fault = seed, err
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return int(next.Load()), int(judged.Load()), wrong, fault
}

// replay runs one schedule with its trace.
func replay(seed uint64, m *mutation) string {
	s := newSim(seed, m, true)
	_ = s.run()
	return s.trace.String()
}

// wrongSeed is how TestSchedules tells of a fault.
const wrongSeed = "wrong: seed"

// TestSchedules runs the protocol as it is: nothing may be wrong. WARDEN_SEED
// runs one schedule and prints it; WARDEN_SCHEDULES and WARDEN_FIRST choose
// which ones run.
func TestSchedules(t *testing.T) {
	if text := os.Getenv("WARDEN_SEED"); text != "" {
		seed := number(t, text)
		s := newSim(uint64(seed), staged(t), true)
		err := s.run()
		t.Log("\n" + s.trace.String())
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		return
	}
	count := number(t, cmp.Or(os.Getenv("WARDEN_SCHEDULES"), strconv.Itoa(schedules)))
	first := number(t, cmp.Or(os.Getenv("WARDEN_FIRST"), "0"))
	begun := time.Now()
	ran, answers, seed, fault := play(uint64(first), count, staged(t))
	t.Logf("%d schedules, %d answers judged, in %v", ran, answers, time.Since(begun).Round(time.Millisecond))
	if fault != nil {
		t.Fatalf("%s %d: %v\nagain with its trace: WARDEN_SEED=%d go test ./shared/protocoltest -run TestSchedules -v", wrongSeed, seed, fault, seed)
	}
	if answers < ran {
		t.Errorf("%d schedules asked %d questions: that shows nothing", ran, answers)
	}
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(fmt.Errorf("a number is needed: %w", err))
	}
	return n
}
