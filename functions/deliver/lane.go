package deliver

import (
	"slices"
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

// lane is one endpoint's deliveries in this process, in their order: how many are
// under way, which wait, and what they wait for.
type lane struct {
	mu       sync.Mutex
	inFlight int
	waiting  []*job
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
	if len(l.waiting) >= maxWaiting {
		return false
	}
	l.waiting = append(l.waiting, j)
	if j.Asked {
		l.hurry(len(l.waiting)-1, now)
	}
	return true
}

// ask says that somebody asks for a delivery that waits already.
func (l *lane) ask(m delivery.Message, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := slices.IndexFunc(l.waiting, func(j *job) bool { return j.Key() == m.Key() })
	if at >= 0 {
		l.hurry(at, now)
	}
}

// hurry lets a job that waits for a breaker try the endpoint out at once: whoever
// asks for it has reason to think that it works again.
func (l *lane) hurry(at int, now time.Time) {
	if l.breaker.open {
		j := l.waiting[at]
		l.waiting = slices.Insert(slices.Delete(l.waiting, at, at+1), 0, j)
		l.breaker.probeAt = now
	}
}

// take starts the next job. Without one, wait is after how long there may be one;
// 0: when a job in flight is over, or one is added.
func (l *lane) take(now time.Time) (j *job, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == 0 || l.inFlight >= maxInFlight {
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
	j, l.waiting = l.waiting[0], l.waiting[1:]
	j.started, j.probe = true, l.breaker.start()
	l.inFlight++
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
	given := l.waiting
	l.waiting, l.wakeAt = nil, time.Time{}
	return given
}

// idle says that forgetting the lane loses nothing.
func (l *lane) idle(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.inFlight == 0 && len(l.waiting) == 0 && l.wakeAt.IsZero() && !l.breaker.open && now.Sub(l.used) > time.Minute
}
