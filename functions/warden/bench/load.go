package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"github.com/wardenhq/warden/functions/warden/bench/loadgen"
)

// loaded is a data directory with a tenant of so many subjects, and what it
// took to fill it.
type loaded struct {
	data     string
	tenant   *tenant
	subjects int
	writes   *loadgen.Result
	cpu      time.Duration // of the server, a write
	heap     heap          // right after the last write

	settled, settling time.Duration // from then until all was done that follows, and processor time
}

// serveArgs are the arguments of a server over a data directory.
func serveArgs(data string) []string {
	return []string{"serve", "-addr", "127.0.0.1:0", "-data", data, "-operator-key", operatorKey}
}

// probedArgs are those of a server with a probe, and with profiles when such
// are wanted.
func (b *bench) probedArgs(name, data string) []string {
	args := []string{"probed"}
	if b.profiles != "" {
		args = append(args, "-profiles", filepath.Join(b.profiles, name))
	}
	return append(args, serveArgs(data)...)
}

// fill loads a tenant through the API of a server that can tell its heap.
func (b *bench) fill(ctx context.Context, name string, subjects, connections int) (_ *loaded, err error) {
	l := &loaded{data: filepath.Join(b.work, name), subjects: subjects}
	s, err := start(ctx, b.work, b.self, b.probedArgs("load-"+name, l.data)...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	if l.tenant, err = provision(ctx, s.addr); err != nil {
		return nil, err
	}
	before, err := s.usage()
	if err != nil {
		return nil, err
	}
	if l.writes, err = l.tenant.policies(ctx, s.addr, subjects, connections); err != nil {
		return nil, err
	}
	after, err := s.usage()
	if err != nil {
		return nil, err
	}
	l.cpu = (after.CPU - before.CPU) / time.Duration(l.writes.Requests)
	if l.heap, err = s.heap(); err != nil {
		return nil, err
	}
	l.settled, l.settling, err = s.settle(ctx)
	return l, err
}

// Clients that load a scope.
const loaders = 32

// serveLoad reports how a large scope was loaded, and how soon a server answers
// from it.
func (b *bench) serveLoad(ctx context.Context) error {
	l, err := b.large(ctx)
	if err != nil {
		return err
	}
	const mb = 1e6
	b.out.printf("\nload of %d policies through the API by %d clients\n\n", l.subjects, loaders)
	b.out.printf("  %.0f writes/s, p50 %.1f ms, p99 %.1f ms, in %.1f s; CPU %.3f ms a write\n", l.writes.PerSecond(),
		ms(l.writes.Quantile(0.5)), ms(l.writes.Quantile(0.99)), l.writes.Elapsed.Seconds(), ms(l.cpu))
	b.out.printf("  Go heap in use %.1f MB, after a collection %.1f MB with %d objects; %.1f MB from the system, %d collections\n",
		float64(l.heap.InUse)/mb, float64(l.heap.Settled)/mb, l.heap.Objects, float64(l.heap.FromOS)/mb, l.heap.Cycles)
	b.out.printf("  what follows from the writes was done %.1f s later, for %.3f ms a write\n",
		l.settled.Seconds(), ms(l.settling)/float64(l.subjects))
	var took []time.Duration
	for range b.rounds {
		d, err := b.firstAnswer(ctx, l)
		if err != nil {
			return err
		}
		took = append(took, d)
	}
	slices.Sort(took)
	b.out.printf("  first right answer after a restart: %.3f s, slowest of %d %.3f s\n",
		median(took).Seconds(), len(took), took[len(took)-1].Seconds())
	b.goals = append(b.goals,
		goal{what: fmt.Sprintf("policies loaded, %d clients", loaders), got: l.writes.PerSecond(), unit: "writes/s", bound: 1000, atLeast: true},
		goal{what: "Go heap in use after the load", got: float64(l.heap.InUse) / mb, unit: "MB", bound: 100},
		goal{what: "first right answer after a restart, slowest", got: took[len(took)-1].Seconds(), unit: "s", bound: 0.3},
	)
	return nil
}

// firstAnswer starts a server over the data and is the time from then until it
// has answered a question rightly.
func (b *bench) firstAnswer(ctx context.Context, l *loaded) (took time.Duration, err error) {
	questions, err := l.tenant.singles(false)
	if err != nil {
		return 0, err
	}
	s, err := start(ctx, b.work, b.warden, serveArgs(l.data)...)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	a, err := loadgen.Ask(ctx, s.addr, questions[0].Wire)
	took = time.Since(s.started)
	if err == nil && (a.Status != http.StatusOK || !questions[0].Right(a)) {
		err = &loadgen.WrongAnswerError{Status: a.Status, Body: string(a.Body)}
	}
	return took, err
}
