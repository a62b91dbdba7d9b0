package command

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	mathrand "math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/wardenhq/warden/functions/warden/trail"
	"github.com/wardenhq/warden/shared/clock"
	"github.com/wardenhq/warden/shared/retry"
)

const auditUsage = `usage: warden audit export --scope SCOPE | --org ORG [flags]
       warden audit verify FILE [flags]

export takes an audit log off a server, the oldest event first; with --out FILE
it also writes FILE.checkpoints.json, which FILE is held against.

  --url URL          of the server (WARDEN_URL)
  --key KEY          with the right audit:read (WARDEN_KEY)
  --scope SCOPE      the log of a scope
  --org ORG          the log of an org and all its scopes
  --format FORMAT    ndjson, which can be verified, or csv; ndjson when left out
  --out FILE         standard output when left out

verify reads an export without a server: that no event was changed, left out,
put elsewhere or added, and that the end was not cut off.

  --key KEY          the public key that signs checkpoints, in base64; without it
                     the one that the export names is believed
  --checkpoints FILE FILE.checkpoints.json when left out
`

func runAudit(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	verb := ""
	if len(args) > 0 {
		verb, args = args[0], args[1:]
	}
	var err error
	switch verb {
	case "export":
		err = runAuditExport(ctx, args, getenv, stdout, stderr)
	case "verify":
		err = runAuditVerify(args, stdout)
	case "help", "-h", "-help", "--help":
		err = flag.ErrHelp
	default:
		return wrong("audit: what to do?\n\n%s", auditUsage)
	}
	if errors.Is(err, flag.ErrHelp) {
		_, _ = io.WriteString(stderr, auditUsage) // there is nowhere else to say so
	}
	return err
}

// auditFlags parses flags that may stand before and after the arguments.
func auditFlags(verb string, args []string, define func(*flag.FlagSet)) (arguments []string, err error) {
	for {
		flags := flag.NewFlagSet("warden audit "+verb, flag.ContinueOnError)
		flags.SetOutput(io.Discard)
		define(flags)
		if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
			return nil, err
		} else if err != nil {
			return nil, wrong("audit %s: %v\n\n%s", verb, err, auditUsage)
		}
		if flags.NArg() == 0 {
			return arguments, nil
		}
		arguments, args = append(arguments, flags.Arg(0)), flags.Args()[1:]
		before := define
		given := map[string]string{}
		flags.Visit(func(f *flag.Flag) { given[f.Name] = f.Value.String() })
		define = func(next *flag.FlagSet) {
			before(next)
			for name, value := range given {
				_ = next.Set(name, value) // it was taken before
			}
		}
	}
}

func runAuditExport(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	var log trail.Log
	var server, key, format, out string
	arguments, err := auditFlags("export", args, func(f *flag.FlagSet) {
		f.StringVar(&server, "url", getenv("WARDEN_URL"), "")
		f.StringVar(&key, "key", getenv("WARDEN_KEY"), "")
		f.StringVar(&log.Scope, "scope", "", "")
		f.StringVar(&log.Org, "org", "", "")
		f.StringVar(&format, "format", string(trail.NDJSON), "")
		f.StringVar(&out, "out", "", "")
	})
	if err != nil {
		return err
	}
	at, urlErr := url.Parse(server)
	switch {
	case len(arguments) > 0:
		return wrong("audit export: unexpected argument %q", arguments[0])
	case server == "" || urlErr != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https":
		return wrong("audit export: --url must be the server's, like https://warden.example.com")
	case key == "":
		return wrong("audit export: --key, or WARDEN_KEY, must be a key with the right audit:read")
	case (log.Scope == "") == (log.Org == ""):
		return wrong("audit export: one of --scope and --org is needed")
	case format != string(trail.NDJSON) && format != string(trail.CSV):
		return wrong("audit export: --format is ndjson or csv")
	}
	e := trail.Exporter{
		Client: trail.Client{
			URL: at, Key: key, HTTP: auditClient(),
			Backoff: retry.Backoff{Clock: clock.System{}, Jitter: mathrand.Float64, Base: time.Second, Max: 10 * time.Second, Tries: 6},
		},
		Tell: func(p trail.Progress) {
			_, _ = fmt.Fprintf(stderr, "%d events, %d bytes\n", p.Events, p.Bytes) // progress is no result
		},
	}
	if out == "" {
		_, err := e.Export(ctx, log, trail.Format(format), stdout)
		return err
	}
	return exportTo(ctx, &e, log, trail.Format(format), out)
}

// auditClient follows no redirect, which could carry the key elsewhere.
func auditClient() *http.Client {
	return &http.Client{
		Timeout:       time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// exportTo writes a file that has its name only once it is whole, and its record.
func exportTo(ctx context.Context, e *trail.Exporter, log trail.Log, format trail.Format, name string) (err error) {
	part, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(part.Name()))
		}
	}()
	record, err := e.Export(ctx, log, format, part)
	if err = errors.Join(err, part.Close()); err != nil {
		return err
	}
	if format == trail.NDJSON {
		text, err := json.MarshalIndent(record, "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(name+trail.RecordSuffix, append(text, '\n'), 0o600); err != nil {
			return err
		}
	}
	return os.Rename(part.Name(), name)
}

func runAuditVerify(args []string, stdout io.Writer) error {
	var key, checkpoints string
	files, err := auditFlags("verify", args, func(f *flag.FlagSet) {
		f.StringVar(&key, "key", "", "")
		f.StringVar(&checkpoints, "checkpoints", "", "")
	})
	if err != nil {
		return err
	}
	if len(files) != 1 {
		return wrong("audit verify: one FILE is needed\n\n%s", auditUsage)
	}
	var pinned ed25519.PublicKey
	if key != "" {
		if pinned, err = trail.ParseKey(key); err != nil {
			return wrong("audit verify: --key: %v", err)
		}
	}
	record, err := readRecord(files[0], checkpoints)
	if err != nil {
		return err
	}
	export, err := os.Open(files[0])
	if err != nil {
		return err
	}
	chains, err := trail.Verify(export, record, pinned)
	_ = export.Close() // only read from
	if err != nil {
		return fmt.Errorf("%s: %w", files[0], err)
	}
	return tellChains(stdout, chains, record, pinned != nil)
}

// readRecord reads an export's record; one that was not asked for may lack.
func readRecord(export, name string) (r trail.Record, err error) {
	asked := name != ""
	if !asked {
		name = export + trail.RecordSuffix
	}
	text, err := os.ReadFile(name) //nolint:gosec // the caller says which file
	if errors.Is(err, fs.ErrNotExist) && !asked {
		return r, nil
	}
	if err == nil {
		if err = json.Unmarshal(text, &r); err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
	}
	return r, err
}

func tellChains(stdout io.Writer, chains []trail.Chain, r trail.Record, pinned bool) error {
	for _, c := range chains {
		proof := "no checkpoint vouches for it"
		if c.Proven > 0 {
			proof = fmt.Sprintf("checkpoints vouch for it up to seq %d", c.Proven)
		}
		if _, err := fmt.Fprintf(stdout, "%s: seq %d to %d are whole; head %s; %s\n", c.ID, c.First, c.Last, c.Head, proof); err != nil {
			return err
		}
	}
	if pinned || len(r.Checkpoints) == 0 {
		return nil
	}
	for _, k := range r.Keys {
		if _, err := fmt.Fprintf(stdout, "the checkpoints are as good as key %s, which was not given by --key: %s\n", k.ID, k.PublicKey); err != nil {
			return err
		}
	}
	return nil
}
