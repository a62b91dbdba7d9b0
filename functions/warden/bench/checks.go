package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/wardenhq/warden/functions/warden/bench/loadgen"
)

// contestant is a server under one kind of question.
type contestant struct {
	name     string
	server   *server
	requests []loadgen.Request
	strong   []loadgen.Request // the same, to be answered strongly
	checks   int               // in a request
	rounds   []round
}

// round is what one turn of a contestant took.
type round struct {
	cpu       time.Duration // of the server, a check
	p50, p99  time.Duration // a request
	perSecond float64       // checks
	rss, file int64         // bytes that are resident afterwards, and what of them is of files
}

// middle is the median of a figure over the rounds.
func (c *contestant) middle(of func(round) time.Duration) time.Duration {
	return median(each(c.rounds, of))
}

func (c *contestant) cpu() time.Duration { return c.middle(roundCPU) }

func roundCPU(r round) time.Duration { return r.cpu }

func each[T any](rounds []round, of func(round) T) []T {
	all := make([]T, len(rounds))
	for i, r := range rounds {
		all[i] = of(r)
	}
	return all
}

// turn asks the contestant so many requests and says what that took.
func (c *contestant) turn(ctx context.Context, connections, count int) (r round, err error) {
	before, err := c.server.usage()
	if err != nil {
		return r, err
	}
	got, err := loadgen.Run(ctx, loadgen.Load{
		Addr: c.server.addr, Connections: connections, Count: count, Request: loadgen.Each(c.requests),
	})
	if err != nil {
		return r, fmt.Errorf("%s: %w", c.name, err)
	}
	after, err := c.server.usage()
	if err != nil {
		return r, err
	}
	return round{
		cpu: (after.CPU - before.CPU) / time.Duration(got.Requests*c.checks),
		p50: got.Quantile(0.5), p99: got.Quantile(0.99),
		perSecond: got.PerSecond() * float64(c.checks), rss: after.RSS, file: after.Files,
	}, nil
}

// The places of the contestants.
const (
	floorSingle = iota
	smallSingle
	largeSingle
	floorBatch
	smallBatch
	largeBatch
)

// serveChecks asks the floor and Warden the same questions in turns, one at a
// time and in batches, in a scope of few subjects and in one of many.
func (b *bench) serveChecks(ctx context.Context) (err error) {
	small, err := b.small(ctx)
	if err != nil {
		return err
	}
	large, err := b.large(ctx)
	if err != nil {
		return err
	}
	var servers fleet
	defer func() { err = errors.Join(err, servers.stop()) }()
	field, err := b.contestants(ctx, &servers, small, large)
	if err != nil {
		return err
	}
	if err := b.costs(ctx, field[smallSingle], field[largeSingle]); err != nil {
		return err
	}
	// Work left over by a load must not be taken for the price of a check.
	for _, s := range servers {
		if _, _, err := s.settle(ctx); err != nil {
			return err
		}
	}
	for _, c := range field {
		if _, err := c.turn(ctx, b.connections, max(1, b.count(c)/10)); err != nil {
			return err
		}
	}
	for n := range b.rounds {
		for i := range field { // another one begins each round
			c := field[(n+i)%len(field)]
			r, err := c.turn(ctx, b.connections, b.count(c))
			if err != nil {
				return err
			}
			c.rounds = append(c.rounds, r)
		}
	}
	b.compare(field)
	return nil
}

// count is how many requests a contestant gets in a turn. Batches get fewer:
// they are that much longer, and still many more checks.
func (b *bench) count(c *contestant) int {
	if c.checks > 1 {
		return max(1, b.requests/5)
	}
	return b.requests
}

// contestants starts a server for the floor and one for each scope.
func (b *bench) contestants(ctx context.Context, servers *fleet, small, large *loaded) ([]*contestant, error) {
	floor, err := servers.start(ctx, b.work, b.self, "floor")
	if err != nil {
		return nil, err
	}
	program, args := b.warden, serveArgs(small.data)
	if b.profiles != "" {
		program, args = b.self, b.probedArgs("check", small.data)
	}
	few, err := servers.start(ctx, b.work, program, args...)
	if err != nil {
		return nil, err
	}
	many, err := servers.start(ctx, b.work, b.warden, serveArgs(large.data)...)
	if err != nil {
		return nil, err
	}
	ofFew, err := small.tenant.questions()
	if err != nil {
		return nil, err
	}
	ofMany, err := large.tenant.questions()
	if err != nil {
		return nil, err
	}
	fewName, manyName := fmt.Sprintf("warden, %d subjects", small.subjects), fmt.Sprintf("warden, %d subjects", large.subjects)
	return []*contestant{
		floorSingle: {name: "floor", server: floor, requests: unjudged(ofFew.singles), checks: 1},
		smallSingle: {name: fewName, server: few, requests: ofFew.singles, strong: ofFew.strong, checks: 1},
		largeSingle: {name: manyName, server: many, requests: ofMany.singles, strong: ofMany.strong, checks: 1},
		floorBatch:  {name: "floor, batches", server: floor, requests: unjudged(ofFew.batches), checks: batchSize},
		smallBatch:  {name: fewName + ", batches", server: few, requests: ofFew.batches, checks: batchSize},
		largeBatch:  {name: manyName + ", batches", server: many, requests: ofMany.batches, checks: batchSize},
	}, nil
}

// compare writes what the rounds took and sets it against the goals.
func (b *bench) compare(field []*contestant) {
	rows := [][]string{{"server", "CPU ms/check", "range", "to floor", "p50 ms", "p99 ms", "checks/s", "RSS MiB", "of files"}}
	for i, c := range field {
		floor := field[floorSingle]
		if i >= floorBatch {
			floor = field[floorBatch]
		}
		cpu := each(c.rounds, roundCPU)
		rows = append(rows, []string{
			c.name,
			fmt.Sprintf("%.4f", ms(c.cpu())),
			fmt.Sprintf("%.4f-%.4f", ms(slices.Min(cpu)), ms(slices.Max(cpu))),
			fmt.Sprintf("%.2f", ratio(c, floor)),
			fmt.Sprintf("%.3f", ms(c.middle(func(r round) time.Duration { return r.p50 }))),
			fmt.Sprintf("%.3f", ms(c.middle(func(r round) time.Duration { return r.p99 }))),
			fmt.Sprintf("%.0f", median(each(c.rounds, func(r round) float64 { return r.perSecond }))),
			mib(median(each(c.rounds, func(r round) int64 { return r.rss }))),
			mib(median(each(c.rounds, func(r round) int64 { return r.file }))),
		})
	}
	b.out.printf("\nservers, each a process of its own: %d connections, medians of %d interleaved rounds of %d requests (batches: %d of %d checks)\n\n",
		b.connections, b.rounds, b.count(field[smallSingle]), b.count(field[smallBatch]), batchSize)
	b.out.table(rows)
	b.goals = append(b.goals,
		goal{what: "HTTP check to floor, CPU (aim 1.4)", got: ratio(field[smallSingle], field[floorSingle]), bound: 2},
		goal{what: "check in a batch of 50, CPU", got: ms(field[smallBatch].cpu()), unit: "ms", bound: 0.005},
		goal{what: field[largeSingle].name + " to " + fmt.Sprint(asked) + ", CPU of an HTTP check", got: ratio(field[largeSingle], field[smallSingle]), bound: 1.15},
	)
}

func ratio(c, to *contestant) float64 { return float64(c.cpu()) / float64(to.cpu()) }

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func mib(bytes int64) string { return fmt.Sprintf("%.0f", float64(bytes)/(1<<20)) }
