package deliver

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wardenhq/warden/shared/delivery"
)

// maxInFlight is how many attempts at one endpoint are under way in a process.
const maxInFlight = 10

// maxWaiting is how many deliveries wait for one endpoint in a process. Those
// beyond stay in the table, where the scheduler finds them.
const maxWaiting = 10_000

// job is one message that is being worked on.
type job struct {
	delivery.Message
	over    chan error // is told once, when the job is over; has room for that
	started bool       // under the lane's lock
	probe   bool       // it tries out an endpoint whose breaker is open
}

// lane is one endpoint's deliveries in this process: how many are under way, which
// wait, and what they wait for.
type lane struct {
	mu       sync.Mutex
	inFlight int
	asking   int    // of those in flight, how many were asked for
	waiting  []*job // in the order they came
	asked    []*job // that somebody asked for, by the time of their events
	bucket   bucket
	breaker  breaker
	closed   bool      // the endpoint is gone or disabled: nothing has to wait to find that out
	wakeAt   time.Time // when somebody will look again; zero: nobody will
	used     time.Time
}

// add takes a job in; false when there is no room.
func (l *lane) add(j *job, rate int, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used, l.closed = now, false
	l.bucket.limit(rate, now)
	switch {
	case len(l.waiting)+len(l.asked) >= maxWaiting:
		return false
	case j.Asked:
		l.hurry(j, now)
	default:
		l.waiting = append(l.waiting, j)
	}
	return true
}

// ask says that somebody asks for a delivery that waits already.
func (l *lane) ask(m delivery.Message, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := slices.IndexFunc(l.waiting, func(j *job) bool { return j.Key() == m.Key() })
	if at >= 0 {
		j := l.waiting[at]
		j.Asked = true
		l.waiting = slices.Delete(l.waiting, at, at+1)
		l.hurry(j, now)
	}
}

// hurry puts a job before those that nobody asked for. Whoever asks has reason to
// think that the endpoint works again, so a breaker lets it be tried out at once.
func (l *lane) hurry(j *job, now time.Time) {
	at, _ := slices.BinarySearchFunc(l.asked, j, func(a, b *job) int {
		if c := a.At.Compare(b.At); c != 0 {
			return c
		}
		return strings.Compare(a.Event, b.Event)
	})
	l.asked = slices.Insert(l.asked, at, j)
	if l.breaker.open {
		l.breaker.probeAt = now
	}
}

// take starts the next job. Without one, wait is after how long there may be one;
// 0: when a job in flight is over, or one is added. inOrder lets what was asked
// for start one after the other, oldest event first.
func (l *lane) take(now time.Time, inOrder bool) (j *job, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	from := &l.asked
	if len(l.asked) == 0 || inOrder && l.asking > 0 {
		from = &l.waiting
	}
	if len(*from) == 0 || l.inFlight >= maxInFlight {
		return nil, 0
	}
	if !l.closed {
		if blocked, wait := l.breaker.blocked(now); blocked {
			return nil, l.sleep(now, wait)
		}
		if wait := l.bucket.wait(now); wait > 0 {
			return nil, l.sleep(now, wait)
		}
		l.bucket.take()
	}
	j, *from = (*from)[0], (*from)[1:]
	j.started, j.probe = true, l.breaker.start()
	l.inFlight++
	if j.Asked {
		l.asking++
	}
	return j, 0
}

// sleep is a wait that somebody has to wait out, 0 when somebody does.
func (l *lane) sleep(now time.Time, wait time.Duration) time.Duration {
	at := now.Add(wait)
	if wait == 0 || !l.wakeAt.IsZero() && !l.wakeAt.After(at) {
		return 0
	}
	l.wakeAt = at
	return wait
}

// wake ends a sleep.
func (l *lane) wake(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !now.Before(l.wakeAt) {
		l.wakeAt = time.Time{}
	}
}

// finish takes note of how a job ended.
func (l *lane) finish(j *job, r result, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inFlight--
	if j.Asked {
		l.asking--
	}
	l.used = now
	l.breaker.told(r, j.probe, now)
	if r == cancelled {
		l.closed = true
	}
}

// isStarted says whether the job was started.
func (l *lane) isStarted(j *job) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return j.started
}

// empty gives up all that waits.
func (l *lane) empty() []*job {
	l.mu.Lock()
	defer l.mu.Unlock()
	given := slices.Concat(l.asked, l.waiting)
	l.asked, l.waiting, l.wakeAt = nil, nil, time.Time{}
	return given
}

// idle says that forgetting the lane loses nothing.
func (l *lane) idle(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.inFlight == 0 && len(l.waiting)+len(l.asked) == 0 && l.wakeAt.IsZero() && !l.breaker.open && now.Sub(l.used) > time.Minute
}
