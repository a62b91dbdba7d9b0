package deliver_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/functions/deliver"
	"github.com/wardenhq/warden/functions/fanout"
	"github.com/wardenhq/warden/functions/scheduler"
	"github.com/wardenhq/warden/shared/clock"
	"github.com/wardenhq/warden/shared/delivery"
	"github.com/wardenhq/warden/shared/egress"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/queue"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/retry"
	"github.com/wardenhq/warden/shared/seal"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/webhook"
	"github.com/wardenhq/warden/shared/write"
	"github.com/wardenhq/warden/shared/write/writetest"
)

// world is both functions over an in-memory table, by the machine's clock (in a
// bubble of synctest: the bubble's).
type world struct {
	*writetest.Tenant
	fanout    *fanout.Fanout
	deliverer *deliver.Deliverer
	scheduler *scheduler.Scheduler
	receiver  *receiver
	queue     *box
	log       *bytes.Buffer
	stop      func() // ends what stays in the process
}

// options of a world; the zero value is a process that stays, with a receiver
// that plays scripts.
type options struct {
	sender     deliver.Sender
	invocation bool // nothing outlives Work
	store      table.Store
}

func newWorld(t *testing.T, o options) *world {
	t.Helper()
	w := &world{receiver: newReceiver(), queue: &box{lost: make(map[string]bool)}, log: new(bytes.Buffer)}
	made := writetest.New(t)
	w.Tenant = made.Provision("acme", nil)
	made.Writer.Clock = clock.System{}
	store := table.Store(made.Table)
	if o.store != nil {
		store = o.store
	}
	if o.sender == nil {
		o.sender = w.receiver
	}
	log := slog.New(slog.NewTextHandler(&syncWriter{to: w.log}, nil))
	backoff := retry.Backoff{Clock: clock.System{}, Jitter: func() float64 { return 1 }, Base: time.Millisecond, Max: time.Millisecond, Tries: 3}
	endpoints := &delivery.Endpoints{Table: store, Vault: vault(), Clock: clock.System{}}
	made.Writer.Changed = endpoints.Drop
	w.fanout = fanout.New(fanout.Config{Table: store, Queue: w.queue, Clock: clock.System{}, Backoff: backoff, Log: log})
	w.deliverer = deliver.New(deliver.Config{
		Table: store, Writer: made.Writer, Endpoints: endpoints, Sender: o.sender, Queue: w.queue,
		Clock: clock.System{}, Jitter: func() float64 { return 0.5 }, Backoff: backoff, Log: log,
	})
	w.queue.handler = w.deliverer.Work
	w.scheduler = scheduler.New(scheduler.Config{
		Table: store, Clock: clock.System{}, Due: map[string]scheduler.Handler{"Delivery": w.deliverer.Due}, Log: log,
	})
	ctx, cancel := context.WithCancel(t.Context())
	w.queue.ctx = ctx
	wait := func() {}
	if !o.invocation {
		wait = w.deliverer.Stay(ctx)
	}
	w.stop = func() {
		cancel()
		wait()
		w.queue.wait()
	}
	t.Cleanup(func() {
		w.stop()
		w.nothingSecret()
	})
	return w
}

func vault() delivery.Vault {
	return delivery.Vault{Sealer: seal.Sealer{Keys: seal.Ring{seal.KeyOf([seal.KeySize]byte{1})}, Random: rand.Reader}}
}

// syncWriter serialises writes.
type syncWriter struct {
	mu sync.Mutex
	to *bytes.Buffer
}

func (s *syncWriter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.to.Write(p)
}

// nothingSecret fails the test for a log that holds what must not be logged:
// every endpoint's path and header value says "hidden".
func (w *world) nothingSecret() {
	w.T.Helper()
	for _, secret := range []string{"hidden", "whsec_"} {
		if strings.Contains(w.log.String(), secret) {
			w.T.Errorf("the log holds %s: %s", secret, w.log)
		}
	}
}

// tick runs the scheduler, as every minute.
func (w *world) tick() {
	w.T.Helper()
	w.Must(w.scheduler.Tick(context.Background()))
}

// pass lets time go by, minute by minute.
func (w *world) pass(d time.Duration) {
	w.T.Helper()
	for range int(d / time.Minute) {
		time.Sleep(time.Minute)
		w.tick()
	}
}

// box is the queue: each message is worked on at once.
type box struct {
	handler queue.Handler
	ctx     context.Context

	mu   sync.Mutex
	n    int
	sent []queue.Message
	lost map[string]bool // groups whose messages get lost
	dead []queue.Message // given back
	wg   sync.WaitGroup
}

func (b *box) Send(_ context.Context, batch []queue.Message) error {
	for _, m := range batch {
		b.mu.Lock()
		b.n++
		m.ID, m.Attempt = fmt.Sprint(b.n), 1
		b.sent = append(b.sent, m)
		lost := b.lost[m.Group]
		b.mu.Unlock()
		if !lost {
			b.wg.Go(func() { b.work(m) })
		}
	}
	return nil
}

func (b *box) work(m queue.Message) {
	if failed := b.handler(b.ctx, []queue.Message{m}); len(failed) > 0 {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.dead = append(b.dead, m)
	}
}

// wait returns when all messages are done.
func (b *box) wait() { b.wg.Wait() }

func (b *box) deadLetters() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.dead)
}

// hook is a webhook of the tenant.
type hook struct {
	*world
	id     rbac.WebhookID
	secret webhook.Secret
	url    string
}

// register makes a webhook for all events at a path of the receiver's.
func (w *world) register(name string, edit func(*entity.Webhook)) *hook {
	w.T.Helper()
	h := &hook{world: w, id: rbac.Must(rbac.ParseWebhookID("wh_" + name)), url: "https://hooks.acme.com/hidden/" + name}
	var err error
	h.secret, err = webhook.NewSecret(rand.Reader)
	w.Must(err)
	e := entity.Webhook{ID: h.id, Org: w.Scope.Org, Scope: w.Scope.ID, URL: h.url, Events: webhook.Filter{"*"}}
	if edit != nil {
		edit(&e)
	}
	h.url = e.URL
	e.Secret, err = vault().SealSecret(w.T.Context(), w.Scope.ID, h.id, h.secret)
	w.Must(err)
	_, err = w.Writer.CreateWebhook(context.Background(), w.request(), w.Scope, e)
	w.Must(err)
	time.Sleep(time.Nanosecond) // writing takes its time, and no event comes at the same instant
	return h
}

func (w *world) request() *write.Request {
	return w.Writer.NewRequest(write.Origin{Actor: events.Actor{Type: "operator", ID: "test"}, RequestID: "req_test"})
}

// stored is the webhook as it is.
func (h *hook) stored() entity.Webhook {
	h.T.Helper()
	e, it, err := stored.Get(context.Background(), h.Table, keys.Webhook(h.Scope.Org, h.Scope.ID, h.id), table.Strong)
	h.Must(err)
	if it == nil {
		h.T.Fatalf("%s is gone", h.id)
	}
	return e
}

// event is a new event of the tenant's scope, which happens now.
func (w *world) event(kind string) events.Event {
	now := time.Now().UTC()
	return events.Event{
		ID: "evt_" + ulid.MustNew(ulid.Timestamp(now), rand.Reader).String(), Type: kind, Time: now.Format(time.RFC3339Nano), Seq: 7,
		Org: w.Scope.Org.String(), Scope: new(w.Scope.ID.String()), Actor: events.Actor{Type: "operator", ID: "test"},
		Target: events.Target{Type: "role", ID: "r"}, After: json.RawMessage(`{"id":"r<&>é\u2028"}`),
	}
}

// publish hands an event to fanout.
func (w *world) publish(e events.Event) events.Event {
	w.T.Helper()
	envelope, err := json.Marshal(events.Enveloped(e))
	w.Must(err)
	if failed := w.fanout.Work(context.Background(), []queue.Message{{ID: "1", Body: envelope}}); len(failed) > 0 {
		w.T.Fatalf("fanout failed: %s", w.log)
	}
	return e
}

// happen publishes a new event.
func (w *world) happen() events.Event { return w.publish(w.event(events.RoleCreated)) }

// delivery is an event's delivery, and whether there is one.
func (h *hook) delivery(e events.Event) (entity.Delivery, bool) {
	h.T.Helper()
	at, err := time.Parse(time.RFC3339, e.Time)
	h.Must(err)
	d, it, err := stored.Get(context.Background(), h.Table, keys.Delivery(h.Scope.ID, h.id, at, e.ID), table.Strong)
	h.Must(err)
	return d, it != nil
}

// is ends the test unless the delivery has the state and number of attempts.
func (h *hook) is(e events.Event, status entity.DeliveryStatus, tries int) entity.Delivery {
	h.T.Helper()
	d, ok := h.delivery(e)
	if !ok || d.Status != status || d.Tries != tries {
		h.T.Fatalf("delivery %+v (%v), want %s after %d attempts\n%s", d, ok, status, tries, h.log)
	}
	if (d.NextAttempt != nil) != (status == entity.DeliveryPending) {
		h.T.Fatalf("a %s delivery is next attempted at %v", status, d.NextAttempt)
	}
	return d
}

// events are the types of the writer's events so far.
func (w *world) events() (types []string) {
	w.T.Helper()
	shards, err := w.Table.Shards(context.Background())
	w.Must(err)
	for _, s := range shards {
		changes, _, err := w.Table.Changes(context.Background(), s, "", 10_000)
		w.Must(err)
		for _, c := range changes {
			if c.New == nil || c.New.Type != "Event" {
				continue
			}
			var o struct{ Event events.Event }
			w.Must(json.Unmarshal(c.New.Body, &o))
			types = append(types, o.Event.Type)
		}
	}
	return types
}

// seen is a request that a receiver got.
type seen struct {
	at     time.Time
	url    string
	header http.Header
	body   []byte
}

// step is how a receiver answers one request.
type step func(ctx context.Context) (egress.Answer, error)

func status(code int) step {
	return func(context.Context) (egress.Answer, error) {
		return egress.Answer{Status: code, Header: http.Header{}}, nil
	}
}

func retryAfter(code int, value string) step {
	return func(context.Context) (egress.Answer, error) {
		return egress.Answer{Status: code, Header: http.Header{"Retry-After": {value}}}, nil
	}
}

// after answers after a while, like a slow receiver.
func after(d time.Duration, s step) step {
	return func(ctx context.Context) (egress.Answer, error) {
		select {
		case <-time.After(d):
			return s(ctx)
		case <-ctx.Done():
			return egress.Answer{}, ctx.Err()
		}
	}
}

func timesOut(context.Context) (egress.Answer, error) {
	time.Sleep(15 * time.Second)
	return egress.Answer{}, context.DeadlineExceeded
}

// receiver plays a script for each name; the last step repeats, 200 without one.
type receiver struct {
	mu       sync.Mutex
	scripts  map[string][]step
	requests map[string][]seen
	inFlight map[string]int
	most     map[string]int
}

func newReceiver() *receiver {
	return &receiver{
		scripts: make(map[string][]step), requests: make(map[string][]seen), inFlight: make(map[string]int), most: make(map[string]int),
	}
}

func nameOf(url string) string { return url[strings.LastIndex(url, "/")+1:] }

func (r *receiver) plays(name string, steps ...step) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.scripts[name] = steps
}

func (r *receiver) Do(ctx context.Context, req egress.Request) (egress.Answer, error) {
	name := nameOf(req.URL)
	r.mu.Lock()
	r.requests[name] = append(r.requests[name], seen{time.Now(), req.URL, req.Header.Clone(), req.Body})
	r.inFlight[name]++
	r.most[name] = max(r.most[name], r.inFlight[name])
	next := status(http.StatusOK)
	if script := r.scripts[name]; len(script) > 0 {
		next = script[0]
		if len(script) > 1 {
			r.scripts[name] = script[1:]
		}
	}
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.inFlight[name]--
	}()
	return next(ctx)
}

func (r *receiver) got(name string) []seen {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]seen(nil), r.requests[name]...)
}

// verify ends the test unless a request is well signed, for its time.
func (h *hook) verify(s seen, secret webhook.Secret) {
	h.T.Helper()
	v := webhook.Verifier{Secrets: []webhook.Secret{secret}, Tolerance: 5 * time.Second, Now: func() time.Time { return s.at }}
	if err := v.Verify(s.header, s.body); err != nil {
		h.T.Fatalf("%v: %v", s.header, err)
	}
}

// newProcess is another process over the same table and receivers.
func newProcess(w *world) *world {
	w.T.Helper()
	next := *w
	next.queue, next.log = &box{lost: make(map[string]bool)}, new(bytes.Buffer)
	config := w.deliverer.Config
	config.Endpoints = &delivery.Endpoints{Table: w.Table, Vault: vault(), Clock: clock.System{}}
	config.Queue, config.Log = next.queue, slog.New(slog.NewTextHandler(&syncWriter{to: next.log}, nil))
	next.deliverer = deliver.New(config)
	next.queue.handler = next.deliverer.Work
	next.scheduler = scheduler.New(scheduler.Config{
		Table: w.Table, Clock: clock.System{}, Due: map[string]scheduler.Handler{"Delivery": next.deliverer.Due}, Log: config.Log,
	})
	ctx, cancel := context.WithCancel(context.Background())
	next.queue.ctx = ctx
	wait := next.deliverer.Stay(ctx)
	next.stop = func() {
		cancel()
		wait()
		next.queue.wait()
	}
	w.T.Cleanup(next.stop)
	return &next
}
