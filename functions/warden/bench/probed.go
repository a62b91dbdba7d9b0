package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"

	"github.com/wardenhq/warden/functions/warden/command"
)

// heap is the memory of a server as its own Go runtime counts it, in bytes.
type heap struct {
	InUse   uint64 `json:"in_use"`   // spans that hold something, as it is while the server works
	Settled uint64 `json:"settled"`  // the same right after a collection
	Objects uint64 `json:"objects"`  // live objects, right after a collection
	FromOS  uint64 `json:"from_os"`  // all that the runtime has from the system
	Cycles  uint32 `json:"gc_count"` // collections before this question
}

// runProbed is warden's own command line, and beside it a probe: each line on
// standard input is answered by a line with the heap. With a prefix, profiles of
// the whole run are left in PREFIX.cpu.prof and PREFIX.allocs.prof. Only
// measurements have this; bin/warden does not.
func runProbed(ctx context.Context, prefix string, args []string) (code int, err error) {
	if prefix != "" {
		finish, err := profile(prefix)
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, finish()) }()
	}
	go probe(os.Stdin, os.Stdout)
	return command.Run(ctx, args, os.Getenv, os.Stdout, os.Stderr), nil
}

// profile begins to profile; finish writes what was found.
func profile(prefix string) (finish func() error, err error) {
	cpu, err := os.Create(prefix + ".cpu.prof") //nolint:gosec // where the caller wants it
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(cpu); err != nil {
		return nil, errors.Join(err, cpu.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		allocs, err := os.Create(prefix + ".allocs.prof") //nolint:gosec // as above
		if err != nil {
			return errors.Join(err, cpu.Close())
		}
		return errors.Join(cpu.Close(), pprof.Lookup("allocs").WriteTo(allocs, 0), allocs.Close())
	}, nil
}

// probe answers until nobody asks any more.
func probe(in io.Reader, out io.Writer) {
	for lines := bufio.NewScanner(in); lines.Scan(); {
		if err := json.NewEncoder(out).Encode(readHeap()); err != nil {
			fmt.Fprintf(os.Stderr, "probe: %v\n", err)
			return
		}
	}
}

func readHeap() heap {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	runtime.GC()
	runtime.ReadMemStats(&after)
	return heap{
		InUse: before.HeapInuse, Settled: after.HeapInuse, Objects: after.HeapObjects,
		FromOS: before.Sys, Cycles: before.NumGC,
	}
}
