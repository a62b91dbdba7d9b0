package loadgen_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/wardenhq/warden/functions/warden/bench/loadgen"
)

// echo answers with what it was asked, and counts each body.
func echo(t *testing.T) (addr string, seen map[string]int) {
	t.Helper()
	var mu sync.Mutex
	seen = map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		seen[string(body)]++
		mu.Unlock()
		w.Header().Set("X-Warden-Cost", "ops=1; rru=0.5; wru=0")
		if _, err := fmt.Fprintf(w, "%s %s %s %s", r.Method, r.URL.Path, r.Header.Get("Authorization"), body); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://"), seen
}

func TestRunAsksEachRequestOnce(t *testing.T) {
	addr, seen := echo(t)
	const count = 500
	got, err := loadgen.Run(t.Context(), loadgen.Load{
		Addr: addr, Connections: 4, Count: count,
		Request: func(i int) loadgen.Request {
			body := fmt.Sprintf("body %d", i)
			want := "PUT /a/b Bearer secret " + body
			return loadgen.Request{
				Wire: loadgen.Render(http.MethodPut, "/a/b", "secret", []byte(body)),
				Right: func(a loadgen.Answer) bool {
					return a.Status == http.StatusOK && string(a.Body) == want && string(a.Cost) == "ops=1; rru=0.5; wru=0"
				},
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got.Requests != count || len(seen) != count {
		t.Errorf("%d requests counted, %d bodies seen, want %d", got.Requests, len(seen), count)
	}
	if p50, p99 := got.Quantile(0.5), got.Quantile(0.99); p50 <= 0 || p50 > p99 || p99 > got.Quantile(1) {
		t.Errorf("p50 %v, p99 %v, slowest %v", p50, p99, got.Quantile(1))
	}
	if got.PerSecond() <= 0 {
		t.Errorf("%v requests a second", got.PerSecond())
	}
}

func TestRunEndsAtAWrongAnswer(t *testing.T) {
	addr, _ := echo(t)
	list := []loadgen.Request{{
		Wire:  loadgen.Render(http.MethodGet, "/", "", nil),
		Right: func(loadgen.Answer) bool { return false },
	}}
	_, err := loadgen.Run(t.Context(), loadgen.Load{Addr: addr, Connections: 1, Count: 1000, Request: loadgen.Each(list)})
	var wrong *loadgen.WrongAnswerError
	if !errors.As(err, &wrong) || wrong.Request != 0 || wrong.Status != http.StatusOK || !strings.HasPrefix(wrong.Body, "GET /") {
		t.Errorf("%v", err)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	addr, _ := echo(t)
	ctx, cancel := context.WithCancel(t.Context())
	list := []loadgen.Request{{
		Wire:  loadgen.Render(http.MethodGet, "/", "", nil),
		Right: func(loadgen.Answer) bool { cancel(); return true },
	}}
	_, err := loadgen.Run(ctx, loadgen.Load{Addr: addr, Connections: 1, Count: 1_000_000, Request: loadgen.Each(list)})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestLoadStaysOnThisMachine(t *testing.T) {
	for _, addr := range []string{"192.0.2.1:80", "example.com:80", ":80"} {
		if _, err := loadgen.Dial(t.Context(), addr); !errors.Is(err, loadgen.ErrNotLocal) {
			t.Errorf("%s: %v", addr, err)
		}
	}
}
