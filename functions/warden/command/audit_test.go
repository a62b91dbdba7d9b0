package command

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/functions/audit"
	trail "github.com/wardenhq/warden/shared/audit"
	"github.com/wardenhq/warden/shared/auth"
	"github.com/wardenhq/warden/shared/httpapi"
	"github.com/wardenhq/warden/shared/write/writetest"
)

// auditServer serves a tenant's audit log of some events, with a checkpoint, and
// returns its address and the key.
func auditServer(t *testing.T, signing ed25519.PrivateKey) (url, key string) {
	t.Helper()
	w := writetest.New(t)
	acme := w.Provision("acme", nil)
	for _, subject := range []string{"alice", "bob", "=carl"} {
		acme.Assign(subject, "admin")
	}
	function := audit.New(audit.Config{
		Table: w.Table, Log: &trail.Log{Table: w.Table, Clock: w.Clock}, Clock: w.Clock, Key: signing, Report: slog.New(slog.DiscardHandler),
		Publish: func(context.Context, []events.Event) error { return nil },
	})
	changes, _, err := w.Table.Changes(t.Context(), "memory", "", 1000)
	w.Must(err)
	_, err = function.Changes(t.Context(), changes)
	w.Must(err)
	w.Clock.Advance(time.Hour)
	w.Must(function.Checkpoint(t.Context(), w.Clock.Now()))
	authenticator := &auth.Authenticator{Table: w.Table, Clock: w.Clock}
	router, err := httpapi.NewRouter(httpapi.Config{
		Authenticate: func(ctx context.Context, bearer string) (httpapi.Principal, error) {
			return authenticator.Authenticate(ctx, bearer)
		},
		Authorize: func(context.Context, *httpapi.Call) error { return nil },
		Log:       slog.New(slog.DiscardHandler),
	}, function.Endpoints()...)
	w.Must(err)
	server := httptest.NewServer(router)
	t.Cleanup(server.Close)
	return server.URL, acme.Text
}

func TestAuditExportAndVerify(t *testing.T) {
	signing := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	url, key := auditServer(t, signing)
	env := map[string]string{"WARDEN_URL": url, "WARDEN_KEY": key}
	public := base64.StdEncoding.EncodeToString(signing[ed25519.SeedSize:])
	for _, log := range []string{"--scope", "--org"} {
		file := filepath.Join(t.TempDir(), "acme.ndjson")
		if r := line(t.Context(), env, "audit", "export", log, "acme", "--out", file); r.code != 0 || r.stdout != "" || !strings.Contains(r.stderr, " events, ") {
			t.Fatalf("%+v", r)
		}
		r := line(t.Context(), nil, "audit", "verify", file, "--key", public)
		if r.code != 0 || !strings.Contains(r.stdout, `scope "acme" of org "acme": seq 1 to 3 are whole`) || !strings.Contains(r.stdout, "vouch for it up to seq 3") {
			t.Errorf("%+v", r)
		}
		if r := line(t.Context(), nil, "audit", "verify", file); r.code != 0 || !strings.Contains(r.stdout, public) {
			t.Errorf("%+v", r)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(string(text), "\n")
		n := len(lines) - 1
		for name, broken := range map[string]string{
			"line 1: changed": strings.Replace(string(text), `"request_id":"req_test"`, `"request_id":"req_other"`, 1),
			"cut":             strings.Join(lines[:n-1], ""),
			"malformed":       string(text[:len(text)-10]),
		} {
			at := filepath.Join(t.TempDir(), "broken")
			if err := os.WriteFile(at, []byte(broken), 0o600); err != nil {
				t.Fatal(err)
			}
			if r := line(t.Context(), nil, "audit", "verify", "--checkpoints", file+".checkpoints.json", at); r.code != 1 || !strings.Contains(r.stderr, name) || r.stdout != "" {
				t.Errorf("%s: %+v", name, r)
			}
		}
	}
}

func TestAuditExportToStandardOutput(t *testing.T) {
	url, key := auditServer(t, ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)))
	r := line(t.Context(), nil, "audit", "export", "--url", url, "--key", key, "--scope", "acme", "--format", "csv")
	if r.code != 0 || strings.Count(r.stdout, "\n") != 4 || !strings.HasPrefix(r.stdout, "seq,id,") || !strings.Contains(r.stdout, ",'=carl,") || !strings.Contains(r.stderr, "3 events, ") {
		t.Errorf("%+v", r)
	}
}

func TestAuditFailures(t *testing.T) {
	url, key := auditServer(t, ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)))
	env := map[string]string{"WARDEN_URL": url, "WARDEN_KEY": key}
	dir := t.TempDir()
	for args, want := range map[string]struct {
		code   int
		stderr string
	}{
		"audit":                                                  {2, "what to do?"},
		"audit forget":                                           {2, "what to do?"},
		"audit --help":                                           {0, "usage: warden audit export"},
		"audit verify -h":                                        {0, "usage: warden audit export"},
		"audit export":                                           {2, "--scope and --org"},
		"audit export --scope a --org b":                         {2, "--scope and --org"},
		"audit export now --scope a":                             {2, `unexpected argument "now"`},
		"audit export --scope a --format xml":                    {2, "--format"},
		"audit export --scope a --url warden":                    {2, "--url"},
		"audit export --scope a --key ":                          {2, "--key"},
		"audit export --scope a --out":                           {2, "-out"},
		"audit export --scope missing":                           {1, "404 not-found"},
		"audit export --scope acme --key nonsense":               {1, "401 unauthenticated"},
		"audit export --scope missing --out " + dir + "/x":       {1, "404 not-found"},
		"audit export --scope acme --out " + dir + "/missing/x":  {1, "no such file"},
		"audit verify":                                           {2, "one FILE is needed"},
		"audit verify a b":                                       {2, "one FILE is needed"},
		"audit verify a --key short":                             {2, "--key"},
		"audit verify " + dir + "/none":                          {1, "no such file"},
		"audit verify command.go":                                {1, "line 1: malformed"},
		"audit verify command.go --checkpoints " + dir + "/none": {1, "no such file"},
		"audit verify command.go --checkpoints command.go":       {1, "invalid character"},
	} {
		r := line(t.Context(), env, strings.Split(args, " ")...)
		if r.code != want.code || !strings.Contains(r.stderr, want.stderr) || r.stdout != "" || strings.Contains(r.stderr, key) {
			t.Errorf("warden %s: %+v", args, r)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("an export that failed leaves %v, %v", left, err)
	}
}
