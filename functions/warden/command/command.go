// Package command is the command line of warden: its commands, flags,
// environment and exit codes.
package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime/debug"
)

// The exit codes.
const (
	codeOK      = 0
	codeRuntime = 1 // it could not start, or not go on
	codeUsage   = 2 // it was asked for something that it does not have
)

const usage = `usage: warden COMMAND

  serve    run every function in one process over an embedded store
  verify   compare a scope's policies with their access documents
  dlq      list and redrive what Warden itself failed to do
  audit    export an audit log, or verify an export
  version  print the version
  help     print this

warden serve -h lists the flags of serve.
`

// usageError is what the caller got wrong.
type usageError struct{ message string }

func (e *usageError) Error() string { return e.message }

func wrong(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// Run carries out a command line (without the program's name) until it is done
// or the context ends, and returns the exit code.
func Run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	err := run(ctx, args, getenv, stdout, stderr)
	var misused *usageError
	code := codeRuntime
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return codeOK
	case errors.As(err, &misused):
		code = codeUsage
	}
	_, _ = fmt.Fprintf(stderr, "warden: %v\n", err) // the exit code says it too
	return code
}

func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	name := ""
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	switch name {
	case "serve":
		return runServe(ctx, args, getenv, stdout, stderr)
	case "verify":
		return runVerify(ctx, args, getenv, stdout, stderr)
	case "dlq":
		return runDLQ(ctx, args, getenv, stdout, stderr)
	case "audit":
		return runAudit(ctx, args, getenv, stdout, stderr)
	case "version":
		_, err := fmt.Fprintf(stdout, "warden %s\n", version())
		return err
	case "help", "-h", "-help", "--help":
		_, err := io.WriteString(stdout, usage)
		return err
	case "":
		return wrong("a command is needed\n\n%s", usage)
	}
	return wrong("there is no command %q\n\n%s", name, usage)
}

// version is the module's version, and the commit when it was built from one.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v += " " + s.Value
		}
	}
	return v
}
