package command

import (
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"

	"github.com/wardenhq/warden/functions/warden/serve"
	"github.com/wardenhq/warden/shared/egress"
)

func runServe(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	o, err := options(args, getenv, stderr)
	if err != nil {
		return err
	}
	o.Log = slog.New(slog.NewJSONHandler(stderr, nil))
	if getenv("GOGC") == "" && getenv("GOMEMLIMIT") == "" {
		giveRoom()
	}
	s, err := serve.Open(ctx, o)
	if err != nil {
		return err
	}
	if err := announce(stdout, s); err != nil {
		return errors.Join(err, s.Close())
	}
	return s.Run(ctx)
}

// announce prints all that standard output ever gets.
func announce(stdout io.Writer, s *serve.Server) error {
	text := ""
	if key := s.MadeOperatorKey(); key != "" {
		text = "warden: operator key: " + key + "\n"
	}
	_, err := io.WriteString(stdout, text+"warden: listening on "+s.URL()+"\n")
	return err
}

// options reads flags; what they leave out is taken from the environment.
func options(args []string, getenv func(string) string, stderr io.Writer) (o serve.Options, err error) {
	flags := flag.NewFlagSet("warden serve", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	text := func(into *string, name, variable, fallback, usage string) {
		if v := getenv(variable); v != "" {
			fallback = v
		}
		flags.StringVar(into, name, fallback, usage+" ("+variable+")")
	}
	var backend, keyRate, orgRate string
	text(&o.Addr, "addr", "WARDEN_ADDR", "127.0.0.1:8080", "`HOST:PORT` to listen on; port 0 takes a free one")
	text(&o.Data, "data", "WARDEN_DATA", "./.warden", "`DIRECTORY` of the data; "+serve.Memory+" keeps nothing")
	text(&o.OperatorKey, "operator-key", "WARDEN_OPERATOR_KEY", "", "operator `KEY` of this run, not stored; without it one is made on the first start and printed once")
	text(&backend, "backend", "WARDEN_BACKEND", string(serve.Embedded), "`STORE` to run over: "+string(serve.Embedded))
	text(&keyRate, "rate-limit-key", "WARDEN_RATE_LIMIT_KEY", "0", "requests and checks a `SECOND` of one API key; 0 is no limit")
	text(&orgRate, "rate-limit-org", "WARDEN_RATE_LIMIT_ORG", "0", "requests and checks a `SECOND` of all keys of one org; 0 is no limit")
	var targets targets
	flags.Var(&targets, "allow-webhook-target", "opens exactly this private or loopback `HOST:PORT` to webhooks, for development; may be given again")
	err = flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		flags.SetOutput(stderr)
		flags.VisitAll(hideKey)
		_, _ = io.WriteString(stderr, "usage: warden serve [flags]\n") // PrintDefaults can't tell of errors either
		flags.PrintDefaults()
		return o, err
	case err != nil:
		return o, wrong("serve: %v", err)
	case flags.NArg() > 0:
		return o, wrong("serve: unexpected argument %q", flags.Arg(0))
	case backend == "aws":
		return o, wrong("serve: --backend aws is not available in this build; %s is", serve.Embedded)
	case backend != string(serve.Embedded):
		return o, wrong("serve: --backend: there is no %q; %s is what there is", backend, serve.Embedded)
	case o.Data == "":
		return o, wrong("serve: --data must name a directory, or be %s", serve.Memory)
	}
	if o.KeyRate, err = perSecond("rate-limit-key", keyRate); err != nil {
		return o, err
	}
	if o.OrgRate, err = perSecond("rate-limit-org", orgRate); err != nil {
		return o, err
	}
	if o.WebhookTargets, err = targets.resolve(); err != nil {
		return o, err
	}
	if _, _, err := net.SplitHostPort(o.Addr); err != nil {
		return o, wrong("serve: --addr: %v", err)
	}
	o.Backend = serve.Backend(backend)
	return o, checkKey(o.OperatorKey)
}

// targets collects a flag that is given several times.
type targets []string

// String is in flag.Value.
func (t *targets) String() string { return strings.Join(*t, " ") }

// Set is in flag.Value.
func (t *targets) Set(text string) error {
	*t = append(*t, text)
	return nil
}

func (t *targets) resolve() (out []egress.Target, err error) {
	for _, text := range *t {
		target, err := egress.ParseTarget(context.Background(), net.DefaultResolver, text)
		if err != nil {
			return nil, wrong("serve: --allow-webhook-target: %v", err)
		}
		out = append(out, target)
	}
	return out, nil
}

func perSecond(name, text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, wrong("serve: --%s must be a whole number from 0 on", name)
	}
	return n, nil
}

// hideKey keeps a key that the environment gives out of the list of defaults.
func hideKey(f *flag.Flag) {
	if f.Name == "operator-key" {
		f.DefValue = ""
	}
}

// The bounds of a given operator key, in bytes.
const (
	minKey = 16
	maxKey = 256
)

func checkKey(key string) error {
	printable := func(r rune) bool { return r >= ' ' && r <= '~' }
	switch {
	case key == "":
		return nil
	case len(key) < minKey || len(key) > maxKey,
		strings.ContainsFunc(key, func(r rune) bool { return !printable(r) }),
		strings.TrimSpace(key) != key:
		return wrong("serve: --operator-key must be %d to %d printable ASCII characters, without spaces around them", minKey, maxKey)
	}
	return nil
}
