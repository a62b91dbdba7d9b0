package main

import (
	"cmp"
	"fmt"
	"slices"
)

// goal is a figure that was measured, and how far it may go.
type goal struct {
	what    string
	got     float64
	unit    string
	bound   float64
	atLeast bool // the bound is the least; else the most
}

func (g goal) missed() bool {
	if g.atLeast {
		return g.got < g.bound
	}
	return g.got > g.bound
}

// report writes the goals as a table and returns how many were missed.
func report(p *printer, goals []goal) (missed int) {
	var rows [][]string
	for _, g := range goals {
		verdict, sign := "met", "<="
		if g.missed() {
			verdict = "MISSED"
			missed++
		}
		if g.atLeast {
			sign = ">="
		}
		rows = append(rows, []string{verdict, g.what, fmt.Sprintf("%.4g %s", g.got, g.unit), fmt.Sprintf("%s %.4g", sign, g.bound)})
	}
	p.printf("\ngoals\n\n")
	p.table(rows)
	return missed
}

// median of some values, which are at least one.
func median[T cmp.Ordered](values []T) T {
	return slices.Sorted(slices.Values(values))[len(values)/2]
}
