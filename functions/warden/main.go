// Command warden is Warden in one process: `warden serve` runs every function
// behind one address over an embedded store. See the README for its use.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/wardenhq/warden/functions/warden/command"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := command.Run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
	os.Exit(code)
}
