package e2e

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// received is one request that a receiver got.
type received struct {
	path   string
	header http.Header
	body   []byte
}

func (r received) id() string { return r.header.Get("Webhook-Id") }

// receiver is the other side of all endpoints of a test. Each endpoint has its
// own path.
type receiver struct {
	*httptest.Server
	mu  sync.Mutex
	got []received
}

// newReceiver answers 200 where answers has no path. The address is loopback: the
// server must be started with it as a target.
func newReceiver(t *testing.T, answers map[string]http.HandlerFunc) *receiver {
	t.Helper()
	r := new(receiver)
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return // the sender was killed meanwhile: it did not send this
		}
		r.mu.Lock()
		r.got = append(r.got, received{req.URL.Path, req.Header.Clone(), body})
		r.mu.Unlock()
		if answer := answers[req.URL.Path]; answer != nil {
			answer(w, req)
		}
	}))
	t.Cleanup(func() {
		r.CloseClientConnections()
		r.Close()
	})
	return r
}

// all are the requests so far, in the order they came.
func (r *receiver) all() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

// at are those to a path.
func (r *receiver) at(path string) (got []received) {
	for _, one := range r.all() {
		if one.path == path {
			got = append(got, one)
		}
	}
	return got
}

// target is the receiver's HOST:PORT.
func (r *receiver) target() string { return strings.TrimPrefix(r.URL, "http://") }

// check is nil for a request as Standard Webhooks wants it, signed by each of the
// secrets and of the event that its id says. It computes signatures by itself.
func (r received) check(secrets ...string) error {
	var body struct {
		Type string `json:"type"`
		Data struct {
			ID   string `json:"id"`
			Type string `json:"type"`
		} `json:"data"`
	}
	if err := json.Unmarshal(r.body, &body); err != nil {
		return fmt.Errorf("%w: %s", err, r.body)
	}
	if r.id() == "" || body.Data.ID != r.id() || body.Type != body.Data.Type {
		return fmt.Errorf("webhook-id %q of %s", r.id(), r.body)
	}
	signatures := strings.Fields(r.header.Get("Webhook-Signature"))
	if len(signatures) != len(secrets) {
		return fmt.Errorf("%d signatures, want %d", len(signatures), len(secrets))
	}
	for i, secret := range secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err != nil {
			return err
		}
		mac := hmac.New(sha256.New, key)
		_, _ = fmt.Fprintf(mac, "%s.%s.%s", r.id(), r.header.Get("Webhook-Timestamp"), r.body) // a hash takes all
		if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); signatures[i] != want {
			return fmt.Errorf("signature %d is %s, want %s", i, signatures[i], want)
		}
	}
	return nil
}

// byID groups requests by their events, whose bytes are the same in each attempt.
func byID(t *testing.T, requests []received) map[string]int {
	t.Helper()
	bodies, n := map[string][]byte{}, map[string]int{}
	for _, r := range requests {
		if n[r.id()]++; n[r.id()] == 1 {
			bodies[r.id()] = r.body
		}
		if !bytes.Equal(bodies[r.id()], r.body) {
			t.Errorf("%s at %s: %s, and before %s", r.id(), r.path, r.body, bodies[r.id()])
		}
	}
	return n
}

// patience bounds how long a test waits for what must come.
const patience = 30 * time.Second

// await asks until nothing is wrong.
func await(t *testing.T, patience time.Duration, wrong func() error) {
	t.Helper()
	again := time.NewTicker(25 * time.Millisecond)
	defer again.Stop()
	for deadline := time.Now().Add(patience); ; <-again.C {
		err := wrong()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %s: %v", patience, err)
		}
	}
}

// audited is an event as the audit log shows it.
type audited struct {
	ID    string    `json:"id"`
	Type  string    `json:"type"`
	Time  time.Time `json:"time"`
	Seq   int       `json:"seq"`
	Org   string    `json:"org"`
	Scope *string   `json:"scope"`
	Actor struct {
		Type string `json:"type"`
		ID   string `json:"id"`
	} `json:"actor"`
	RequestID string `json:"request_id"`
	Target    struct {
		Type string `json:"type"`
		ID   string `json:"id"`
	} `json:"target"`
	Before json.RawMessage `json:"before"`
	After  json.RawMessage `json:"after"`
}

func (a audited) target() string { return a.Target.Type + "/" + a.Target.ID }

// delivered is a delivery as the log of an endpoint shows it.
type delivered struct {
	ID       string `json:"id"`
	EventID  string `json:"event_id"`
	Type     string `json:"type"`
	Status   string `json:"status"`
	Attempts []struct {
		StatusCode int    `json:"status_code"`
		Error      string `json:"error"`
	} `json:"attempts"`
}

// all are the items of a list, from all its pages.
func all[T any](c *client, path string) (items []T) {
	c.t.Helper()
	for cursor := ""; ; {
		var page struct {
			Items []T    `json:"items"`
			Next  string `json:"next_cursor"`
		}
		c.do("GET", path+"?limit=1000"+cursor, nil).want(http.StatusOK).into(&page)
		items = append(items, page.Items...)
		if page.Next == "" {
			return items
		}
		cursor = "&cursor=" + page.Next
	}
}

// hooked is an endpoint with its secret.
type hooked struct {
	ID      string    `json:"id"`
	URL     string    `json:"url"`
	Events  []string  `json:"events"`
	Status  string    `json:"status"`
	Reason  string    `json:"disabled_reason"`
	Secret  string    `json:"secret"`
	Created time.Time `json:"created_at"`

	org, scope string
}

func (c *client) hook(org, scope, url string, events ...string) hooked {
	c.t.Helper()
	h := hooked{org: org, scope: scope}
	c.do("POST", "/v1/scopes/"+seg(scope)+"/webhooks", object{"url": url, "events": events}).want(http.StatusCreated).into(&h)
	return h
}

// at is the path of the endpoint on the receiver.
func (h hooked) at() string {
	u, err := url.Parse(h.URL)
	if err != nil {
		panic(err)
	}
	return u.Path
}

func (h hooked) path() string { return "/v1/scopes/" + seg(h.scope) + "/webhooks/" + seg(h.ID) }

// takes says whether the endpoint is to have an event, by the contract's words.
func (h hooked) takes(e audited) bool {
	if e.Org != h.org || e.Scope != nil && *e.Scope != h.scope || e.Time.Before(h.Created) {
		return false
	}
	if itself := e.target() == "webhook/"+h.ID; itself && e.Type == "webhook.test" {
		return true
	} else if itself && e.Type == "webhook.disabled" {
		return false
	}
	return slices.ContainsFunc(h.Events, func(filter string) bool {
		prefix, wild := strings.CutSuffix(filter, "*")
		return e.Type == filter || wild && strings.HasPrefix(e.Type, prefix)
	})
}
