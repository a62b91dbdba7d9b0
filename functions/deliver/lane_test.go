package deliver_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/shared/entity"
)

// One endpoint that hangs delays no other, of its own tenant or another's.
func TestAHangingEndpointHoldsUpNoOther(t *testing.T) {
	play(t, options{}, func(w *world) {
		w.register("slow", nil)
		w.receiver.plays("slow", timesOut)
		var flood []events.Event
		for range 100 {
			flood = append(flood, w.happen())
		}
		fast := w.register("fast", nil)
		began := time.Now()
		e := w.happen()
		synctest.Wait()
		fast.is(e, entity.DeliverySucceeded, 1)
		if waited := w.receiver.got("fast")[0].at.Sub(began); waited != 0 {
			t.Errorf("waited %s", waited)
		}
		time.Sleep(10 * time.Second)
		if got := len(w.receiver.got("slow")); got != 10 || w.receiver.most["slow"] != 10 {
			t.Errorf("%d requests, %d at one time", got, w.receiver.most["slow"])
		}
		if len(flood) != 100 || w.queue.deadLetters() != 0 {
			t.Errorf("%d dead letters", w.queue.deadLetters())
		}
	})
}

func TestTheBreaker(t *testing.T) {
	play(t, options{}, func(w *world) {
		h := w.register("a", nil)
		w.receiver.plays("a", status(500))
		var all []events.Event
		for range 10 {
			all = append(all, w.happen())
			synctest.Wait()
		}
		opened := time.Now()
		for range 40 {
			all = append(all, w.happen())
		}
		w.pass(35 * time.Minute)
		var probes []time.Duration
		for _, s := range w.receiver.got("a")[10:] {
			probes = append(probes, s.at.Sub(opened))
		}
		want := []time.Duration{time.Minute, 3 * time.Minute, 7 * time.Minute, 15 * time.Minute, 30 * time.Minute}
		if !slices.Equal(probes, want) {
			t.Fatalf("probes after %v, want %v", probes, want)
		}
		w.receiver.plays("a", status(200))
		w.pass(30 * time.Minute)
		for _, e := range all {
			if d, _ := h.delivery(e); d.Status != entity.DeliverySucceeded {
				t.Errorf("delivery %+v", d)
			}
		}
		if got := w.receiver.most["a"]; got > 10 {
			t.Errorf("%d at one time", got)
		}
	})
}

// Whoever asks for a delivery has it tried at once.
func TestReplaysProbe(t *testing.T) {
	play(t, options{}, func(w *world) {
		h := w.register("a", nil)
		w.receiver.plays("a", status(500))
		for range 10 {
			w.happen()
			synctest.Wait()
		}
		e := w.happen()
		synctest.Wait()
		h.is(e, entity.DeliveryPending, 0)
		w.receiver.plays("a", status(200))
		first := w.publish(w.event(events.RoleDeleted))
		h.replay(first)
		synctest.Wait()
		h.is(first, entity.DeliverySucceeded, 1)
		h.is(e, entity.DeliverySucceeded, 1)
	})
}

func TestDisablingEmptiesALane(t *testing.T) {
	play(t, options{}, func(w *world) {
		h := w.register("a", nil)
		w.receiver.plays("a", status(500))
		var all []events.Event
		for range 10 {
			w.happen()
			synctest.Wait()
		}
		for range 30 {
			all = append(all, w.happen())
		}
		synctest.Wait()
		h.disable()
		w.pass(time.Hour)
		for _, e := range all {
			d, _ := h.delivery(e)
			if d.Status != entity.DeliveryCancelled || d.Cancelled != entity.CancelledDisabled {
				t.Errorf("delivery %+v", d)
			}
		}
	})
}

func TestRateLimits(t *testing.T) {
	for _, invocation := range []bool{false, true} {
		t.Run(fmt.Sprintf("invocation %v", invocation), func(t *testing.T) {
			play(t, options{invocation: invocation}, func(w *world) {
				w.register("a", func(e *entity.Webhook) { e.RateLimit = 2 })
				began := time.Now()
				const n = 9
				for range n {
					w.happen()
				}
				w.queue.wait()
				w.pass(time.Minute)
				got := w.receiver.got("a")
				if len(got) != n {
					t.Fatalf("%d requests", len(got))
				}
				for i, s := range got {
					at := s.at.Sub(began)
					if least := time.Duration(i-1) * 500 * time.Millisecond; at < least-time.Millisecond || at > least+time.Second {
						t.Errorf("request %d after %s", i, at)
					}
				}
			})
		})
	}
}

// What failed together is not tried again together.
func TestJitter(t *testing.T) {
	play(t, options{}, func(w *world) {
		w.deliverer.Jitter = rand.Float64
		var hooks []*hook
		for i := range 20 {
			h := w.register(fmt.Sprintf("h%d", i), nil)
			w.receiver.plays(nameOf(h.url), status(500), status(200))
			hooks = append(hooks, h)
		}
		began := time.Now()
		w.happen()
		w.pass(time.Minute)
		var waits []time.Duration
		for _, h := range hooks {
			got := w.receiver.got(nameOf(h.url))
			waits = append(waits, got[1].at.Sub(began))
		}
		slices.Sort(waits)
		w.between("the first", waits[0], 4*time.Second, 4600*time.Millisecond)
		w.between("the last", waits[len(waits)-1], 5400*time.Millisecond, 6*time.Second)
		if got := len(slices.Compact(waits)); got != 20 {
			t.Errorf("%d different waits", got)
		}
	})
}

func TestDaysOfFailureDisable(t *testing.T) {
	play(t, options{}, func(w *world) {
		h := w.register("a", nil)
		w.receiver.plays("a", status(500))
		for range 9 {
			w.happen()
			w.pass(12 * time.Hour)
		}
		if h.stored().Disabled != "" {
			t.Fatal("disabled after less than five days")
		}
		w.happen()
		w.pass(24 * time.Hour)
		if got := h.stored().Disabled; got != entity.DisabledFailing {
			t.Fatalf("disabled: %q", got)
		}
		n := 0
		for _, e := range w.events() {
			if e == events.WebhookDisabled {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d events say so", n)
		}
		// Enabled again, it has five days again.
		h.enable()
		e := w.happen()
		w.pass(24 * time.Hour)
		if got := h.stored().Disabled; got != "" {
			t.Errorf("disabled: %q", got)
		}
		if d, _ := h.delivery(e); d.Status != entity.DeliveryPending || d.Tries == 0 {
			t.Errorf("delivery %+v", d)
		}
	})
}

func TestOneSuccessKeepsAnEndpointEnabled(t *testing.T) {
	play(t, options{}, func(w *world) {
		h := w.register("a", nil)
		w.receiver.plays("a", status(500))
		for range 2 {
			for range 8 {
				w.happen()
				w.pass(12 * time.Hour)
			}
			w.receiver.plays("a", status(200))
			h.replay(w.happen())
			w.pass(20 * time.Minute)
			w.receiver.plays("a", status(500))
		}
		if got := h.stored().Disabled; got != "" {
			t.Errorf("disabled: %q", got)
		}
	})
}
