package embedded_test

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
)

const childEnv = "WARDEN_TEST_CHILD"

// child is the command that runs the test again in a process of its own.
func child(t *testing.T, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(append(os.Environ(), childEnv+"="+t.Name()), env...)
	return cmd
}

func isChild(t *testing.T) bool { return os.Getenv(childEnv) == t.Name() }

// inChild runs a test that changes its process for good.
func inChild(t *testing.T, body func(*testing.T)) {
	t.Helper()
	if isChild(t) {
		body(t)
		return
	}
	out, err := child(t).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if bytes.Contains(out, []byte("--- SKIP")) {
		t.Skipf("%s", out)
	}
}
