package command

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/wardenhq/warden/shared/httpapi/segment"
	"github.com/wardenhq/warden/shared/recompute"
)

const verifyUsage = `usage: warden verify SCOPE [--repair] [--url URL] [--key KEY]

Compares every policy of a scope with its access document, over the API of a
server (WARDEN_URL, WARDEN_KEY with the right admin:write), and with --repair
mends what differs. It exits with 1 when something differs and was not mended.
`

// errDrift: documents differ and were left as they are.
var errDrift = errors.New("verify: documents differ from what their policies come to; --repair mends them")

func runVerify(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	var v verifier
	var repair bool
	var scope string
	for { // flags may stand before and after the scope
		flags := flag.NewFlagSet("warden verify", flag.ContinueOnError)
		flags.SetOutput(io.Discard)
		flags.StringVar(&v.url, "url", first(v.url, getenv("WARDEN_URL"), "http://127.0.0.1:8080"), "")
		flags.StringVar(&v.key, "key", first(v.key, getenv("WARDEN_KEY")), "")
		flags.BoolVar(&repair, "repair", repair, "")
		err := flags.Parse(args)
		switch {
		case errors.Is(err, flag.ErrHelp):
			_, err = io.WriteString(stderr, verifyUsage)
			return err
		case err != nil:
			return wrong("verify: %v\n\n%s", err, verifyUsage)
		}
		if flags.NArg() == 0 {
			break
		}
		if scope != "" {
			return wrong("verify: one scope at a time\n\n%s", verifyUsage)
		}
		scope, args = flags.Arg(0), flags.Args()[1:]
	}
	if scope == "" || v.key == "" {
		return wrong("verify: a scope and a key are needed\n\n%s", verifyUsage)
	}
	return v.run(ctx, scope, repair, stdout, stderr)
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// verifier asks a server to verify, piece by piece.
type verifier struct{ url, key string }

func (v verifier) run(ctx context.Context, scope string, repair bool, stdout, stderr io.Writer) error {
	checked, left := 0, 0
	for cursor := ""; ; {
		r, err := v.piece(ctx, scope, repair, cursor)
		if err != nil {
			return err
		}
		checked += r.Checked
		for _, d := range r.Drifted {
			state := "differs"
			if d.Repaired {
				state = "mended"
			} else {
				left++
			}
			if _, err := fmt.Fprintf(stdout, "%s: %s %q\n", state, d.Kind, d.Subject); err != nil {
				return err
			}
		}
		if cursor = r.Cursor; cursor == "" {
			break
		}
		_, _ = fmt.Fprintf(stderr, "%d policies so far\n", checked) // progress only
	}
	if _, err := fmt.Fprintf(stdout, "%d policies checked\n", checked); err != nil {
		return err
	}
	if left > 0 {
		return errDrift
	}
	return nil
}

// pieceTime bounds one request: the server answers what it got through in ten seconds.
const pieceTime = time.Minute

func (v verifier) piece(ctx context.Context, scope string, repair bool, cursor string) (r recompute.Report, err error) {
	ctx, cancel := context.WithTimeout(ctx, pieceTime)
	defer cancel()
	body, err := json.Marshal(struct {
		Repair bool   `json:"repair"`
		Cursor string `json:"cursor,omitempty"`
	}{repair, cursor})
	if err != nil {
		return r, err
	}
	url := strings.TrimSuffix(v.url, "/") + "/v1/scopes/" + segment.Encode(scope) + "/verify"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return r, fmt.Errorf("verify: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+v.key)
	req.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return r, fmt.Errorf("verify: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxReport))
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return r, fmt.Errorf("verify: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		return r, fmt.Errorf("verify: the server answered %s: %s", answer.Status, text)
	}
	return r, json.Unmarshal(text, &r)
}

const maxReport = 5 << 20
