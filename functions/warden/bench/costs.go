package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/wardenhq/warden/functions/warden/bench/loadgen"
)

// cost is a sum of what answers say that they cost.
type cost struct {
	ops      int
	rru, wru float64
}

// add takes in a header of the form "ops=1; rru=0.5; wru=0".
func (c *cost) add(header []byte) error {
	var ops int
	var rru, wru float64
	if _, err := fmt.Sscanf(string(header), "ops=%d; rru=%g; wru=%g", &ops, &rru, &wru); err != nil {
		return fmt.Errorf("cost %q: %w", header, err)
	}
	c.ops += ops
	c.rru += rru
	c.wru += wru
	return nil
}

func (c cost) String() string {
	return fmt.Sprintf("%d operations, %s read units", c.ops, strconv.FormatFloat(c.rru, 'f', -1, 64))
}

// costs compares what the same questions cost the table in two scopes, from
// servers that have cached nothing yet: once by default, once strong.
func (b *bench) costs(ctx context.Context, few, many *contestant) error {
	var rows [][]string
	for _, strong := range []bool{false, true} {
		a, err := b.spent(ctx, few, strong)
		if err != nil {
			return err
		}
		z, err := b.spent(ctx, many, strong)
		if err != nil {
			return err
		}
		name, differ := "default", 0.0
		if strong {
			name = "strong"
		}
		if a != z {
			differ = 1
		}
		rows = append(rows, []string{name, few.name + ": " + a.String(), many.name + ": " + z.String()})
		b.goals = append(b.goals, goal{what: "operations or units of " + name + " checks that differ", got: differ, bound: 0})
	}
	b.out.printf("\ncost of %d checks of as many subjects, nothing cached before\n\n", asked)
	b.out.table(rows)
	return nil
}

func (b *bench) spent(ctx context.Context, c *contestant, strong bool) (sum cost, err error) {
	conn, err := loadgen.Dial(ctx, c.server.addr)
	if err != nil {
		return sum, err
	}
	defer conn.Close() //nolint:errcheck // nothing is left to be lost
	requests := c.requests
	if strong {
		requests = c.strong
	}
	for i, r := range requests {
		a, err := conn.Do(r.Wire)
		switch {
		case err != nil:
			return sum, err
		case a.Status != http.StatusOK || !r.Right(a):
			return sum, &loadgen.WrongAnswerError{Request: i, Status: a.Status, Body: string(a.Body)}
		}
		if err := sum.add(a.Cost); err != nil {
			return sum, err
		}
	}
	return sum, nil
}
