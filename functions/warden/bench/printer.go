package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// printer writes what was measured. The first error ends the writing and is kept.
type printer struct {
	w   io.Writer
	err error
}

// Write takes what another program prints.
func (p *printer) Write(text []byte) (n int, err error) {
	if p.err == nil {
		n, p.err = p.w.Write(text)
	}
	return n, p.err
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

// table writes rows with their cells below each other.
func (p *printer) table(rows [][]string) {
	t := tabwriter.NewWriter(p, 0, 0, 2, ' ', 0)
	var err error
	for _, cells := range rows {
		if err == nil {
			_, err = io.WriteString(t, "  "+strings.Join(cells, "\t")+"\n")
		}
	}
	if err == nil {
		err = t.Flush()
	}
	if p.err == nil {
		p.err = err
	}
}
