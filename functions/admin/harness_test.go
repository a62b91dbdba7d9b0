package admin_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/functions/admin"
	"github.com/wardenhq/warden/functions/admin/admintest"
	"github.com/wardenhq/warden/shared/auth"
	"github.com/wardenhq/warden/shared/delivery"
	"github.com/wardenhq/warden/shared/egress"
	"github.com/wardenhq/warden/shared/httpapi"
	"github.com/wardenhq/warden/shared/httpapi/segment"
	"github.com/wardenhq/warden/shared/queue"
	"github.com/wardenhq/warden/shared/recompute"
	"github.com/wardenhq/warden/shared/retry"
	"github.com/wardenhq/warden/shared/seal"
	"github.com/wardenhq/warden/shared/snapshot"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/weak/memory"
	"github.com/wardenhq/warden/shared/write"
)

// operator is the given operator key of every world.
const operator = "the operator's key of the tests"

// clock stands still but for advance and Sleep.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.advance(d)
	return ctx.Err()
}

// world is the function over an in-memory table.
type world struct {
	*testing.T
	clock  *clock
	store  *memory.Store
	writer *write.Writer
	router *httpapi.Router
	vault  delivery.Vault
	sent   *sentBox // what was sent to the queue of deliveries
}

// sentBox is a queue that keeps what is sent to it.
type sentBox struct {
	mu       sync.Mutex
	messages []delivery.Message
}

func (b *sentBox) Send(_ context.Context, batch []queue.Message) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, q := range batch {
		m, err := delivery.ReadMessage(q)
		if err != nil {
			return err
		}
		b.messages = append(b.messages, m.Each()...)
	}
	return nil
}

// names is a resolver that knows public hosts, one inside, and nothing else.
type names struct{}

func (names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	switch host {
	case "hooks.acme.com.", "other.acme.com.":
		return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
	case "inside.acme.com.":
		return []netip.Addr{netip.MustParseAddr("10.0.0.7")}, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

func newWorld(t *testing.T) *world {
	t.Helper()
	c := &clock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	w := &world{
		T: t, clock: c, store: memory.New(c.Now), sent: new(sentBox),
		vault: delivery.Vault{Sealer: seal.Sealer{Keys: seal.Ring{seal.KeyOf([seal.KeySize]byte{1})}, Random: rand.Reader}},
	}
	w.over(w.store)
	return w
}

// over puts the function over a table in front of the world's.
func (w *world) over(store table.Store) {
	backoff := retry.Backoff{Clock: w.clock, Jitter: func() float64 { return 0 }, Base: time.Microsecond, Max: time.Microsecond, Tries: 5}
	w.writer = &write.Writer{
		Table: store, Clock: w.clock, Backoff: backoff,
		Snapshots: &snapshot.Reader{Table: store, Cache: snapshot.NewCache(1000), Backoff: backoff},
		EventID:   func(at time.Time) string { return "evt_" + ulid.MustNewDefault(at).String() },
	}
	var err error
	w.router, err = admin.New(admin.Config{
		Table: store, Writer: w.writer, Clock: w.clock, Log: slog.New(undeclared{w.T}),
		Auth:  &auth.Authenticator{Table: store, Clock: w.clock, Given: auth.Hash(operator)},
		Vault: w.vault, Targets: egress.Guard{Resolver: names{}}, Deliveries: w.sent,
		Engine: &recompute.Engine{Table: store, Snapshots: w.writer.Snapshots, Clock: w.clock, Backoff: backoff},
	})
	if err != nil {
		w.Fatal(err)
	}
}

// undeclared is a log that fails the test for answers that no route declares,
// and for lines that hold a secret.
type undeclared struct{ t *testing.T }

func (undeclared) Enabled(context.Context, slog.Level) bool { return true }
func (u undeclared) WithAttrs([]slog.Attr) slog.Handler     { return u }
func (u undeclared) WithGroup(string) slog.Handler          { return u }
func (u undeclared) Handle(_ context.Context, r slog.Record) error {
	line := r.Message
	r.Attrs(func(a slog.Attr) bool {
		line += " " + a.String()
		return true
	})
	if strings.Contains(line, "undeclared=true") || strings.Contains(line, "wdn_live_") || strings.Contains(line, "whsec_") || strings.Contains(line, operator) {
		u.t.Errorf("log: %s", line)
	}
	return nil
}

// request is what a test sends.
type request struct {
	method, path, query, key, body string
	header                         map[string]string
}

// do sends a request; the path is taken as it is, decoded.
func (w *world) do(r request) *answer {
	w.Helper()
	h := httptest.NewRequestWithContext(w.Context(), r.method, "/", strings.NewReader(r.body))
	h.URL.Path, h.URL.RawQuery = r.path, r.query
	if r.key != "" {
		h.Header.Set("Authorization", "Bearer "+r.key)
	}
	if r.body != "" {
		h.Header.Set("Content-Type", "application/json")
	}
	for name, value := range r.header {
		h.Header.Set(name, value)
	}
	rec := httptest.NewRecorder()
	w.router.ServeHTTP(rec, h)
	return &answer{T: w.T, asked: r.method + " " + r.path, status: rec.Code, header: rec.Header(), body: rec.Body.Bytes()}
}

// answer is what came back.
type answer struct {
	*testing.T
	asked  string
	status int
	header http.Header
	body   []byte
}

// is ends the test unless the answer has the status.
func (a *answer) is(status int) *answer {
	a.Helper()
	if a.status != status {
		a.Fatalf("%s: %d, want %d: %s", a.asked, a.status, status, a.body)
	}
	return a
}

// problem ends the test unless the answer is that problem, with those fields
// named first.
func (a *answer) problem(status int, code string, fields ...string) {
	a.Helper()
	var p struct {
		Code   string
		Detail string
		Errors []struct{ Field, Message string }
	}
	a.is(status).into(&p)
	if p.Code != code {
		a.Fatalf("%s: code %s, want %s: %s", a.asked, p.Code, code, a.body)
	}
	for i, f := range fields {
		if i >= len(p.Errors) || p.Errors[i].Field != f {
			a.Fatalf("%s: field %d is not %s: %s", a.asked, i, f, a.body)
		}
	}
}

func (a *answer) into(v any) *answer {
	a.Helper()
	if err := json.Unmarshal(a.body, v); err != nil {
		a.Fatalf("%s: %v: %s", a.asked, err, a.body)
	}
	return a
}

// get is a member of the answer, by names joined with dots, as JSON.
func (a *answer) get(name string) string {
	a.Helper()
	v := json.RawMessage(a.body)
	for part := range strings.SplitSeq(name, ".") {
		var m map[string]json.RawMessage
		if err := json.Unmarshal(v, &m); err != nil {
			a.Fatalf("%s: %s: %v: %s", a.asked, name, err, a.body)
		}
		v = m[part]
	}
	return string(v)
}

// text is a member that is a string.
func (a *answer) text(name string) (s string) {
	a.Helper()
	if err := json.Unmarshal([]byte(a.get(name)), &s); err != nil {
		a.Fatalf("%s: %s: %v: %s", a.asked, name, err, a.body)
	}
	return s
}

// has ends the test unless members of the answer are as given, as JSON.
func (a *answer) has(members map[string]string) *answer {
	a.Helper()
	for name, want := range members {
		if got := a.get(name); got != want {
			a.Fatalf("%s: %s is %s, want %s: %s", a.asked, name, got, want, a.body)
		}
	}
	return a
}

// tenant is a provisioned org with its first scope and key.
type tenant struct {
	*world
	org, scope, key string
}

// provision makes an org; its scope has its id.
func (w *world) provision(id string) *tenant {
	w.Helper()
	a := w.do(request{
		method: http.MethodPost, path: "/v1/orgs", key: operator,
		body: fmt.Sprintf(`{"id":%q,"name":"Org %s","owner":"owner","scope":{"id":"%s-main","name":"Main"}}`, id, id, id),
	}).is(http.StatusCreated)
	return &tenant{world: w, org: id, scope: id + "-main", key: a.text("api_key.key")}
}

func orgPath(id string, more ...string) string   { return join("/v1/orgs/", id, more) }
func scopePath(id string, more ...string) string { return join("/v1/scopes/", id, more) }

// join takes literals and ids in turn.
func join(root, id string, more []string) string {
	p := root + segment.Encode(id)
	for i, s := range more {
		if i%2 == 1 {
			s = segment.Encode(s)
		}
		p += "/" + s
	}
	return p
}

// in asks about the tenant's scope with the tenant's key.
func (t *tenant) in(method, body string, more ...string) *answer {
	t.Helper()
	return t.do(request{method: method, path: scopePath(t.scope, more...), key: t.key, body: body})
}

// at asks about the tenant's org with the tenant's key.
func (t *tenant) at(method, body string, more ...string) *answer {
	t.Helper()
	return t.do(request{method: method, path: orgPath(t.org, more...), key: t.key, body: body})
}

// furnish puts permissions, roles and policies into the tenant's scope, the same
// in every tenant.
func (t *tenant) furnish() *tenant {
	t.Helper()
	for _, f := range admintest.Furniture {
		t.do(request{method: http.MethodPut, path: scopePath(t.scope) + f.Path, key: t.key, body: f.Body}).is(http.StatusCreated)
	}
	return t
}

// newKey makes an API key of the tenant and returns its id and text.
func (t *tenant) newKey(rights, scopes string) (id, text string) {
	t.Helper()
	body := fmt.Sprintf(`{"name":"key","permissions":%s}`, rights)
	if scopes != "" {
		body = fmt.Sprintf(`{"name":"key","permissions":%s,"scopes":%s}`, rights, scopes)
	}
	a := t.at("POST", body, "api-keys").is(201)
	return a.text("id"), a.text("key")
}

// changes are all changes of the table so far.
func (w *world) changes() []table.Change {
	w.Helper()
	shards, err := w.store.Shards(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	var all []table.Change
	for _, s := range shards {
		for after := ""; ; {
			got, next, err := w.store.Changes(w.Context(), s, after, 1000)
			if err != nil {
				w.Fatal(err)
			}
			if len(got) == 0 {
				break
			}
			all, after = append(all, got...), next
		}
	}
	return all
}

// eventsSince are the events of the changes after the first n.
func (w *world) eventsSince(n int) (got []events.Event) {
	w.Helper()
	for _, c := range w.changes()[n:] {
		if c.New == nil || c.New.Type != "Event" {
			continue
		}
		var o struct{ Event events.Event }
		if err := json.NewDecoder(bytes.NewReader(c.New.Body)).Decode(&o); err != nil {
			w.Fatal(err)
		}
		got = append(got, o.Event)
	}
	return got
}
