package command

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/wardenhq/warden/functions/admin"
	"github.com/wardenhq/warden/shared/auth"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/recompute"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/write/writetest"
)

func TestVerify(t *testing.T) {
	w := writetest.New(t)
	acme := w.Provision("acme", func(k *entity.APIKey) { k.Permissions = entity.AllRights })
	acme.Assign("alice", "admin")
	router, err := admin.New(admin.Config{
		Table: w.Table, Writer: w.Writer, Clock: w.Clock, Auth: &auth.Authenticator{Table: w.Table, Clock: w.Clock}, Log: slog.New(slog.DiscardHandler),
		Engine: &recompute.Engine{Table: w.Table, Snapshots: w.Snapshots, Clock: w.Clock, Backoff: w.Writer.Backoff},
	})
	w.Must(err)
	server := httptest.NewServer(router)
	defer server.Close()
	run := func(args ...string) (code int, stdout, stderr string) {
		var out, errs strings.Builder
		code = Run(context.Background(), append([]string{"verify"}, args...), func(name string) string {
			return map[string]string{"WARDEN_URL": server.URL, "WARDEN_KEY": acme.Text}[name]
		}, &out, &errs)
		return code, out.String(), errs.String()
	}
	scope := acme.Scope.ID.String()
	if code, stdout, stderr := run(scope); code != 0 || stdout != "2 policies checked\n" {
		t.Errorf("clean: %d %q %q", code, stdout, stderr)
	}
	doc := keys.Access(acme.Scope.ID, writetest.Subject("alice")).Raw()
	w.Must(w.Table.Transact(t.Context(), table.Tx{Ops: []table.Op{table.Delete(doc, table.Any())}}))
	if code, stdout, stderr := run(scope); code != 1 || !strings.Contains(stdout, `differs: no-document "alice"`) || !strings.Contains(stderr, "--repair") {
		t.Errorf("drifted: %d %q %q", code, stdout, stderr)
	}
	if code, stdout, _ := run(scope, "--repair"); code != 0 || !strings.Contains(stdout, `mended: no-document "alice"`) {
		t.Errorf("mended: %d %q", code, stdout)
	}
	if code, stdout, _ := run(scope); code != 0 || stdout != "2 policies checked\n" {
		t.Errorf("after: %d %q", code, stdout)
	}
	if code, _, stderr := run("nowhere"); code != 1 || !strings.Contains(stderr, "404") {
		t.Errorf("no such scope: %d %q", code, stderr)
	}
	for _, args := range [][]string{{}, {"a", "b"}, {"--nope", "a"}} {
		if code, _, stderr := run(args...); code != 2 {
			t.Errorf("%v: %d %q", args, code, stderr)
		}
	}
}
