package e2e

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// chaosChanges names the environment variable with the number of changes of the
// chaos test. With it the test also waits for what a killed process had in mind,
// which the table says is due minutes later; without, it asks for it.
const chaosChanges = "WARDEN_CHAOS_CHANGES"

// chaos is what outlives the server: what was acknowledged, and the receiver.
type chaos struct {
	*testing.T
	*client
	p        *process
	data     string
	receiver *receiver
	hooks    map[string]hooked // by the path on the receiver
	storming atomic.Bool       // and the healing endpoint fails

	mu   sync.Mutex
	todo []change       // not acknowledged, the next one last
	done map[string]int // acknowledged: the events' types and targets
}

// change is one write with one event.
type change struct{ method, id string }

// expects is the change's event.
func (c change) expects() string {
	return map[string]string{http.MethodPut: "permission.created", http.MethodDelete: "permission.deleted"}[c.method] + " permission/" + c.id
}

// The process is killed again and again while it takes changes and delivers them:
// nothing that was acknowledged is missing in the audit log, whose chain holds,
// and every event comes to every endpoint that works, whatever the others do.
func TestKilledWhileEventsAreOnTheirWay(t *testing.T) {
	asked := os.Getenv(chaosChanges)
	n, err := strconv.Atoi(cmp.Or(asked, "300"))
	if err != nil {
		t.Fatal(err)
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	c := newChaos(t, n)
	const kills = 6
	for left := kills; left > 0; left-- {
		c.storm(1 + r.IntN(2*n/kills))
		c.restart()
		if r.IntN(2) == 0 { // in the middle of starting over, too
			c.restart()
		}
	}
	c.storm(n)
	c.storming.Store(false)
	c.restart()

	events := c.auditedOnce()
	c.chainHolds(len(events))
	for _, path := range []string{"/healthy", "/healing"} {
		c.everything(path, events, asked == "" || path == "/healing")
	}
	c.failing("/failing", "error_status")
	c.failing("/hanging", "timeout")
	c.gone()
	c.p.stop(syscall.SIGTERM)
}

func newChaos(t *testing.T, n int) *chaos {
	t.Helper()
	c := &chaos{T: t, data: t.TempDir(), hooks: map[string]hooked{}, done: map[string]int{}}
	c.storming.Store(true)
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	c.receiver = newReceiver(t, map[string]http.HandlerFunc{
		"/failing": status(http.StatusInternalServerError),
		"/gone":    status(http.StatusGone),
		"/hanging": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"/healing": func(w http.ResponseWriter, _ *http.Request) {
			if c.storming.Load() {
				w.WriteHeader(http.StatusInternalServerError)
			}
		},
	})
	c.launch()
	c.do("POST", "/v1/orgs", object{"id": org, "name": "Acme", "owner": "owner", "scope": object{"id": scope, "name": "Main"}}).want(201)
	for _, path := range []string{"/healthy", "/healing", "/failing", "/hanging", "/gone"} {
		c.hooks[path] = c.hook(org, scope, c.receiver.URL+path, "permission.*")
	}
	for i := range n - n/4 {
		c.todo = append(c.todo, change{http.MethodPut, fmt.Sprintf("p%d", i)})
	}
	return c
}

func (c *chaos) launch() {
	c.Helper()
	c.p = launch(c.T, []string{"WARDEN_OPERATOR_KEY=" + operatorKey}, "--data", c.data, "--allow-webhook-target", c.receiver.target())
	c.client = c.p.client(operatorKey)
}

// restart kills the process, which may be dead already, and starts it again.
func (c *chaos) restart() {
	c.Helper()
	c.p.stop(syscall.SIGKILL)
	c.launch()
}

// next is a change to make; false when there is none.
func (c *chaos) next() (change, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.todo) == 0 {
		return change{}, false
	}
	last := len(c.todo) - 1
	one := c.todo[last]
	c.todo = c.todo[:last]
	return one, true
}

// storm makes up to n changes by four clients, and kills the process while they
// are at it. What was not acknowledged is made again by the next storm.
func (c *chaos) storm(n int) {
	c.Helper()
	var count atomic.Int64
	ctx, cancel := context.WithCancel(c.Context())
	defer cancel()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for ctx.Err() == nil {
				one, ok := c.next()
				if !ok {
					return
				}
				if !c.make(ctx, one) {
					return
				}
				if count.Add(1) == int64(n) {
					_ = c.p.cmd.Process.Signal(syscall.SIGKILL) // restart waits for its end
					cancel()
				}
			}
		})
	}
	wg.Wait()
}

// make makes a change; false when it is not known whether it was made.
func (c *chaos) make(ctx context.Context, one change) bool {
	path, body := "/v1/scopes/"+scope+"/permissions/"+one.id, any(nil)
	if one.method == http.MethodPut {
		body = object{"resource": one.id, "action": "read", "effect": "allow"}
	}
	r, err := c.call(ctx, one.method, path, body)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.todo = append(c.todo, one)
		return false
	}
	switch r.status {
	case http.StatusCreated, http.StatusOK, http.StatusNoContent, http.StatusNotFound: // 200 and 404 when it was made before
		c.done[one.expects()]++
		if one.method == http.MethodPut && len(c.done)%4 == 3 { // a quarter of the changes deletes
			c.todo = append(c.todo, change{http.MethodDelete, one.id})
		}
	default:
		c.Errorf("%s: %d %s", r.asked, r.status, r.body)
	}
	return true
}

// auditedOnce are the events of all changes, each of which the audit log has once.
func (c *chaos) auditedOnce() (found []audited) {
	c.Helper()
	await(c.T, time.Minute, func() error {
		found = nil
		times := map[string]int{}
		for _, e := range all[audited](c.client, "/v1/scopes/"+scope+"/audit") {
			if e.Target.Type == "permission" {
				found = append(found, e)
				times[e.Type+" "+e.target()]++
			}
		}
		for event := range c.done {
			if times[event] != 1 {
				return fmt.Errorf("%s is there %d times", event, times[event])
			}
		}
		if len(times) != len(c.done) {
			return fmt.Errorf("%d events of %d changes", len(times), len(c.done))
		}
		return nil
	})
	return found
}

// chainHolds exports the log and verifies the export, as its owner would.
func (c *chaos) chainHolds(atLeast int) {
	c.Helper()
	file := filepath.Join(c.TempDir(), "export.ndjson")
	export := command(c.T, "audit", "export", "--scope", scope, "--out", file)
	export.Env = append(export.Env, "WARDEN_URL="+c.p.url, "WARDEN_KEY="+operatorKey)
	if out, err := export.CombinedOutput(); err != nil {
		c.Fatalf("%v: %s", err, out)
	}
	if out, err := command(c.T, "audit", "verify", file).CombinedOutput(); err != nil {
		c.Errorf("%v: %s", err, out)
	}
	if lines := lineCount(c.T, file); lines < atLeast {
		c.Errorf("%d lines of at least %d events", lines, atLeast)
	}
}

func lineCount(t *testing.T, file string) (n int) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range text {
		if b == '\n' {
			n++
		}
	}
	return n
}

// everything waits until an endpoint has every event, and holds all requests to
// it. What is pending is asked for when ask is set.
func (c *chaos) everything(path string, events []audited, ask bool) {
	c.Helper()
	h := c.hooks[path]
	asked := map[string]bool{}
	await(c.T, 6*time.Minute, func() error {
		log := all[delivered](c.client, h.path()+"/deliveries")
		if len(log) != len(events) {
			return fmt.Errorf("%s: %d deliveries of %d events", path, len(log), len(events))
		}
		var open error
		for _, d := range log {
			if d.Status == "succeeded" {
				continue
			}
			open = errors.Join(open, fmt.Errorf("%s: %s is %s after %d attempts", path, d.EventID, d.Status, len(d.Attempts)))
			if ask && !asked[d.ID] {
				asked[d.ID] = true
				c.do("POST", h.path()+"/deliveries/"+seg(d.ID)+"/replay", nil).want(http.StatusAccepted)
			}
		}
		return open
	})
	got := c.receiver.at(path)
	times := byID(c.T, got)
	for _, e := range events {
		if times[e.ID] == 0 {
			c.Errorf("%s: %s %s did not come", path, e.ID, e.Type)
		}
	}
	for _, r := range got {
		if err := r.check(h.Secret); err != nil {
			c.Errorf("%s: %v", path, err)
		}
	}
}

// failing waits until the log of an endpoint that does not work says why.
func (c *chaos) failing(path, kind string) {
	c.Helper()
	h := c.hooks[path]
	await(c.T, time.Minute, func() error {
		found := false
		for _, d := range all[delivered](c.client, h.path()+"/deliveries") {
			if d.Status != "pending" {
				return fmt.Errorf("%s: %s is %s", path, d.EventID, d.Status)
			}
			for _, a := range d.Attempts {
				found = found || a.Error == kind
			}
		}
		if !found {
			return fmt.Errorf("%s: no attempt with %s", path, kind)
		}
		return nil
	})
	for _, r := range c.receiver.at(path) {
		if err := r.check(h.Secret); err != nil {
			c.Errorf("%s: %v", path, err)
		}
	}
}

// gone holds the endpoint that is gone to being disabled, for a reason.
func (c *chaos) gone() {
	c.Helper()
	h := c.hooks["/gone"]
	await(c.T, time.Minute, func() error {
		var now hooked
		if c.do("GET", h.path(), nil).want(200).into(&now); now.Status != "disabled" || now.Reason != "gone" {
			return fmt.Errorf("%s %q", now.Status, now.Reason)
		}
		return nil
	})
	told := 0
	for _, e := range all[audited](c.client, "/v1/scopes/"+scope+"/audit") {
		if e.Type == "webhook.disabled" && e.Target.ID == h.ID {
			told++
		}
	}
	if told != 1 {
		c.Errorf("%d events say that it is disabled", told)
	}
}
