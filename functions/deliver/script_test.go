package deliver_test

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/shared/egress"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/webhook"
)

// play runs a test in a bubble, where days take no time.
func play(t *testing.T, o options, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(newWorld(t, o)) })
}

// between ends the test unless a wait is within bounds.
func (w *world) between(what string, got, least, most time.Duration) {
	w.T.Helper()
	if got < least || got > most {
		w.T.Errorf("%s: %s, want %s to %s", what, got, least, most)
	}
}

func TestADelivery(t *testing.T) {
	play(t, options{}, func(w *world) {
		h := w.register("a", nil)
		e := w.happen()
		synctest.Wait()
		d := h.is(e, entity.DeliverySucceeded, 1)
		got := w.receiver.got("a")
		if len(got) != 1 {
			t.Fatalf("%d requests", len(got))
		}
		h.verify(got[0], h.secret)
		head := got[0].header
		if head.Get("webhook-id") != e.ID || head.Get("Content-Type") != "application/json" || !strings.HasPrefix(head.Get("User-Agent"), "Warden") {
			t.Errorf("headers %v", head)
		}
		if !bytes.HasPrefix(got[0].body, []byte(`{"type":"role.created","timestamp":"`+e.Time+`","data":{"id":"`+e.ID)) {
			t.Errorf("body %s", got[0].body)
		}
		if a := d.Attempts[0]; a.StatusCode != 200 || a.Error != "" || a.URL != h.url || !a.Time.Equal(got[0].at) {
			t.Errorf("attempt %+v", a)
		}
	})
}

func TestFailuresAreRetried(t *testing.T) {
	play(t, options{}, func(w *world) {
		h := w.register("a", nil)
		w.receiver.plays("a", status(500), status(500), status(200))
		e := w.happen()
		synctest.Wait()
		if d := h.is(e, entity.DeliveryPending, 1); d.Attempts[0].StatusCode != 500 || d.Attempts[0].Error != "error_status" {
			t.Errorf("attempt %+v", d.Attempts[0])
		}
		w.pass(10 * time.Minute)
		h.is(e, entity.DeliverySucceeded, 3)
		w.pass(48 * time.Hour)
		got := w.receiver.got("a")
		if len(got) != 3 {
			t.Fatalf("%d requests", len(got))
		}
		for i, s := range got {
			h.verify(s, h.secret) // each for its own time
			if s.header.Get("webhook-id") != e.ID || !bytes.Equal(s.body, got[0].body) {
				t.Errorf("attempt %d: id %s, body %s", i, s.header.Get("webhook-id"), s.body)
			}
		}
		w.between("first wait", got[1].at.Sub(got[0].at), 4*time.Second, 6*time.Second)
		w.between("second wait", got[2].at.Sub(got[1].at), 4*time.Minute, 6*time.Minute)
		if got[0].header.Get("webhook-signature") == got[2].header.Get("webhook-signature") {
			t.Error("a signature was used again")
		}
	})
}

func TestTheLadderEnds(t *testing.T) {
	play(t, options{}, func(w *world) {
		h := w.register("a", nil)
		w.receiver.plays("a", status(403))
		e := w.happen()
		w.pass(100 * time.Hour)
		d := h.is(e, entity.DeliveryFailed, 10)
		if len(d.Attempts) != 10 || len(w.receiver.got("a")) != 10 {
			t.Errorf("%d attempts shown, %d requests", len(d.Attempts), len(w.receiver.got("a")))
		}
		if h.stored().Disabled != "" || w.queue.deadLetters() != 0 {
			t.Errorf("disabled %q, %d dead letters", h.stored().Disabled, w.queue.deadLetters())
		}
	})
}

func TestEveryKindOfFailureIsRetried(t *testing.T) {
	for name, s := range map[string]step{
		"301": status(301), "302": status(302), "304": status(304), "300": status(300), "404": status(404), "429": status(429), "501": status(501),
		"timeout": timesOut,
		"refused": func(context.Context) (egress.Answer, error) {
			return egress.Answer{}, &egress.RefusedError{Reason: egress.ReasonAddress, Detail: "private"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, options{}, func(w *world) {
				h := w.register("a", nil)
				w.receiver.plays("a", s, status(200))
				e := w.happen()
				w.pass(3 * time.Minute)
				if d := h.is(e, entity.DeliverySucceeded, 2); d.Attempts[0].Error == "" || d.Attempts[1].Error != "" {
					t.Errorf("attempts %+v", d.Attempts)
				}
			})
		})
	}
}

func TestGoneDisablesAtOnce(t *testing.T) {
	play(t, options{}, func(w *world) {
		h, other := w.register("a", nil), w.register("b", nil)
		w.receiver.plays("a", status(410), status(200))
		e := w.happen()
		synctest.Wait()
		h.is(e, entity.DeliveryFailed, 1)
		if got := h.stored().Disabled; got != entity.DisabledGone {
			t.Fatalf("disabled: %q", got)
		}
		if got := w.events(); !slices.Contains(got, events.WebhookDisabled) {
			t.Errorf("events %v", got)
		}
		// That it is disabled is told to others, not to itself.
		notice := w.event(events.WebhookDisabled)
		notice.Target = events.Target{Type: "webhook", ID: h.id.String()}
		w.publish(notice)
		later := w.happen()
		w.pass(time.Hour)
		if _, ok := h.delivery(notice); ok {
			t.Error("it is told that it is disabled")
		}
		other.is(notice, entity.DeliverySucceeded, 1)
		if d := h.is(later, entity.DeliveryCancelled, 0); d.Cancelled != entity.CancelledDisabled {
			t.Errorf("cancelled because %q", d.Cancelled)
		}
		if got := len(w.receiver.got("a")); got != 1 {
			t.Errorf("%d requests", got)
		}
	})
}

func TestRetryAfter(t *testing.T) {
	for name, c := range map[string]struct {
		first       step
		least, most time.Duration
	}{
		"seconds":         {retryAfter(429, "200"), 200 * time.Second, 241 * time.Second},
		"overload":        {status(503), time.Minute, 90 * time.Second},
		"too long":        {retryAfter(503, "99999999"), 24 * time.Hour, 24*time.Hour + time.Minute},
		"an early one":    {retryAfter(500, "1"), 4 * time.Second, 6 * time.Second},
		"a failure's too": {retryAfter(500, "90"), 90 * time.Second, 109 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, options{}, func(w *world) {
				h := w.register("a", nil)
				w.register("b", nil)
				w.receiver.plays("a", c.first, status(200))
				e := w.happen()
				w.pass(25 * time.Hour)
				h.is(e, entity.DeliverySucceeded, 2)
				got := w.receiver.got("a")
				w.between("wait", got[1].at.Sub(got[0].at), c.least, c.most)
				if b := w.receiver.got("b"); len(b) != 1 || b[0].at.Sub(got[0].at) > time.Second {
					t.Errorf("the other endpoint waited: %v", b)
				}
			})
		})
	}
}

func TestRotatedSecretsBothSign(t *testing.T) {
	play(t, options{}, func(w *world) {
		h := w.register("a", nil)
		newer, err := webhook.NewSecret(bytes.NewReader(bytes.Repeat([]byte{7}, 32)))
		w.Must(err)
		sealed, err := vault().SealSecret(t.Context(), w.Scope.ID, h.id, newer)
		w.Must(err)
		_, err = w.Writer.RotateWebhookSecret(t.Context(), w.request(), w.Scope, h.id, sealed, time.Hour, nil)
		w.Must(err)
		w.happen()
		synctest.Wait()
		time.Sleep(time.Hour + time.Second)
		w.happen()
		synctest.Wait()
		got := w.receiver.got("a")
		h.verify(got[0], newer)
		h.verify(got[0], h.secret)
		if entries := strings.Fields(got[0].header.Get("webhook-signature")); len(entries) != 2 {
			t.Errorf("signatures %v", entries)
		}
		h.verify(got[1], newer)
		if entries := strings.Fields(got[1].header.Get("webhook-signature")); len(entries) != 1 {
			t.Errorf("after the overlap: %v", entries)
		}
	})
}

func TestOwnHeadersAreSent(t *testing.T) {
	play(t, options{}, func(w *world) {
		w.register("a", func(e *entity.Webhook) {
			var err error
			e.Headers, err = vault().SealHeaders(t.Context(), e.Scope, e.ID, map[string]string{"Authorization": "Bearer hidden", "X-Team": "iam"})
			w.Must(err)
		})
		w.receiver.plays("a", status(500), status(200))
		w.happen()
		w.pass(time.Minute)
		for _, s := range w.receiver.got("a") {
			if s.header.Get("Authorization") != "Bearer hidden" || s.header.Get("X-Team") != "iam" || s.header.Get("webhook-id") == "" {
				t.Errorf("headers %v", s.header)
			}
		}
	})
}

// An attempt uses the endpoint as it is by then, and says which URL it called.
func TestAttemptsUseTheEndpointAsItIs(t *testing.T) {
	play(t, options{}, func(w *world) {
		h := w.register("a", nil)
		w.receiver.plays("a", status(500))
		e := w.happen()
		synctest.Wait()
		_, err := w.Writer.UpdateWebhook(t.Context(), w.request(), w.Scope, h.id, nil, func(hook *entity.Webhook) error {
			hook.URL = "https://hooks.acme.com/hidden/b"
			return nil
		})
		w.Must(err)
		w.pass(time.Minute)
		d := h.is(e, entity.DeliverySucceeded, 2)
		if nameOf(d.Attempts[0].URL) != "a" || nameOf(d.Attempts[1].URL) != "b" {
			t.Errorf("attempts %+v", d.Attempts)
		}
	})
}

func TestAnswersAreCut(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		more bool // the client read no further
		cut  bool
		want string
	}{
		"short":        {"ok", false, false, "ok"},
		"long":         {strings.Repeat("x", 5000), true, true, strings.Repeat("x", 2048)},
		"just so":      {strings.Repeat("x", 2048), false, false, strings.Repeat("x", 2048)},
		"no UTF-8":     {"a\xffb", false, false, "a\ufffdb"},
		"only that":    {strings.Repeat("\xff", 2048), false, false, "\ufffd"},
		"much of it":   {strings.Repeat("x\xff", 1024), false, true, strings.Repeat("x\ufffd", 512)},
		"a rune apart": {strings.Repeat("x", 2047) + "é", false, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, options{}, func(w *world) {
				h := w.register("a", nil)
				w.receiver.plays("a", func(context.Context) (egress.Answer, error) {
					return egress.Answer{Status: http.StatusOK, Header: http.Header{}, Body: []byte(c.body), Cut: c.more}, nil
				})
				e := w.happen()
				synctest.Wait()
				a := h.is(e, entity.DeliverySucceeded, 1).Attempts[0]
				if a.Cut != c.cut || c.want != "" && a.Response != c.want || len(a.Response) > 2048 {
					t.Errorf("cut %v, %d bytes %.20q", a.Cut, len(a.Response), a.Response)
				}
			})
		})
	}
}
