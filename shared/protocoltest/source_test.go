package protocoltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// sourceMutation takes a clause away in a copy of the source that only a mutated
// build sees: there `MUTANT` asks whether it is this mutation's turn.
type sourceMutation struct {
	name, rule string
	file       string // below shared/
	snippet    string // stands there once
	instead    string
	stage      func(*world)
	within     int // schedules that have to find a fault
}

var sourceMutations = []sourceMutation{
	{
		name: "cache_any_revision", rule: "2: cached definitions are used at their own revision only", within: 2000,
		file: "snapshot/cache.go", snippet: "if forgotten || d.absent() || h.ChangedSince(id.Hash(), e.revision) {",
		instead: "if !MUTANT && (forgotten || d.absent() || h.ChangedSince(id.Hash(), e.revision)) {",
	},
	{
		name: "cache_below_floor", rule: "2: below HEAD's floor flux may have forgotten a change", within: 6000,
		file: "snapshot/cache.go", snippet: "forgotten := e.revision < h.Floor",
		instead: "forgotten := e.revision < h.Floor && !MUTANT", stage: sharedAndPruned,
	},
	{
		name: "cache_keeps_absent", rule: "2: an id never used before comes to be without an entry", within: 6000,
		file: "snapshot/cache.go", snippet: "d.absent() || h.ChangedSince",
		instead: "!MUTANT && d.absent() || h.ChangedSince", stage: oneProcess,
	},
	{
		name: "cache_long", rule: "4: caches live two seconds", within: 6000,
		file: "decide/cache.go", snippet: "{ return now.Sub(e.begun) <= MaxAge }",
		instead: "{ return now.Sub(e.begun) <= MaxAge || MUTANT && now.Sub(e.begun) <= 30*time.Second }",
	},
	{
		name: "pair_unbounded", rule: "4: ages are tested when the answer is computed", within: 12000,
		file: "decide/run.go", snippet: "if !r.young(at, hd.begun, now) {",
		instead: "if !MUTANT && !r.young(at, hd.begun, now) {", stage: lateReaders,
	},
	{
		name: "live_unbounded", rule: "4: and again after definitions were read for it", within: 12000,
		file: "decide/run.go", snippet: "now = r.Clock.Now(); !r.young(at, res.begun, now) {",
		instead: "now = r.Clock.Now(); !MUTANT && !r.young(at, res.begun, now) {", stage: lateReaders,
	},
	{
		name: "no_incarnation_assignment", rule: "5: assignments name the role's incarnation", within: 6000,
		file: "rbac/resolve.go", snippet: "if r == nil || !r.Live(ref.Incarnation) {",
		instead: "if r == nil || !r.Live(ref.Incarnation) && !(MUTANT && parent == nil && !r.Deleted) {",
	},
}

// oneProcess: all share one warm process, and new roles come to be.
func oneProcess(w *world) { w.share, w.newborn, w.crowded = true, true, false }

// sharedAndPruned: entries leave flux while a warm process remembers from before.
func sharedAndPruned(w *world) {
	w.share, w.crowded = true, false
	w.cast = cast{policy: 1, define: 2, project: 2, strong: 1, byDefault: 1, changes: 3}
}

// lateReaders: default readers that stand still for long between their reads.
func lateReaders(w *world) {
	w.late, w.crowded = true, false
	w.cast = cast{policy: 1, define: 1, project: 1, byDefault: 3, changes: 2}
}

// chosen is the environment variable that a mutated build asks; nothing else reads it.
const chosen = "WARDEN_MUTATION"

// TestSourceMutations builds this package once over the mutated source, and runs
// its schedules with each mutation switched on; with none they must be right.
func TestSourceMutations(t *testing.T) {
	if testing.Short() {
		t.Skip("-short")
	}
	binary := mutated(t)
	run := func(name, seeds string, count int) (string, error) {
		c := exec.CommandContext(t.Context(), binary, "-test.run=^TestSchedules$", "-test.v")
		c.Env = append(os.Environ(), chosen+"="+name, stageVariable+"="+seeds, fmt.Sprintf("WARDEN_SCHEDULES=%d", count), "WARDEN_SEED=")
		out, err := c.CombinedOutput()
		return string(out), err
	}
	if out, err := run("none", "", 300); err != nil {
		t.Fatalf("with no mutation switched on: %v\n%s", err, out)
	}
	for _, m := range sourceMutations {
		t.Run(m.name, func(t *testing.T) {
			out, err := run(m.name, m.name, m.within)
			var exit *exec.ExitError
			if !errors.As(err, &exit) || !strings.Contains(out, wrongSeed) {
				t.Fatalf("nothing was wrong in %d schedules without the rule %q: %v\n%s", m.within, m.rule, err, out)
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

// stageVariable names the mutation whose worlds TestSchedules plays in.
const stageVariable = "WARDEN_STAGE"

// stages are the worlds that can be chosen by name; sourceMutations add theirs.
var stages = map[string]func(*world){"real_fan_out": realFanOut}

// realFanOut: two real fan-outs at a time, and policy writes that outlast them.
func realFanOut(w *world) {
	w.late, w.real, w.subjects, w.crowded = true, true, []string{"u0"}, false
	w.cast = cast{define: 2, policy: 2, project: 2, byDefault: 1, changes: 3}
}

// staged is no mutation, only the stage that the environment names; nil without.
func staged(t *testing.T) *mutation {
	t.Helper()
	name := os.Getenv(stageVariable)
	if name == "" {
		return nil
	}
	for _, m := range sourceMutations {
		if m.name == name {
			return &mutation{name: name, stage: m.stage}
		}
	}
	if stage := stages[name]; stage != nil {
		return &mutation{name: name, stage: stage}
	}
	t.Fatalf("%s: no stage %q", stageVariable, name)
	return nil
}
