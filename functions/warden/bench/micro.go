package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// measured are the figures of one Go benchmark, one of each run.
type measured struct{ ns, allocs []float64 }

// microGoals are the goals of Go benchmarks: those whose whole name matches take
// at most so many nanoseconds and allocations; -1: no goal.
var microGoals = []struct {
	name       *regexp.Regexp
	ns, allocs float64
}{
	{regexp.MustCompile(`^Decide/ids_of_32_bytes/`), 150, 0},
	{regexp.MustCompile(`^Decide/ids_at_the_limits/`), 400, 0},
	{regexp.MustCompile(`^Check$`), 6000, -1},
}

// micro runs the Go benchmarks of the module whose names match, one package at
// a time, and passes their output on.
func (b *bench) micro(ctx context.Context) error {
	// Below the first slash is a benchmark's own division.
	top, _, _ := strings.Cut(b.pattern, "/")
	wanted, err := regexp.Compile(top)
	if err != nil {
		return err
	}
	packages, err := packagesWith(here(), wanted)
	if err != nil || len(packages) == 0 {
		return err
	}
	args := []string{"test", "-run", "^$", "-bench", b.pattern, "-benchmem", "-count", strconv.Itoa(b.goCount), "-p", "1"}
	args = append(args, packages...)
	cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // the pattern is one argument
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	found, err := readBenchmarks(out, b.out)
	if err := errors.Join(err, cmd.Wait()); err != nil {
		return fmt.Errorf("go test: %w", err)
	}
	b.judge(found)
	return nil
}

// benchmark is a line of `go test -bench`: name, processors, runs, and figures
// with their units.
var (
	benchmarkLine   = regexp.MustCompile(`^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+(.*)$`)
	benchmarkFigure = regexp.MustCompile(`([0-9.e+]+) (\S+)`)
)

// benchmarks are measured benchmarks by their names, in the order of the names.
type benchmarks struct {
	names  []string
	byName map[string]*measured
}

// readBenchmarks reads what go test prints, and copies it.
func readBenchmarks(r io.Reader, p *printer) (benchmarks, error) {
	all := benchmarks{byName: map[string]*measured{}}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		p.printf("%s\n", lines.Text())
		line := benchmarkLine.FindStringSubmatch(lines.Text())
		if line == nil {
			continue
		}
		m := all.byName[line[1]]
		if m == nil {
			m = &measured{}
			all.byName[line[1]] = m
			all.names = append(all.names, line[1])
		}
		for _, figure := range benchmarkFigure.FindAllStringSubmatch(line[2], -1) {
			v, err := strconv.ParseFloat(figure[1], 64)
			if err != nil {
				return all, fmt.Errorf("%q: %w", lines.Text(), err)
			}
			switch figure[2] {
			case "ns/op":
				m.ns = append(m.ns, v)
			case "allocs/op":
				m.allocs = append(m.allocs, v)
			}
		}
	}
	return all, lines.Err()
}

// judge sets the fastest of the runs against the goals: what others do to the
// machine only adds.
func (b *bench) judge(all benchmarks) {
	for _, name := range all.names {
		for _, g := range microGoals {
			if !g.name.MatchString(name) {
				continue
			}
			m := all.byName[name]
			if len(m.ns) > 0 {
				b.goals = append(b.goals, goal{what: name, got: slices.Min(m.ns), unit: "ns", bound: g.ns})
			}
			if len(m.allocs) > 0 && g.allocs >= 0 {
				b.goals = append(b.goals, goal{what: name, got: slices.Min(m.allocs), unit: "allocations", bound: g.allocs})
			}
		}
	}
}
