package trail

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"

	"github.com/wardenhq/warden/events/chain"
	"github.com/wardenhq/warden/shared/httpapi/segment"
)

// Format is a form of exports.
type Format string

// The forms of exports. Only NDJSON can be verified.
const (
	NDJSON Format = "ndjson"
	CSV    Format = "csv"
)

var mediaTypes = map[Format]string{NDJSON: "application/x-ndjson", CSV: "text/csv"}

// Progress is how far an export has come.
type Progress struct {
	Parts  int
	Events int // lines; in CSV without that of the columns' names
	Bytes  int64
}

// Exporter takes audit logs off a server. Memory does not grow with the log: one
// part of it, some MB, is held at a time.
type Exporter struct {
	Client Client
	Tell   func(Progress) // after each part; may be nil
}

// Export writes a log, the oldest event first, and returns what it is held
// against: for NDJSON with the checkpoints of every chain in it.
func (e *Exporter) Export(ctx context.Context, log Log, format Format, out io.Writer) (Record, error) {
	tails := map[chain.ID]uint64{}
	var p Progress
	for next := log.path() + "?order=asc"; next != ""; {
		part, header, err := e.Client.get(ctx, next, mediaTypes[format])
		if err != nil {
			return Record{}, err
		}
		if _, err := out.Write(part); err != nil {
			return Record{}, err
		}
		p.Parts++
		p.Bytes += int64(len(part))
		p.Events += bytes.Count(part, []byte("\n"))
		if format == CSV && p.Parts == 1 {
			p.Events--
		}
		if format == NDJSON {
			if err := note(part, tails); err != nil {
				return Record{}, err
			}
		}
		if e.Tell != nil {
			e.Tell(p)
		}
		next = following(header)
	}
	return e.record(ctx, log, tails)
}

func (l Log) path() string {
	if l.Scope != "" {
		return "/v1/scopes/" + segment.Encode(l.Scope) + "/audit"
	}
	return "/v1/orgs/" + segment.Encode(l.Org) + "/audit"
}

// note keeps the last seq of each chain in a part.
func note(part []byte, tails map[chain.ID]uint64) error {
	for line := range bytes.Lines(part) {
		var p place
		if err := json.Unmarshal(line, &p); err != nil {
			return fmt.Errorf("the server sent a line that is no event: %w", err)
		}
		id := chain.ID{Org: p.Org}
		if p.Scope != nil {
			id.Scope = *p.Scope
		}
		tails[id] = max(tails[id], p.Seq)
	}
	return nil
}

// record asks for each chain's newest checkpoint that the export reaches. One
// that was signed meanwhile counts events beyond it.
func (e *Exporter) record(ctx context.Context, log Log, tails map[chain.ID]uint64) (Record, error) {
	r := Record{Log: log}
	chains := make([]chain.ID, 0, len(tails))
	for id := range tails {
		chains = append(chains, id)
	}
	slices.SortFunc(chains, func(a, b chain.ID) int { return cmp.Compare(a.Scope, b.Scope) })
	for _, id := range chains {
		proof, err := e.proof(ctx, id, tails[id])
		if err != nil {
			return r, err
		}
		for _, k := range proof.Keys {
			if !slices.Contains(r.Keys, k) {
				r.Keys = append(r.Keys, k)
			}
		}
		for _, c := range proof.Checkpoints {
			if c.Count <= tails[id] {
				r.Checkpoints = append(r.Checkpoints, c)
			}
		}
	}
	return r, nil
}

// proofOfChain is what is taken of a proof.
type proofOfChain struct {
	Keys        []Key              `json:"keys"`
	Checkpoints []chain.Checkpoint `json:"checkpoints"`
}

func (e *Exporter) proof(ctx context.Context, id chain.ID, seq uint64) (p proofOfChain, err error) {
	n := strconv.FormatUint(seq, 10)
	path := Log{Org: id.Org, Scope: id.Scope}.path() + "/proof?" + url.Values{"from_seq": {n}, "to_seq": {n}}.Encode()
	body, _, err := e.Client.get(ctx, path, "application/json")
	var status *StatusError
	if errors.As(err, &status) && status.Status == http.StatusNotFound && id.Scope != "" {
		return p, nil // the scope is deleted: its log is its org's to show, without proof
	}
	if err != nil {
		return p, err
	}
	err = json.Unmarshal(body, &p)
	return p, err
}

var nextLink = regexp.MustCompile(`^<([^>]*)>; *rel="next"$`)

// following is the link to what follows, empty for the last part.
func following(header http.Header) string {
	if m := nextLink.FindStringSubmatch(header.Get("Link")); m != nil {
		return m[1]
	}
	return ""
}
