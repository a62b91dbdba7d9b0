package audit_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/events/chain"
	"github.com/wardenhq/warden/functions/audit"
	trail "github.com/wardenhq/warden/shared/audit"
	"github.com/wardenhq/warden/shared/auth"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/httpapi"
	"github.com/wardenhq/warden/shared/retry"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/write/writetest"
)

// signing is the key of every world's checkpoints.
var signing = ed25519.NewKeyFromSeed([]byte("a seed of tests, thirty-two long"))

const operator = "the operator's key of the tests"

// world is the function over a tenant's table.
type world struct {
	*writetest.World
	*testing.T
	audit  *audit.Audit
	router http.Handler
	after  string // position in the feed

	subjects int // that busy named

	mu        sync.Mutex
	published []events.Event
	refuse    error // of Publish
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{World: writetest.New(t), T: t}
	w.audit = w.over(w.Table)
	w.router = w.serve(w.audit)
	return w
}

// over is the function over a table in front of the world's.
func (w *world) over(store table.Store) *audit.Audit {
	backoff := retry.Backoff{Clock: w.Clock, Jitter: func() float64 { return 1 }, Base: time.Second, Max: time.Minute, Tries: 12}
	return audit.New(audit.Config{
		Table: store, Log: &trail.Log{Table: store, Clock: w.Clock, Backoff: backoff}, Clock: w.Clock, Key: signing,
		Publish: w.publish, Report: slog.New(slog.DiscardHandler),
		EventID: func(at time.Time) string { return "evt_" + ulid.MustNewDefault(at).String() },
	})
}

func (w *world) publish(_ context.Context, batch []events.Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refuse == nil {
		w.published = append(w.published, batch...)
	}
	return w.refuse
}

// serve puts the routes behind an edge as the local server does.
func (w *world) serve(a *audit.Audit) http.Handler {
	w.Helper()
	authenticator := &auth.Authenticator{Table: w.Table, Clock: w.Clock, Given: auth.Hash(operator)}
	router, err := httpapi.NewRouter(httpapi.Config{
		Authenticate: func(ctx context.Context, bearer string) (httpapi.Principal, error) {
			return authenticator.Authenticate(ctx, bearer)
		},
		Authorize: func(_ context.Context, c *httpapi.Call) error {
			p, ok := c.Principal().(auth.Principal)
			if !ok || !p.May(entity.Right(c.Route().Permission)) {
				return fault.New(fault.Forbidden, "the key lacks the permission")
			}
			return nil
		},
		Log: slog.New(slog.DiscardHandler),
	}, a.Endpoints()...)
	w.Must(err)
	return router
}

// drain hands the feed's changes to the function until there are none.
func (w *world) drain() {
	w.Helper()
	for {
		changes, next, err := w.Table.Changes(w.Context(), "memory", w.after, 100)
		w.Must(err)
		if len(changes) == 0 {
			return
		}
		done, err := w.audit.Changes(w.Context(), changes)
		if err != nil || done != len(changes) {
			w.Fatalf("%d of %d changes: %v", done, len(changes), err)
		}
		w.after = next
	}
}

// skip loses all changes that the feed has, as a stream that was not read in time.
func (w *world) skip() {
	w.Helper()
	for {
		changes, next, err := w.Table.Changes(w.Context(), "memory", w.after, 1000)
		w.Must(err)
		if len(changes) == 0 {
			return
		}
		w.after = next
	}
}

// answer is what came back.
type answer struct {
	*world
	status int
	header http.Header
	body   string
}

// get asks with a key; the path is taken as it is. Headers are name and value in turn.
func (w *world) get(key, path string, headers ...string) *answer {
	w.Helper()
	path, query, _ := strings.Cut(path, "?")
	r := httptest.NewRequestWithContext(w.Context(), http.MethodGet, "/", nil)
	r.URL.Path, r.URL.RawQuery = path, query
	r.Header.Set("X-Request-Id", "same")
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	rec := httptest.NewRecorder()
	w.router.ServeHTTP(rec, r)
	return &answer{w, rec.Code, rec.Header(), rec.Body.String()}
}

func (a *answer) is(status int) *answer {
	a.Helper()
	if a.status != status {
		a.Fatalf("%d, want %d: %s", a.status, status, a.body)
	}
	return a
}

// page is a list's answer.
type page struct {
	Items      []events.Event
	NextCursor string `json:"next_cursor"`
}

func (a *answer) page() (p page) {
	a.Helper()
	a.is(http.StatusOK)
	a.Must(json.Unmarshal([]byte(a.body), &p))
	return p
}

// all walks a list by its cursors.
func (w *world) all(key, path string) (all []events.Event) {
	w.Helper()
	separator := "?"
	if strings.Contains(path, "?") {
		separator = "&"
	}
	for cursor := ""; ; {
		p := w.get(key, path+separator+"cursor="+cursor).page()
		all = append(all, p.Items...)
		if cursor = p.NextCursor; cursor == "" {
			return all
		}
	}
}

// lines walks an export by its links.
func (w *world) lines(key, path string) string {
	w.Helper()
	var b strings.Builder
	for path != "" {
		a := w.get(key, path, "Accept", "application/x-ndjson").is(http.StatusOK)
		b.WriteString(a.body)
		next, _, _ := strings.Cut(strings.TrimPrefix(a.header.Get("Link"), "<"), ">")
		path = next
	}
	return b.String()
}

// verified is the head of an export that is whole.
func (w *world) verified(export string, want chain.Expectation) chain.Head {
	w.Helper()
	head, err := chain.Verify(each(export), want)
	w.Must(err)
	return head
}

func each(export string) func(yield func([]byte, error) bool) {
	return func(yield func([]byte, error) bool) {
		for line := range strings.Lines(export) {
			if !yield([]byte(strings.TrimSuffix(line, "\n")), nil) {
				return
			}
		}
	}
}

// busy makes n changes in a tenant's scope.
func (w *world) busy(t *writetest.Tenant, n int) {
	w.Helper()
	for range n {
		w.subjects++
		t.Assign(fmt.Sprintf("subject-%d", w.subjects), "admin")
	}
}
