package serve

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/wardenhq/warden/functions/topology"
	"github.com/wardenhq/warden/shared/table/embedded"
)

func named(name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Served-By", name) })
}

func TestEachPathGoesToItsFunction(t *testing.T) {
	handlers := map[string]http.Handler{}
	for _, f := range topology.Functions() {
		handlers[f.Name] = named(f.Name)
	}
	m, err := newMux(topology.Functions(), handlers, named("nobody"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/v1/access/check", "/v1/access", "/v1/orgs", "/v1/orgs/a/api-keys", "/v1/scopes/x", "/", "/v1", "/v1/orgsx", "/healthz", "*", ""} {
		want := "nobody"
		if f, ok := topology.Serving(path); ok {
			want = f.Name
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.URL.Path = path
		w := httptest.NewRecorder()
		m.ServeHTTP(w, r)
		if got := w.Header().Get("Served-By"); got != want {
			t.Errorf("%q went to %s, want %s", path, got, want)
		}
	}
}

func TestAFunctionWithoutAHandlerIsADefect(t *testing.T) {
	functions := []topology.Function{{Name: "search", Routes: []topology.Route{{Prefix: "/v1/search"}}}}
	if _, err := newMux(functions, nil, named("nobody")); err == nil || !strings.Contains(err.Error(), "search") {
		t.Errorf("%v", err)
	}
}

func TestReadiness(t *testing.T) {
	var broken error
	h, err := newProbes(func(context.Context) error { return broken }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	probe := func(path string) int {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		return w.Code
	}
	if probe("/healthz") != 200 || probe("/readyz") != 200 {
		t.Error("not well while all is well")
	}
	broken = errors.New("disk on fire")
	if probe("/healthz") != 200 || probe("/readyz") != 503 {
		t.Error("ready though the store is not")
	}
}

func TestOperatorKeyIsMadeOnce(t *testing.T) {
	store, err := embedded.Open(embedded.Options{Dir: Memory})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	first, err := ensureOperatorKey(t.Context(), store, time.Now())
	if err != nil || !strings.HasPrefix(first, "wdn_operator_") {
		t.Fatalf("%q, %v", first, err)
	}
	if again, err := ensureOperatorKey(t.Context(), store, time.Now()); err != nil || again != "" {
		t.Errorf("%q, %v", again, err)
	}
}

func TestUnknownBackend(t *testing.T) {
	_, err := Open(t.Context(), Options{Addr: "127.0.0.1:0", Backend: "paper", Data: Memory, Log: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "paper") {
		t.Errorf("%v", err)
	}
}

// A server that is opened and never run lets go of all it holds.
func TestCloseWithoutRun(t *testing.T) {
	o := Options{Addr: "127.0.0.1:0", Backend: Embedded, Data: t.TempDir(), Log: slog.New(slog.DiscardHandler)}
	for range 2 {
		s, err := Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		o.Addr = strings.TrimPrefix(s.URL(), "http://")
	}
}
