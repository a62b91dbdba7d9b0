//go:build !race

package protocoltest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// One actor runs at a time, so the race detector would only make the search for
// what mutations break slower: these tests are not in its builds.

// mutationSchedules is how many schedules have to find a fault, at most.
const mutationSchedules = 40000

// TestMutations: without the clause, schedules are wrong.
func TestMutations(t *testing.T) {
	for _, m := range portMutations {
		t.Run(m.name, func(t *testing.T) {
			ran, _, seed, fault := play(0, mutationSchedules, &m)
			if fault == nil {
				t.Fatalf("nothing was wrong in %d schedules without the rule %q", ran, m.rule)
			}
			t.Logf("%d schedules: seed %d: %v", ran, seed, fault)
		})
	}
}

// TestSourceMutations builds this package once over the mutated source, and runs
// its schedules with each mutation switched on; with none they must be right.
func TestSourceMutations(t *testing.T) {
	binary := mutated(t)
	run := func(test, name, stage string, count int) (string, error) {
		c := exec.CommandContext(t.Context(), binary, "-test.run=^("+test+")$", "-test.v")
		c.Env = append(os.Environ(), chosen+"="+name, stageVariable+"="+stage, fmt.Sprintf("WARDEN_SCHEDULES=%d", count), "WARDEN_SEED=")
		out, err := c.CombinedOutput()
		return string(out), err
	}
	if out, err := run("Test(Schedules|Fences.*|SecondPass.*|Readers.*)", "none", "", 300); err != nil {
		t.Fatalf("with no mutation switched on: %v\n%s", err, out)
	}
	for _, m := range sourceMutations {
		t.Run(m.name, func(t *testing.T) {
			out, err := run(cmp.Or(m.test, "TestSchedules"), m.name, m.name, mutationSchedules)
			var exit *exec.ExitError
			if !errors.As(err, &exit) || !strings.Contains(out, wrongSeed) {
				t.Fatalf("nothing was wrong in %d schedules without the rule %q: %v\n%s", mutationSchedules, m.rule, err, out)
			}
			t.Log(found(out))
		})
	}
}

// found are the lines that tell of the fault.
func found(out string) string {
	var lines []string
	for line := range strings.Lines(out) {
		if strings.Contains(line, "schedules") || strings.Contains(line, wrongSeed) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return strings.Join(lines, "; ")
}

// mutated builds the package over the mutated source.
func mutated(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	shared, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, m := range sourceMutations {
		path := filepath.Join(shared, m.file)
		if texts[path] == "" {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			texts[path] = string(b)
		}
		if n := strings.Count(texts[path], m.snippet); n != 1 {
			t.Fatalf("%s: shared/%s has the snippet %d times, it must be there once: %s", m.name, m.file, n, m.snippet)
		}
		instead := strings.ReplaceAll(m.instead, "MUTANT", fmt.Sprintf("(os.Getenv(%q) == %q)", chosen, m.name))
		texts[path] = strings.Replace(texts[path], m.snippet, instead, 1)
	}
	replace := map[string]string{}
	for path, text := range texts {
		text = strings.Replace(text, "import (", "import (\n\t\"os\"", 1)
		other := filepath.Join(dir, strings.ReplaceAll(path, string(filepath.Separator), "_"))
		if err := os.WriteFile(other, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[path] = other
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	list, binary := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "mutated.test")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-overlay", list, "-o", binary, ".").CombinedOutput()
	if err != nil {
		t.Fatalf("the mutated build: %v\n%s", err, out)
	}
	return binary
}
