package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/wardenhq/warden/functions/warden/bench/loadgen"
)

func TestReadBenchmarks(t *testing.T) {
	const output = `goos: linux
pkg: github.com/wardenhq/warden/shared/access
BenchmarkDecide/ids_of_32_bytes/exact-2   	 9000000	       120.5 ns/op	       0 B/op	       0 allocs/op
BenchmarkDecide/ids_of_32_bytes/exact-2   	 9000000	       200 ns/op	       0 B/op	       0 allocs/op
BenchmarkDecide/ids_of_32_bytes/exact-2   	 9000000	       110 ns/op	       0 B/op	       1 allocs/op
BenchmarkCheck   	 500000	      6500 ns/op	  1.5 things	     900 B/op	      12 allocs/op
PASS
ok  	github.com/wardenhq/warden/shared/access	3.1s
`
	var copied bytes.Buffer
	found, err := readBenchmarks(strings.NewReader(output), &printer{w: &copied})
	if err != nil {
		t.Fatal(err)
	}
	if copied.String() != output {
		t.Errorf("copied %q", &copied)
	}
	var b bench
	b.judge(found)
	want := []goal{
		{what: "Decide/ids_of_32_bytes/exact", got: 110, unit: "ns", bound: 150},
		{what: "Decide/ids_of_32_bytes/exact", got: 0, unit: "allocations", bound: 0},
		{what: "Check", got: 6500, unit: "ns", bound: 6000},
	}
	if !slices.Equal(b.goals, want) {
		t.Errorf("got  %v\nwant %v", b.goals, want)
	}
}

func TestPackagesWithABenchmark(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	module := fstest.MapFS{
		"go.mod":                 file("module m\n"),
		"a/x_test.go":            file("package a\n\nfunc BenchmarkDecide(b *testing.B) {}\n"),
		"a/y_test.go":            file("package a\n\nfunc BenchmarkDecideMany(b *testing.B) {}\n"),
		"a/b/x_test.go":          file("package b\n\n// as func BenchmarkDecide(b *testing.B)\nfunc BenchmarkParse(b *testing.B) {}\n"),
		"c/decide.go":            file("package c\n\nfunc BenchmarkDecide() {}\n"),
		"other/go.mod":           file("module other\n"),
		"other/a/x_test.go":      file("package a\n\nfunc BenchmarkDecide(b *testing.B) {}\n"),
		".hidden/x/x_test.go":    file("package x\n\nfunc BenchmarkDecide(b *testing.B) {}\n"),
		"node_modules/x_test.go": file("package x\n\nfunc BenchmarkDecide(b *testing.B) {}\n"),
	}
	for pattern, want := range map[string][]string{
		"Decide": {"./a"}, "^Decide$": {"./a"}, ".": {"./a", "./a/b"}, "Serve": nil,
	} {
		got, err := packagesWith(module, regexp.MustCompile(pattern))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v, want %q", pattern, got, err, want)
		}
	}
}

func TestReportCountsMissedGoals(t *testing.T) {
	var out bytes.Buffer
	missed := report(&printer{w: &out}, []goal{
		{what: "a", got: 1, bound: 2},
		{what: "b", got: 2, bound: 2},
		{what: "c", got: 3, bound: 2},
		{what: "d", got: 1, bound: 2, atLeast: true},
		{what: "e", got: 2, bound: 2, atLeast: true},
	})
	var lines []string
	for line := range strings.Lines(out.String()) {
		if f := strings.Fields(line); len(f) > 1 {
			lines = append(lines, f[0]+" "+f[1])
		}
	}
	if want := []string{"met a", "met b", "MISSED c", "MISSED d", "met e"}; missed != 2 || !slices.Equal(lines, want) {
		t.Errorf("%d missed, %q", missed, lines)
	}
}

// What can't be written is not lost silently.
func TestPrinterKeepsTheFirstError(t *testing.T) {
	r, w := io.Pipe()
	if err := r.CloseWithError(io.ErrUnexpectedEOF); err != nil {
		t.Fatal(err)
	}
	p := &printer{w: w}
	p.table([][]string{{"a", "b"}})
	p.printf("more")
	if !errors.Is(p.err, io.ErrUnexpectedEOF) {
		t.Errorf("%v", p.err)
	}
}

func TestCostsAdd(t *testing.T) {
	var sum cost
	for _, header := range []string{"ops=1; rru=1.5; wru=0", "ops=0; rru=0; wru=0", "ops=2; rru=0.5; wru=3"} {
		if err := sum.add([]byte(header)); err != nil {
			t.Fatal(err)
		}
	}
	if want := (cost{ops: 3, rru: 2, wru: 3}); sum != want {
		t.Errorf("%+v, want %+v", sum, want)
	}
	if err := sum.add([]byte("ops=1")); err == nil {
		t.Error("half a header was taken")
	}
}

func TestVerdictsAreHeldToTheirOrder(t *testing.T) {
	const yes, no = `{"allowed":true}`, `{"allowed":false}`
	right := several([]bool{true, false})
	for body, want := range map[string]bool{
		`[` + yes + `,` + no + `]`:             true,
		`[` + no + `,` + yes + `]`:             false,
		`[` + yes + `]`:                        false,
		`[` + yes + `,` + no + `,` + yes + `]`: false,
	} {
		if got := right(loadgen.Answer{Status: http.StatusOK, Body: []byte(body)}); got != want {
			t.Errorf("%s: %v", body, got)
		}
	}
	if right(loadgen.Answer{Status: http.StatusInternalServerError, Body: []byte(`[` + yes + `,` + no + `]`)}) {
		t.Error("a failure was taken for an answer")
	}
}

// The floor reads every form of the questions.
func TestFloorAnswersTheQuestions(t *testing.T) {
	floor := httptest.NewServer(newFloor())
	t.Cleanup(floor.Close)
	addr := strings.TrimPrefix(floor.URL, "http://")
	q, err := (&tenant{scope: "bench", key: "key"}).questions()
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range [][]loadgen.Request{q.singles, q.batches, {{Wire: loadgen.Render(http.MethodPost, checkPath, "", []byte("{"))}}} {
		broken := list[0].Right == nil
		for _, r := range list {
			a, err := loadgen.Ask(t.Context(), addr, r.Wire)
			if err != nil {
				t.Fatal(err)
			}
			if (a.Status == http.StatusOK) == broken {
				t.Fatalf("%s: %d %s", r.Wire, a.Status, a.Body)
			}
		}
	}
	if len(q.singles) != asked || len(q.batches)*batchSize != asked {
		t.Errorf("%d questions, %d batches", len(q.singles), len(q.batches))
	}
}

func TestProbeTellsTheHeap(t *testing.T) {
	in, ask := io.Pipe()
	answers, out := io.Pipe()
	done := make(chan struct{})
	go func() { defer close(done); probe(in, out) }()
	decoder := json.NewDecoder(answers)
	for range 2 {
		if _, err := io.WriteString(ask, "heap\n"); err != nil {
			t.Fatal(err)
		}
		var h heap
		if err := decoder.Decode(&h); err != nil {
			t.Fatal(err)
		}
		if h.InUse == 0 || h.Settled == 0 || h.Objects == 0 || h.FromOS < h.InUse {
			t.Errorf("%+v", h)
		}
	}
	if err := ask.Close(); err != nil {
		t.Fatal(err)
	}
	<-done
}

// A server that ends without saying where it listens is an error with its log.
func TestStartTellsWhyAServerEnded(t *testing.T) {
	if _, err := start(t.Context(), t.TempDir(), "go", "no-such-command"); err == nil || !strings.Contains(err.Error(), "unknown command") {
		t.Errorf("%v", err)
	}
}

func TestOnceRemembers(t *testing.T) {
	calls := 0
	f := once(func(context.Context) (int, error) { calls++; return calls, nil })
	for range 2 {
		if v, err := f(t.Context()); v != 1 || err != nil {
			t.Errorf("%d, %v", v, err)
		}
	}
}
