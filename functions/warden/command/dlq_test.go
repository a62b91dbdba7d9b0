package command_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardenhq/warden/functions/warden/command"
	"github.com/wardenhq/warden/shared/queue"
	"github.com/wardenhq/warden/shared/queue/local"
)

func TestDeadLetters(t *testing.T) {
	dir := t.TempDir()
	run := func(args ...string) (code int, stdout, stderr string) {
		var out, err strings.Builder
		code = command.Run(t.Context(), append([]string{"dlq"}, args...), func(string) string { return "" }, &out, &err)
		return code, out.String(), err.String()
	}
	if code, _, stderr := run("list", "--data", dir); code != 1 || !strings.Contains(stderr, "no queues") {
		t.Errorf("without a data directory: %d %s", code, stderr)
	}
	b, err := local.Open(filepath.Join(dir, "queues.db"))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Park(t.Context(), "fanout", queue.Message{Group: "acme", Body: []byte("an event")}, errors.New("no such table")); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := run("list", "--data", dir); code != 1 || !strings.Contains(stderr, "Stop it first") {
		t.Errorf("while a server runs: %d %s", code, stderr)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if code, stdout, _ := run("list", "--data", dir); code != 0 || stdout != "fanout  1\n" {
		t.Errorf("list: %d %q", code, stdout)
	}
	if code, stdout, _ := run("list", "--data", dir, "fanout"); code != 0 || !strings.Contains(stdout, "acme") || !strings.Contains(stdout, "no such table") {
		t.Errorf("list fanout: %d %q", code, stdout)
	}
	if code, stdout, _ := run("redrive", "--data", dir, "fanout"); code != 0 || !strings.HasPrefix(stdout, "1 message") {
		t.Errorf("redrive: %d %q", code, stdout)
	}
	if code, stdout, _ := run("list", "--data", dir); code != 0 || stdout != "" {
		t.Errorf("after: %d %q", code, stdout)
	}
	for _, args := range [][]string{{}, {"bury"}, {"redrive"}, {"list", "a", "b"}, {"list", "--nope"}} {
		if code, _, _ := run(args...); code != 2 {
			t.Errorf("%v: %d", args, code)
		}
	}
}
