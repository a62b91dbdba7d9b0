package command

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/wardenhq/warden/functions/warden/serve"
)

// result is what a command line came to.
type result struct {
	code           int
	stdout, stderr string
}

func line(ctx context.Context, env map[string]string, args ...string) result {
	var stdout, stderr bytes.Buffer
	code := Run(ctx, args, func(name string) string { return env[name] }, &stdout, &stderr)
	return result{code, stdout.String(), stderr.String()}
}

func TestCommands(t *testing.T) {
	for _, c := range []struct {
		args   string
		code   int
		stdout string // a part of it; empty: nothing at all
		stderr string
	}{
		{"version", 0, "warden ", ""},
		{"help", 0, "usage: warden COMMAND", ""},
		{"--help", 0, "usage: warden COMMAND", ""},
		{"", 2, "", "a command is needed"},
		{"start", 2, "", `no command "start"`},
		{"serve -h", 0, "", "WARDEN_OPERATOR_KEY"},
	} {
		r := line(t.Context(), nil, strings.Fields(c.args)...)
		if r.code != c.code || !strings.Contains(r.stdout, c.stdout) || (c.stdout == "") != (r.stdout == "") || !strings.Contains(r.stderr, c.stderr) {
			t.Errorf("warden %s: %+v", c.args, r)
		}
	}
}

func TestMisuse(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		env  map[string]string
		want string
	}{
		"unknown flag":           {args: []string{"--port", "1"}, want: "-port"},
		"argument":               {args: []string{"now"}, want: `unexpected argument "now"`},
		"aws":                    {args: []string{"--backend", "aws"}, want: "not available in this build"},
		"unknown backend":        {args: []string{"--backend", "paper"}, want: `no "paper"`},
		"unknown backend by env": {env: map[string]string{"WARDEN_BACKEND": "paper"}, want: `no "paper"`},
		"no port":                {args: []string{"--addr", "localhost"}, want: "missing port"},
		"no directory":           {args: []string{"--data", ""}, want: "--data"},
		"short key":              {args: []string{"--operator-key", strings.Repeat("k", 15)}, want: "16 to 256"},
		"long key":               {args: []string{"--operator-key", strings.Repeat("k", 257)}, want: "16 to 256"},
		"key with a control":     {args: []string{"--operator-key", "sixteen bytes\tand more"}, want: "printable"},
		"key beyond ASCII":       {args: []string{"--operator-key", "sixteen bytes and Zoë"}, want: "printable"},
		"key with spaces around": {args: []string{"--operator-key", " sixteen bytes and more"}, want: "spaces"},
		"short key by env":       {env: map[string]string{"WARDEN_OPERATOR_KEY": "k"}, want: "16 to 256"},
		"webhook target":         {args: []string{"--allow-webhook-target", "nowhere"}, want: "allow-webhook-target"},
	} {
		r := line(t.Context(), c.env, append([]string{"serve"}, c.args...)...)
		if r.code != 2 || r.stdout != "" || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%s: %+v, want %q", name, r, c.want)
		}
		for _, secret := range []string{"sixteen", strings.Repeat("k", 15)} {
			if strings.Contains(r.stderr, secret) {
				t.Errorf("%s: the key is printed: %s", name, r.stderr)
			}
		}
	}
}

func TestOptions(t *testing.T) {
	read := func(env map[string]string, args ...string) serve.Options {
		t.Helper()
		o, err := options(args, func(name string) string { return env[name] }, new(bytes.Buffer))
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	if o := read(nil); !reflect.DeepEqual(o, serve.Options{Addr: "127.0.0.1:8080", Backend: serve.Embedded, Data: "./.warden"}) {
		t.Errorf("defaults: %+v", o)
	}
	env := map[string]string{"WARDEN_ADDR": ":1", "WARDEN_DATA": "d", "WARDEN_OPERATOR_KEY": "0123456789abcdef", "WARDEN_BACKEND": "embedded"}
	want := serve.Options{Addr: ":1", Backend: serve.Embedded, Data: "d", OperatorKey: "0123456789abcdef"}
	if o := read(env); !reflect.DeepEqual(o, want) {
		t.Errorf("environment: %+v", o)
	}
	want = serve.Options{Addr: ":2", Backend: serve.Embedded, Data: ":memory:", OperatorKey: "0123456789ABCDEF"}
	if o := read(env, "--addr", ":2", "--data=:memory:", "-operator-key", "0123456789ABCDEF"); !reflect.DeepEqual(o, want) {
		t.Errorf("flags over environment: %+v", o)
	}
	o := read(nil, "--allow-webhook-target", "127.0.0.1:9000", "--allow-webhook-target", "[::1]:9001", "--rate-limit-key", "7", "--rate-limit-org", "9")
	if len(o.WebhookTargets) != 2 || o.WebhookTargets[1].String() != "[::1]:9001" || o.KeyRate != 7 || o.OrgRate != 9 {
		t.Errorf("repeated and numeric flags: %+v", o)
	}
}

func TestHelpDoesNotShowTheKey(t *testing.T) {
	env := map[string]string{"WARDEN_OPERATOR_KEY": "a key that is a secret"}
	if r := line(t.Context(), env, "serve", "-h"); strings.Contains(r.stderr, "secret") || r.code != 0 {
		t.Errorf("%+v", r)
	}
}

func TestWhatCantStart(t *testing.T) {
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }() // nothing was written to it
	for name, args := range map[string][]string{
		"address taken":     {"--addr", taken.Addr().String(), "--data", ":memory:"},
		"no directory here": {"--addr", "127.0.0.1:0", "--data", filepath.Join("command_test.go", "x")},
	} {
		r := line(t.Context(), nil, append([]string{"serve"}, args...)...)
		if r.code != 1 || r.stdout != "" || !strings.HasPrefix(r.stderr, "warden: ") {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// announced cancels once the server says that it listens, and asks it first.
type announced struct {
	t    *testing.T
	text bytes.Buffer
	stop context.CancelFunc
}

func (a *announced) Write(b []byte) (int, error) {
	a.text.Write(b)
	go func() {
		defer a.stop()
		_, url, _ := strings.Cut(strings.TrimSpace(string(b)), "listening on ")
		r, err := http.NewRequestWithContext(a.t.Context(), http.MethodGet, url+"/readyz", http.NoBody)
		if err != nil {
			a.t.Error(err)
			return
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			a.t.Error(err)
			return
		}
		if resp.StatusCode != http.StatusOK {
			a.t.Errorf("status %d", resp.StatusCode)
		}
		if err := resp.Body.Close(); err != nil {
			a.t.Error(err)
		}
	}()
	return len(b), nil
}

func TestServe(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	out := &announced{t: t, stop: cancel}
	var stderr bytes.Buffer
	code := Run(ctx, []string{"serve", "--addr", "127.0.0.1:0", "--data", ":memory:"}, func(string) string { return "" }, out, &stderr)
	lines := strings.Split(strings.TrimSuffix(out.text.String(), "\n"), "\n")
	if code != 0 || len(lines) != 2 || !strings.HasPrefix(lines[0], "warden: operator key: wdn_operator_") || !strings.HasPrefix(lines[1], "warden: listening on http://127.0.0.1:") {
		t.Errorf("code %d, %q, %s", code, lines, &stderr)
	}
}
