package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"github.com/wardenhq/warden/functions/warden/serve"
	"github.com/wardenhq/warden/shared/queue/local"
)

const dlqUsage = `usage: warden dlq list [--data DIRECTORY] [QUEUE]
       warden dlq redrive [--data DIRECTORY] QUEUE

Shows what Warden itself failed to do, and hands it out again. The server that
uses the directory must be stopped.
`

// listed is how many letters of a queue are shown.
const listed = 100

func runDLQ(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	verb := ""
	if len(args) > 0 {
		verb, args = args[0], args[1:]
	}
	flags := flag.NewFlagSet("warden dlq", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	dir := getenv("WARDEN_DATA")
	if dir == "" {
		dir = "./.warden"
	}
	flags.StringVar(&dir, "data", dir, "`DIRECTORY` of the data")
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		_, err = io.WriteString(stderr, dlqUsage)
		return err
	case err != nil:
		return wrong("dlq: %v\n\n%s", err, dlqUsage)
	case verb == "list" && flags.NArg() <= 1, verb == "redrive" && flags.NArg() == 1:
	default:
		return wrong("dlq: what to do?\n\n%s", dlqUsage)
	}
	path := filepath.Join(dir, serve.QueuesFile)
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("dlq: no queues in %s: %w", dir, err)
	}
	broker, err := local.Open(path)
	if err != nil {
		return fmt.Errorf("dlq: is a server using %s? Stop it first: %w", dir, err)
	}
	if verb == "redrive" {
		err = redrive(ctx, broker, flags.Arg(0), stdout)
	} else {
		err = listDead(broker, flags.Arg(0), stdout)
	}
	return errors.Join(err, broker.Close())
}

func redrive(ctx context.Context, broker *local.Broker, queue string, stdout io.Writer) error {
	n, err := broker.Redrive(ctx, queue)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%d messages are handed out again when the server starts\n", n)
	return err
}

// listDead lists the letters of one queue, or how many each has.
func listDead(broker *local.Broker, queue string, stdout io.Writer) error {
	out := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	if queue == "" {
		counts, err := broker.DeadQueues()
		if err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			if _, err := fmt.Fprintf(out, "%s\t%d\n", name, counts[name]); err != nil {
				return err
			}
		}
		return out.Flush()
	}
	letters, err := broker.Dead(queue, listed)
	if err != nil {
		return err
	}
	for _, l := range letters {
		if _, err := fmt.Fprintf(out, "%s\t%s\t%d attempts\t%s\t%d bytes\n", l.ID, l.Group, l.Attempt, l.Cause, len(l.Body)); err != nil {
			return err
		}
	}
	return out.Flush()
}
