package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"testing"

	"github.com/wardenhq/warden/functions/warden/serve"
	"github.com/wardenhq/warden/shared/egress"
)

// operatorKey is the key that tests start their servers with.
const operatorKey = "the operator's key of the tests"

func backend() serve.Backend {
	return serve.Backend(cmp.Or(os.Getenv("WARDEN_TEST_BACKEND"), string(serve.Embedded)))
}

// start runs a server in this process until stop is called or the test ends. Its
// webhooks may call the targets.
func start(t *testing.T, data string, targets ...egress.Target) (c *client, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	s, err := serve.Open(ctx, serve.Options{
		Addr: "127.0.0.1:0", Backend: backend(), Data: data, OperatorKey: operatorKey, WebhookTargets: targets, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return &client{t: t, url: s.URL(), key: operatorKey}, stop
}

// client calls a server with one key.
type client struct {
	t        testing.TB
	url, key string
}

// as is the same server for another key.
func (c *client) as(key string) *client { return &client{c.t, c.url, key} }

// reply is what came back.
type reply struct {
	t      testing.TB
	asked  string
	status int
	header http.Header
	body   []byte
}

// call sends a request; the error is of the connection. body is sent as it is
// when it is text, as JSON otherwise; nil sends none.
func (c *client) call(ctx context.Context, method, path string, body any) (reply, error) {
	var text io.Reader = http.NoBody
	switch b := body.(type) {
	case nil:
	case string:
		text = bytes.NewReader([]byte(b))
	default:
		encoded, err := json.Marshal(b)
		if err != nil {
			return reply{}, err
		}
		text = bytes.NewReader(encoded)
	}
	return c.send(ctx, method, path, text)
}

// stream posts a body as it becomes readable.
func (c *client) stream(ctx context.Context, path string, body io.Reader) (reply, error) {
	return c.send(ctx, http.MethodPost, path, body)
}

func (c *client) send(ctx context.Context, method, path string, body io.Reader) (reply, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.url+path, body)
	if err != nil {
		return reply{}, err
	}
	r.Header.Set("Authorization", "Bearer "+c.key)
	if body != http.NoBody {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return reply{}, err
	}
	answer, err := io.ReadAll(resp.Body)
	if closeErr := resp.Body.Close(); err == nil {
		err = closeErr
	}
	return reply{c.t, method + " " + path, resp.StatusCode, resp.Header, answer}, err
}

func (c *client) do(method, path string, body any) reply {
	c.t.Helper()
	r, err := c.call(c.t.Context(), method, path, body)
	if err != nil {
		c.t.Fatal(err)
	}
	return r
}

// want holds the reply to a status.
func (r reply) want(status int) reply {
	r.t.Helper()
	if r.status != status {
		r.t.Fatalf("%s: status %d, want %d: %s", r.asked, r.status, status, r.body)
	}
	return r
}

func (r reply) into(v any) {
	r.t.Helper()
	if err := json.Unmarshal(r.body, v); err != nil {
		r.t.Fatalf("%s: %v: %s", r.asked, err, r.body)
	}
}

func (r reply) code() (code string) {
	r.t.Helper()
	var p struct {
		Code string `json:"code"`
	}
	r.into(&p)
	return p.Code
}

var plain = regexp.MustCompile(`^[A-Za-z0-9._:@-]+$`)

// seg is an id as it stands in a path.
func seg(id string) string {
	if plain.MatchString(id) {
		return id
	}
	return "~" + base64.RawURLEncoding.EncodeToString([]byte(id))
}

// provision makes an org with one scope of the same id, and a client with its key.
func (c *client) provision(id string) *client {
	c.t.Helper()
	var made struct {
		Key struct {
			Key string `json:"key"`
		} `json:"api_key"`
	}
	c.do("POST", "/v1/orgs", map[string]any{"id": id, "name": id, "owner": "owner"}).want(http.StatusCreated).into(&made)
	return c.as(made.Key.Key)
}

// question and verdict are a check's body and answer.
type question struct {
	Scope       string `json:"scope"`
	Subject     string `json:"subject"`
	Resource    string `json:"resource"`
	Action      string `json:"action"`
	Consistency string `json:"consistency,omitempty"`
	AtLeast     string `json:"at_least,omitempty"`
	Explain     bool   `json:"explain,omitempty"`
}

type verdict struct {
	Allowed  bool   `json:"allowed"`
	Reason   string `json:"reason"`
	Revision string `json:"revision"`
	Matched  []struct {
		Permission string   `json:"permission"`
		Role       string   `json:"role"`
		Via        []string `json:"via"`
		Effect     string   `json:"effect"`
	} `json:"matched"`
}

func (c *client) check(q question) (v verdict) {
	c.t.Helper()
	c.do("POST", "/v1/access/check", q).want(http.StatusOK).into(&v)
	return v
}

func (c *client) checkAll(qs []question) []verdict {
	c.t.Helper()
	var all struct {
		Results []verdict `json:"results"`
	}
	c.do("POST", "/v1/access/batch-check", map[string]any{"checks": qs}).want(http.StatusOK).into(&all)
	if len(all.Results) != len(qs) {
		c.t.Fatalf("%d results for %d checks", len(all.Results), len(qs))
	}
	return all.Results
}
