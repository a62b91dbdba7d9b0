// Package deliver makes the attempts at deliveries: it takes messages of the
// queue `deliveries`, sends each delivery's stored bytes to its endpoint, signed
// for this attempt, and records what came of it in one write.
//
// A receiver's failure is a result: it is recorded and the next attempt is due
// work in the table, at the time that the ladder gives (package webhook). Only
// failures of ours give a message back. Messages are hints: what is to be done,
// the table says, so a lost one delays a delivery and a doubled one does nothing.
//
// Each endpoint has a lane in the process: a bounded number of attempts under
// way, a rate, a breaker. What an endpoint makes wait holds up no worker and no
// other endpoint.
package deliver

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/wardenhq/warden/shared/clock"
	"github.com/wardenhq/warden/shared/delivery"
	"github.com/wardenhq/warden/shared/egress"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/queue"
	"github.com/wardenhq/warden/shared/retry"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/write"
)

// Sender calls receivers; *egress.Client is one.
type Sender interface {
	Do(ctx context.Context, r egress.Request) (egress.Answer, error)
}

// Config is what the function works with.
type Config struct {
	Table     table.Store
	Writer    *write.Writer // disables endpoints
	Endpoints *delivery.Endpoints
	Sender    Sender
	Queue     queue.Sender // deliveries
	Clock     clock.Clock
	Jitter    func() float64 // in [0, 1)
	Backoff   retry.Backoff  // for conflicts and throttles of the table
	Log       *slog.Logger
}

// Deliverer is the function.
type Deliverer struct {
	Config

	mu    sync.Mutex
	lanes map[keys.Raw]*lane    // by webhook
	known map[keys.Raw]struct{} // deliveries that wait or are under way in this process
	life  context.Context       //nolint:containedctx // of a process that deliveries may wait in; nil: of an invocation
	after int                   // attempts that this process will make later
	wg    sync.WaitGroup        // of what outlives Work
}

// New makes the function.
func New(c Config) *Deliverer {
	return &Deliverer{Config: c, lanes: make(map[keys.Raw]*lane), known: make(map[keys.Raw]struct{})}
}

// Stay lets deliveries wait in this process until the context ends. Then wait
// returns once those under way are over: the table is used until then.
// Without it, as in a Lambda, nothing outlives Work: what would have to wait for
// long is left to the scheduler.
func (d *Deliverer) Stay(ctx context.Context) (wait func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.life = ctx
	return func() {
		<-ctx.Done()
		d.mu.Lock()
		d.life = nil
		d.mu.Unlock()
		d.wg.Wait()
	}
}

// background runs f beyond Work, with the process's context; false when nothing
// may.
func (d *Deliverer) background(f func(ctx context.Context)) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.life == nil || d.life.Err() != nil {
		return false
	}
	life := d.life
	d.wg.Go(func() { f(life) })
	return true
}

// Work is the queue's handler. It returns when the attempts are over, or wait in
// a process that stays.
func (d *Deliverer) Work(ctx context.Context, batch []queue.Message) (failed []string) {
	overs := make([][]<-chan error, len(batch))
	for i, q := range batch {
		overs[i] = d.message(ctx, q)
	}
	for i, q := range batch {
		var wrong error
		for _, over := range overs[i] {
			wrong = errors.Join(wrong, <-over)
		}
		if wrong != nil {
			d.Log.ErrorContext(ctx, "delivery failed on our side", "message", q.ID, "error", wrong)
			failed = append(failed, q.ID)
		}
	}
	return failed
}

// message submits what a message asks for. An invocation takes on as much as one
// endpoint can have under way; the rest is due in the table.
func (d *Deliverer) message(ctx context.Context, q queue.Message) (overs []<-chan error) {
	m, err := delivery.ReadMessage(q)
	if err != nil {
		return []<-chan error{ended(err)}
	}
	all := m.Each()
	if !d.stays() {
		all = all[:min(len(all), maxInFlight)]
	}
	for _, m := range all {
		overs = append(overs, d.submit(ctx, m))
	}
	return overs
}

// ended is what a job is told whose end is known.
func ended(err error) <-chan error {
	over := make(chan error, 1)
	over <- err
	return over
}

// inProcess bounds what waits or is under way in one process.
const inProcess = 100_000

// submit puts a message into its endpoint's lane. What it returns tells when the
// message needs this process's caller no longer.
func (d *Deliverer) submit(ctx context.Context, m delivery.Message) <-chan error {
	e, err := d.Endpoints.Get(ctx, m.Org, m.Scope, m.Webhook)
	if err != nil {
		return ended(err)
	}
	if reason := refusal(e); reason != "" {
		return ended(d.cancel(ctx, m, reason))
	}
	l := d.lane(keys.Webhook(m.Org, m.Scope, m.Webhook).Raw())
	if !d.take(m) { // it waits or is at work already, or there is no room: the table has it
		if m.Asked {
			l.ask(m, d.Clock.Now())
			d.pump(ctx, l)
		}
		return ended(nil)
	}
	j := &job{Message: m, over: make(chan error, 1)}
	if !l.add(j, e.RateLimit, d.Clock.Now()) {
		d.release(m)
		return ended(nil)
	}
	d.pump(ctx, l)
	if !l.isStarted(j) && d.stays() {
		return ended(nil)
	}
	return j.over
}

// refusal is why nothing is sent to an endpoint, empty when something is.
func refusal(e *delivery.Endpoint) entity.CancelReason {
	switch {
	case e == nil:
		return entity.CancelledDeleted
	case e.Disabled != "":
		return entity.CancelledDisabled
	}
	return ""
}

func (d *Deliverer) take(m delivery.Message) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	k := m.Key().Raw()
	if _, ok := d.known[k]; ok || len(d.known) >= inProcess {
		return false
	}
	d.known[k] = struct{}{}
	return true
}

func (d *Deliverer) release(m delivery.Message) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.known, m.Key().Raw())
}

func (d *Deliverer) knows(k keys.Raw) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.known[k]
	return ok
}

func (d *Deliverer) stays() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.life != nil && d.life.Err() == nil
}

// maxLanes is how many lanes there may be before idle ones are forgotten.
const maxLanes = 1000

func (d *Deliverer) lane(k keys.Raw) *lane {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l := d.lanes[k]; l != nil {
		return l
	}
	if len(d.lanes) >= maxLanes {
		now := d.Clock.Now()
		for k, l := range d.lanes {
			if l.idle(now) {
				delete(d.lanes, k)
			}
		}
	}
	l := new(lane)
	d.lanes[k] = l
	return l
}

// maxHold is how long an invocation waits for an endpoint's rate.
const maxHold = 5 * time.Second

// pump starts what the lane lets start.
func (d *Deliverer) pump(ctx context.Context, l *lane) {
	for {
		if isStopped(ctx) {
			d.leave(l)
			return
		}
		j, wait := l.take(d.Clock.Now(), d.stays())
		switch {
		case j != nil:
			d.start(ctx, l, j)
			continue
		case wait > 0:
			d.later(ctx, l, wait)
		}
		return
	}
}

func (d *Deliverer) start(ctx context.Context, l *lane, j *job) {
	if !d.background(func(life context.Context) { d.run(life, l, j) }) {
		go d.run(ctx, l, j) // Work waits for it
	}
}

// later pumps the lane again after the wait. Where nobody can wait, what the lane
// has is left to the table.
func (d *Deliverer) later(ctx context.Context, l *lane, wait time.Duration) {
	again := func(ctx context.Context) {
		err := d.Clock.Sleep(ctx, wait)
		l.wake(d.Clock.Now())
		if err != nil {
			d.leave(l)
			return
		}
		d.pump(ctx, l)
	}
	switch {
	case d.background(again):
	case wait <= maxHold:
		go again(ctx) // Work waits for the jobs
	default:
		d.leave(l)
	}
}

func (d *Deliverer) leave(l *lane) {
	for _, j := range l.empty() {
		d.release(j.Message)
		j.over <- nil
	}
}

// run makes one job's attempt.
func (d *Deliverer) run(ctx context.Context, l *lane, j *job) {
	r, again, err := d.attempt(ctx, j.Message)
	d.release(j.Message)
	l.finish(j, r, d.Clock.Now())
	if again != nil {
		again()
	}
	if err != nil && !isStopped(ctx) {
		d.Log.ErrorContext(ctx, "a delivery could not be attempted; it stays due", "delivery", j.Key().Raw().String(), "error", err)
	}
	j.over <- err
	d.pump(ctx, l)
}

func isStopped(ctx context.Context) bool { return ctx.Err() != nil }
