package deliver_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/shared/delivery"
	"github.com/wardenhq/warden/shared/egress"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/queue"
	"github.com/wardenhq/warden/shared/table"
)

func (h *hook) enable() {
	h.T.Helper()
	_, err := h.Writer.EnableWebhook(context.Background(), h.request(), h.Scope, h.id, nil)
	h.Must(err)
}

func (h *hook) disable() {
	h.T.Helper()
	_, err := h.Writer.DisableWebhook(context.Background(), h.request(), h.Scope, h.id, entity.DisabledByRequest, nil)
	h.Must(err)
}

// recover asks for what was lost since then, as the API does.
func (h *hook) recover(since time.Time) int {
	h.T.Helper()
	r, err := delivery.Recover(context.Background(), h.Table, h.Scope.ID, h.id, since, delivery.System("test"), time.Now().UTC())
	h.Must(err)
	h.Must(delivery.Send(context.Background(), h.queue, delivery.Together(r.Asked)...))
	return len(r.Asked)
}

func (h *hook) replay(e events.Event) {
	h.T.Helper()
	at, err := time.Parse(time.RFC3339, e.Time)
	h.Must(err)
	k := delivery.ID{At: at, Event: e.ID}.Key(h.Scope.ID, h.id)
	_, d, err := delivery.Replay(context.Background(), h.Table, k, delivery.System("test"), time.Now().UTC())
	h.Must(err)
	h.Must(delivery.Send(context.Background(), h.queue, delivery.AskingFor(d)))
}

// ids are the webhook-ids that a receiver got, in order.
func (w *world) ids(name string) (ids []string) {
	for _, s := range w.receiver.got(name) {
		ids = append(ids, s.header.Get("webhook-id"))
	}
	return ids
}

func TestWhatWasMissedWhileDisabledIsRecovered(t *testing.T) {
	play(t, options{}, func(w *world) {
		h := w.register("a", nil)
		w.receiver.plays("a", after(time.Second, status(200)))
		before := w.happen()
		time.Sleep(5 * time.Second)
		h.disable()
		start := time.Now()
		var missed []string
		for range 12 {
			time.Sleep(time.Second)
			missed = append(missed, w.happen().ID)
		}
		w.pass(time.Hour)
		if got := w.ids("a"); !slices.Equal(got, []string{before.ID}) {
			t.Fatalf("got %v", got)
		}
		h.enable()
		w.pass(time.Hour) // nothing comes by itself
		if got := w.ids("a"); len(got) != 1 {
			t.Fatalf("got %v", got)
		}
		if n := h.recover(start); n != len(missed) {
			t.Errorf("%d recovered", n)
		}
		w.pass(time.Minute)
		if got := w.ids("a")[1:]; !slices.Equal(got, missed) { // oldest first
			t.Errorf("got %v, want %v", got, missed)
		}
		if n := h.recover(start); n != 0 {
			t.Errorf("%d recovered again", n)
		}
	})
}

func TestFailedDeliveriesAreRecovered(t *testing.T) {
	play(t, options{}, func(w *world) {
		h := w.register("a", nil)
		w.receiver.plays("a", status(500))
		var all []string
		for range 5 {
			all = append(all, w.happen().ID)
			time.Sleep(2 * time.Second)
		}
		w.pass(100 * time.Hour)
		w.receiver.plays("a", status(200))
		n := len(w.ids("a"))
		if got := h.recover(time.Time{}); got != 5 {
			t.Errorf("%d recovered", got)
		}
		w.pass(time.Minute)
		if got := w.ids("a")[n:]; !slices.Equal(got, all) {
			t.Errorf("got %v, want %v", got, all)
		}
	})
}

func TestReplay(t *testing.T) {
	play(t, options{}, func(w *world) {
		h := w.register("a", nil)
		e := w.happen()
		synctest.Wait()
		h.is(e, entity.DeliverySucceeded, 1)
		time.Sleep(time.Hour)
		w.receiver.plays("a", status(500), status(200))
		h.replay(e)
		w.pass(time.Minute)
		d := h.is(e, entity.DeliverySucceeded, 3)
		got := w.receiver.got("a")
		if len(got) != 3 || len(d.Attempts) != 3 || d.Round != 2 {
			t.Fatalf("%d requests, delivery %+v", len(got), d)
		}
		for _, s := range got {
			h.verify(s, h.secret)
			if s.header.Get("webhook-id") != e.ID {
				t.Errorf("id %s", s.header.Get("webhook-id"))
			}
		}
		w.between("the ladder begins anew", got[2].at.Sub(got[1].at), 4*time.Second, 6*time.Second)
	})
}

func TestManyAttemptsAreKeptToTheLatest(t *testing.T) {
	play(t, options{}, func(w *world) {
		h := w.register("a", nil)
		e := w.happen()
		synctest.Wait()
		for range 30 {
			h.replay(e)
			synctest.Wait()
		}
		if d := h.is(e, entity.DeliverySucceeded, 31); len(d.Attempts) != delivery.KeptAttempts {
			t.Errorf("%d attempts kept", len(d.Attempts))
		}
	})
}

func TestDeletingAWebhookEndsItsDeliveries(t *testing.T) {
	play(t, options{}, func(w *world) {
		h := w.register("a", nil)
		w.receiver.plays("a", status(500))
		retried := w.happen()
		synctest.Wait()
		w.queue.lost[w.Scope.Org.String()] = true
		queued := w.happen() // its message comes after the deletion
		_, err := w.Writer.DeleteWebhook(t.Context(), w.request(), w.Scope, h.id, nil)
		w.Must(err)
		delete(w.queue.lost, w.Scope.Org.String())
		w.pass(time.Hour)
		for e, tries := range map[string]int{retried.ID: 1, queued.ID: 0} {
			of := retried
			if e == queued.ID {
				of = queued
			}
			if d := h.is(of, entity.DeliveryCancelled, tries); d.Cancelled != entity.CancelledDeleted {
				t.Errorf("cancelled because %q", d.Cancelled)
			}
		}
		if got := len(w.receiver.got("a")); got != 1 || w.queue.deadLetters() != 0 {
			t.Errorf("%d requests, %d dead letters", got, w.queue.deadLetters())
		}
	})
}

// The table alone makes up for every message that got lost.
func TestLostMessages(t *testing.T) {
	play(t, options{}, func(w *world) {
		h := w.register("a", nil)
		group := w.Scope.Org.String()
		w.queue.lost[group] = true
		lost := []events.Event{w.happen(), w.happen(), w.happen()}
		w.pass(2 * time.Minute)
		if got := len(w.receiver.got("a")); got != 0 {
			t.Fatalf("%d requests", got)
		}
		delete(w.queue.lost, group)
		w.pass(3 * time.Minute)
		for _, e := range lost {
			h.is(e, entity.DeliverySucceeded, 1)
		}
	})
}

// A process that dies between an attempt and the next leaves the next one due.
func TestRetriesSurviveTheProcess(t *testing.T) {
	play(t, options{}, func(w *world) {
		h := w.register("a", nil)
		w.receiver.plays("a", status(500), status(200))
		e := w.happen()
		synctest.Wait()
		w.stop()
		h.is(e, entity.DeliveryPending, 1)
		next := newProcess(w)
		next.pass(5 * time.Minute)
		h.is(e, entity.DeliverySucceeded, 2)
	})
}

func TestDoubledMessagesSendOnce(t *testing.T) {
	play(t, options{}, func(w *world) {
		h := w.register("a", nil)
		w.receiver.plays("a", after(time.Second, status(200)))
		e := w.happen()
		synctest.Wait()
		m := w.queue.sent[0]
		for range 20 { // while it is under way
			w.Must(w.queue.Send(t.Context(), []queue.Message{m}))
		}
		time.Sleep(2 * time.Second)
		for range 20 { // and when it is over
			w.Must(w.queue.Send(t.Context(), []queue.Message{m}))
		}
		w.publish(e) // the event itself, once more
		w.pass(time.Hour)
		h.is(e, entity.DeliverySucceeded, 1)
		if got := len(w.receiver.got("a")); got != 1 {
			t.Errorf("%d requests", got)
		}
	})
}

// Two processes may each send what both have a message of, and no more than that.
func TestTwoProcessesSendOneExtraAtMost(t *testing.T) {
	play(t, options{}, func(w *world) {
		h := w.register("a", nil)
		w.receiver.plays("a", after(time.Second, status(500)))
		e := w.happen()
		other := newProcess(w)
		m := w.queue.sent[0]
		for range 5 {
			w.Must(other.queue.Send(t.Context(), []queue.Message{m}))
		}
		time.Sleep(3 * time.Second)
		d, _ := h.delivery(e)
		if got := len(w.receiver.got("a")); got != 2 || d.Tries != 1 {
			t.Errorf("%d requests, delivery %+v", got, d)
		}
	})
}

// An invocation makes its attempts and leaves what has to wait to the table.
func TestInvocations(t *testing.T) {
	play(t, options{invocation: true}, func(w *world) {
		h := w.register("a", nil)
		w.receiver.plays("a", after(time.Second, status(500)), status(200))
		e := w.happen()
		w.queue.wait()
		h.is(e, entity.DeliveryPending, 1)
		time.Sleep(time.Minute)
		if got := len(w.receiver.got("a")); got != 1 {
			t.Fatalf("%d requests before the scheduler ran", got)
		}
		w.tick()
		w.queue.wait()
		h.is(e, entity.DeliverySucceeded, 2)
	})
}

func TestAStopGivesMessagesBack(t *testing.T) {
	play(t, options{}, func(w *world) {
		h := w.register("a", nil)
		w.receiver.plays("a", func(ctx context.Context) (egress.Answer, error) {
			<-ctx.Done()
			return egress.Answer{}, ctx.Err()
		})
		e := w.happen()
		synctest.Wait()
		w.stop()
		h.is(e, entity.DeliveryPending, 0)
		if w.queue.deadLetters() != 1 {
			t.Errorf("%d messages given back", w.queue.deadLetters())
		}
	})
}

// broken is a table whose reads of deliveries fail while it is broken.
type broken struct {
	table.Store

	mu sync.Mutex
	on bool
}

var errBroken = errors.New("broken")

func (b *broken) set(on bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.on = on
}

func (b *broken) Transact(ctx context.Context, tx table.Tx) error {
	b.mu.Lock()
	on := b.on
	b.mu.Unlock()
	if on {
		return errBroken
	}
	return b.Store.Transact(ctx, tx)
}

// Only faults of ours give a message back.
func TestOurFaultsGiveMessagesBack(t *testing.T) {
	play(t, options{}, func(w *world) {
		h := w.register("a", nil)
		store := &broken{Store: w.Table}
		w.deliverer.Table = store
		store.set(true)
		e := w.happen()
		synctest.Wait()
		if w.queue.deadLetters() != 1 {
			t.Fatalf("%d messages given back", w.queue.deadLetters())
		}
		store.set(false)
		w.pass(3 * time.Minute)
		h.is(e, entity.DeliverySucceeded, 1)
		if failed := w.deliverer.Work(t.Context(), []queue.Message{{ID: "x", Body: []byte("no message")}}); !slices.Equal(failed, []string{"x"}) {
			t.Errorf("failed %v", failed)
		}
	})
}
