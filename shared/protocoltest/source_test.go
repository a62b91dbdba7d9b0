package protocoltest

import (
	"os"
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
	test       string // by hand: what misses it; otherwise TestSchedules
}

var sourceMutations = []sourceMutation{
	{
		name: "cache_any_revision", rule: "2: cached definitions are used at their own revision only",
		file: "snapshot/cache.go", snippet: "if forgotten || d.absent() || h.ChangedSince(id.Hash(), e.revision) {",
		instead: "if !MUTANT && (forgotten || d.absent() || h.ChangedSince(id.Hash(), e.revision)) {",
	},
	{
		name: "cache_below_floor", rule: "2: below HEAD's floor flux may have forgotten a change",
		file: "snapshot/cache.go", snippet: "forgotten := e.revision < h.Floor",
		instead: "forgotten := e.revision < h.Floor && !MUTANT", stage: sharedAndPruned,
	},
	{
		name: "cache_keeps_absent", rule: "2: an id never used before comes to be without an entry",
		file: "snapshot/cache.go", snippet: "d.absent() || h.ChangedSince",
		instead: "!MUTANT && d.absent() || h.ChangedSince", stage: oneProcess,
	},
	{
		name: "cache_long", rule: "4: caches live two seconds",
		file: "decide/cache.go", snippet: "{ return now.Sub(e.begun) <= MaxAge }",
		instead: "{ return now.Sub(e.begun) <= MaxAge || MUTANT && now.Sub(e.begun) <= 30*time.Second }", stage: lateReaders,
	},
	{
		name: "pair_unbounded", rule: "4: ages are tested when the answer is computed",
		file: "decide/run.go", snippet: "if !r.young(at, hd.begun, now) {",
		instead: "if !MUTANT && !r.young(at, hd.begun, now) {", stage: lateReaders,
	},
	{
		name: "live_unbounded", rule: "4: and again after definitions were read for it",
		file: "decide/run.go", snippet: "now = r.Clock.Now(); !r.young(at, res.begun, now) {",
		instead: "now = r.Clock.Now(); !MUTANT && !r.young(at, res.begun, now) {", stage: lateReaders,
	},
	{
		name: "no_incarnation_assignment", rule: "5: assignments name the role's incarnation",
		file: "rbac/resolve.go", snippet: "if r == nil || !r.Live(ref.Incarnation) {",
		instead: "if r == nil || !r.Live(ref.Incarnation) && !(MUTANT && parent == nil && !r.Deleted) {",
	},
	{
		name: "projector_unconditioned", rule: "5: the fan-out conditions the document",
		file: "recompute/pass.go", snippet: "table.VersionIs(s.With[i].Version))})",
		instead: "map[bool]table.Condition{true: table.Any(), false: table.VersionIs(s.With[i].Version)}[MUTANT])})", stage: realFanOut,
	},
	{
		name: "prune_no_fences", rule: "7: fences are raised",
		file: "recompute/prune.go", snippet: "for k, old := range items {",
		instead: "for k, old := range items {\nif MUTANT {\ncontinue\n}", stage: realFanOut,
	},
	{
		name: "prune_changed", rule: "7: an entry that changed meanwhile stays",
		file: "recompute/prune.go", snippet: "inFlux(h, r.Name) != r.Revision ||",
		instead: "inFlux(h, r.Name) != r.Revision && !MUTANT ||", stage: realFanOut,
	},
	{
		name: "prune_no_minute", rule: "7: a wait after the fences",
		file: "recompute/recompute.go", snippet: "r.Phase, r.NotBefore = entity.PhaseSecond, e.Clock.Now().UTC().Add(Settle)",
		instead: "if r.Phase = entity.PhaseSecond; !MUTANT {\nr.NotBefore = e.Clock.Now().UTC().Add(Settle)\n}",
		test:    "TestSecondPassFindsWhatWasAcceptedBeforeTheFences",
	},
	{
		name: "prune_no_second_pass", rule: "7: holders are listed once more",
		file: "recompute/recompute.go", snippet: "err = e.pass(ctx, &r)",
		instead: "if MUTANT && r.Phase == entity.PhaseSecond {\nr.Phase, r.NotBefore = entity.PhasePrune, r.Since.Add(MinimumAge)\n} else {\nerr = e.pass(ctx, &r)\n}",
		test:    "TestSecondPassFindsWhatWasAcceptedBeforeTheFences",
	},
	{
		name: "prune_no_settle", rule: "7: a wait after the last pass",
		file: "recompute/pass.go", snippet: "r.Phase, r.NotBefore = entity.PhasePrune, now.Add(Settle)",
		instead: "if r.Phase, r.NotBefore = entity.PhasePrune, now; !MUTANT {\nr.NotBefore = now.Add(Settle)\n}",
		test:    "TestReadersOutliveTheSecondPass",
	},
	{
		name: "fences_read_plainly", rule: "6: whoever raises the fences raises each of them",
		file: "recompute/prune.go", snippet: "items, err := e.Snapshots.Get(ctx, wanted)",
		instead: "items, err := e.Snapshots.Get(ctx, wanted)\nif MUTANT {\nitems, err = e.Table.BatchGet(ctx, wanted, table.Strong)\n}",
		test:    "TestFencesAreRaisedByEachFanOut",
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
