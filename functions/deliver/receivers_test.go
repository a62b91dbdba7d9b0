package deliver_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/shared/delivery"
	"github.com/wardenhq/warden/shared/egress"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/webhook"
)

// real is a world that delivers over HTTP to a server of the test's.
func real(t *testing.T, o egress.Options, serve http.HandlerFunc) (*world, *hook) {
	t.Helper()
	server := httptest.NewUnstartedServer(serve)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.Start()
	t.Cleanup(server.Close)
	target, err := egress.ParseTarget(t.Context(), nil, server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, options{sender: egress.New(egress.Guard{}.Allow(target), o), invocation: true})
	return w, w.register("a", func(e *entity.Webhook) { e.URL = server.URL + "/in?token=hidden" })
}

func (w *world) deliverNow() events.Event {
	w.T.Helper()
	e := w.happen()
	w.queue.wait()
	return e
}

func TestWhatIsSentVerifies(t *testing.T) {
	var h *hook
	w, h := real(t, egress.Options{}, func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		v := webhook.Verifier{Secrets: []webhook.Secret{h.secret}, Tolerance: 5 * time.Second, Now: time.Now}
		if err == nil {
			err = v.Verify(r.Header, body)
		}
		if err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" || r.ContentLength != int64(len(body)) {
			t.Errorf("%v: %s %v", err, r.Method, r.Header)
		}
	})
	h.is(w.deliverNow(), entity.DeliverySucceeded, 1)
}

// What a receiver does, and what the log of deliveries says of it.
func TestReceivers(t *testing.T) {
	raw := func(answer string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_, _ = io.WriteString(conn, answer)
				_ = conn.Close()
			}
		}
	}
	redirect := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/hook/x")
			w.WriteHeader(code)
		}
	}
	for name, c := range map[string]struct {
		serve    http.HandlerFunc
		kind     egress.Kind // empty: delivered
		code     int
		response string
	}{
		"300":             {redirect(300), egress.KindRedirect, 300, ""},
		"301":             {redirect(301), egress.KindRedirect, 301, ""},
		"302":             {redirect(302), egress.KindRedirect, 302, ""},
		"303":             {redirect(303), egress.KindRedirect, 303, ""},
		"304":             {redirect(304), egress.KindRedirect, 304, ""},
		"307":             {redirect(307), egress.KindRedirect, 307, ""},
		"308":             {redirect(308), egress.KindRedirect, 308, ""},
		"no content":      {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }, "", 204, ""},
		"chunks":          {raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"), "", 200, "ok"},
		"a close":         {raw(""), egress.KindConnectionReset, 0, ""},
		"half a body":     {raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"), egress.KindConnectionReset, 0, ""},
		"garbage":         {raw("\x00\x01garbage\r\n\r\n"), egress.KindInvalidAnswer, 0, ""},
		"endless headers": {raw("HTTP/1.1 200 OK\r\n" + strings.Repeat("X-A: "+strings.Repeat("x", 1000)+"\r\n", 100) + "\r\n"), egress.KindTooLarge, 0, ""},
		"slow headers":    {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, egress.KindTimeout, 0, ""},
		"a slow body": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "begins")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, egress.KindTimeout, 0, ""},
		"an error's text": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no such tenant", 400) }, egress.KindStatus, 400, "no such tenant\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var elsewhere atomic.Int64
			w, h := real(t, egress.Options{Timeout: 300 * time.Millisecond}, func(rw http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/in" {
					elsewhere.Add(1)
				}
				_, _ = io.Copy(io.Discard, r.Body)
				c.serve(rw, r)
			})
			status := entity.DeliveryPending
			if c.kind == "" {
				status = entity.DeliverySucceeded
			}
			a := h.is(w.deliverNow(), status, 1).Attempts[0]
			if a.Error != string(c.kind) || a.StatusCode != c.code || a.Response != c.response {
				t.Errorf("attempt %+v", a)
			}
			if elsewhere.Load() > 0 || w.queue.deadLetters() > 0 {
				t.Errorf("%d requests elsewhere, %d dead letters", elsewhere.Load(), w.queue.deadLetters())
			}
		})
	}
}

// However much a receiver answers, little of it is read and less is kept.
func TestHugeAnswers(t *testing.T) {
	const size = 64 << 20
	for name, serve := range map[string]http.HandlerFunc{
		"of known length": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(size))
			pour(w, size)
		},
		"in chunks": func(w http.ResponseWriter, _ *http.Request) { pour(w, size) },
		"compressed": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			pour(z, size/8) // compressing is slow, and some kilobytes come of it
			_ = z.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, h := real(t, egress.Options{}, serve)
			var before, now runtime.MemStats
			runtime.ReadMemStats(&before)
			a := h.is(w.deliverNow(), entity.DeliverySucceeded, 1).Attempts[0]
			runtime.ReadMemStats(&now)
			if !a.Cut || len(a.Response) > delivery.MaxResponse {
				t.Errorf("kept %d bytes, cut %v", len(a.Response), a.Cut)
			}
			if grown := now.HeapSys - before.HeapSys; int64(grown) > 32<<20 {
				t.Errorf("the heap grew by %d MB", grown>>20)
			}
		})
	}
}

func pour(w io.Writer, size int) {
	chunk := make([]byte, 64<<10)
	for range size / len(chunk) {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
}

// A target that was fine when it was registered is judged again by its address.
func TestRefusedTargetsAreNeverCalled(t *testing.T) {
	w := newWorld(t, options{sender: egress.New(egress.Guard{}, egress.Options{}), invocation: true})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("called") }))
	t.Cleanup(server.Close)
	h := w.register("a", func(e *entity.Webhook) { e.URL = strings.Replace(server.URL, "http:", "https:", 1) })
	if a := h.is(w.deliverNow(), entity.DeliveryPending, 1).Attempts[0]; a.Error != string(egress.KindRefusedTarget) || a.Response != "" {
		t.Errorf("attempt %+v", a)
	}
}
