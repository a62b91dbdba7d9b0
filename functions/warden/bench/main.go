// Command bench measures Warden against its goals, see `make bench`. It runs the
// Go benchmarks, and then servers in processes of their own: bin/warden beside a
// floor that is plain net/http and encoding/json. It loads scopes through the API
// into a temporary directory and talks to the loopback address only.
//
// Servers are compared by the processor time that they use, in turns, as that is
// what a busy machine disturbs least. Still, compare on an idle one.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"sync"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	code, err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		code = 1
	}
	os.Exit(code) //nolint:forbidigo // package main is what ends the process
}

// run measures; but when told so by its first argument, it is one of the servers.
func run(ctx context.Context, args []string) (code int, err error) {
	role := ""
	if len(args) > 0 {
		role = args[0]
	}
	switch role {
	case "floor":
		return 0, runFloor(ctx, os.Stdout)
	case "probed":
		flags := flag.NewFlagSet("bench probed", flag.ContinueOnError)
		profiles := flags.String("profiles", "", "`PREFIX` of the files for profiles of the run")
		if err := flags.Parse(args[1:]); err != nil {
			return 0, err
		}
		return runProbed(ctx, *profiles, flags.Args())
	}
	b := &bench{out: &printer{w: os.Stdout}}
	strict, err := b.options(args)
	if err != nil {
		return 0, err
	}
	missed, err := b.all(ctx)
	if missed > 0 && strict {
		code = 1
	}
	return code, err
}

// bench is one run of measurements.
type bench struct {
	out   *printer
	goals []goal

	self, warden string // programs
	work         string // directory
	profiles     string // directory, or none
	pattern      string // of what is run
	goCount      int
	subjects     int // in the large scope
	requests     int // a round
	rounds       int
	connections  int
	within       time.Duration

	small, large func(context.Context) (*loaded, error)
}

func (b *bench) options(args []string) (strict bool, err error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&b.warden, "warden", "bin/warden", "`PROGRAM` to measure")
	flags.StringVar(&b.pattern, "bench", ".", "`PATTERN` of the Go benchmarks and of ServeLoad and ServeChecks, as go test -bench has it")
	flags.IntVar(&b.goCount, "count", 1, "how often Go benchmarks run")
	flags.IntVar(&b.subjects, "subjects", 100_000, "subjects of the large scope")
	flags.IntVar(&b.requests, "requests", 50_000, "requests of a round")
	flags.IntVar(&b.rounds, "rounds", 5, "rounds, and restarts")
	flags.IntVar(&b.connections, "connections", 8, "connections that ask")
	flags.DurationVar(&b.within, "timeout", 12*time.Minute, "end of it all")
	flags.StringVar(&b.profiles, "profiles", "", "`DIRECTORY` for profiles of the servers that load a scope, and of the one that answers from the small one")
	flags.BoolVar(&strict, "strict", false, "exit with 1 when a goal is missed")
	if err := flags.Parse(args); err != nil {
		return false, err
	}
	if flags.NArg() > 0 {
		return false, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if b.subjects < asked || b.requests < 1 || b.rounds < 1 || b.connections < 1 {
		return false, fmt.Errorf("there must be %d subjects or more, and requests, rounds and connections", asked)
	}
	b.self, err = os.Executable()
	return strict, err
}

// all runs the parts that were asked for and reports the goals.
func (b *bench) all(ctx context.Context) (missed int, err error) {
	wanted, err := regexp.Compile(b.pattern)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, b.within)
	defer cancel()
	if b.work, err = os.MkdirTemp("", "warden-bench-"); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.work)) }()
	b.small = once(func(ctx context.Context) (*loaded, error) { return b.fill(ctx, "small", asked, loaders) })
	b.large = once(func(ctx context.Context) (*loaded, error) { return b.fill(ctx, "large", b.subjects, loaders) })
	if err := b.micro(ctx); err != nil {
		return 0, err
	}
	for _, part := range []struct {
		name string
		run  func(context.Context) error
	}{{"ServeLoad", b.serveLoad}, {"ServeChecks", b.serveChecks}} {
		if !wanted.MatchString(part.name) {
			continue
		}
		if err := part.run(ctx); err != nil {
			return 0, fmt.Errorf("%s: %w", part.name, err)
		}
	}
	missed = report(b.out, b.goals)
	return missed, b.out.err
}

// once remembers what a function returned the first time.
func once[T any](f func(context.Context) (T, error)) func(context.Context) (T, error) {
	var did sync.Once
	var v T
	var err error
	return func(ctx context.Context) (T, error) {
		did.Do(func() { v, err = f(ctx) })
		return v, err
	}
}
