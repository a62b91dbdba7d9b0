package audit

import (
	"bytes"
	"encoding/csv"
	"strconv"

	"github.com/wardenhq/warden/events"
	trail "github.com/wardenhq/warden/shared/audit"
)

// The media types of exports.
const (
	mediaNDJSON = "application/x-ndjson"
	mediaCSV    = "text/csv"
)

// ndjson has an event a line, byte for byte as it is stored.
type ndjson struct{}

func (ndjson) media() string { return mediaNDJSON }
func (ndjson) head() []byte  { return []byte{} }

func (ndjson) add(part []byte, r trail.Record) ([]byte, error) {
	return append(append(part, r.Text...), '\n'), nil
}

// columns are a table's, in their order.
var columns = []string{
	"seq", "id", "type", "time", "org", "scope", "actor_type", "actor_id", "on_behalf_of", "request_id", "source_ip",
	"target_type", "target_id", "before", "after", "caused_by", "previous_hash", "hash",
}

// sheet is CSV by RFC 4180. Only an export's first part names the columns, so
// that its parts put together are one table.
type sheet struct{ first bool }

func newTable(first bool) sheet { return sheet{first} }

func (t sheet) media() string {
	if t.first {
		return mediaCSV + "; charset=utf-8; header=present"
	}
	return mediaCSV + "; charset=utf-8; header=absent"
}

func (t sheet) head() []byte {
	if !t.first {
		return []byte{}
	}
	row, err := line(columns)
	if err != nil {
		panic("audit: the names of columns are no CSV: " + err.Error())
	}
	return row
}

func (t sheet) add(part []byte, r trail.Record) ([]byte, error) {
	row, err := line(cells(&r.Event))
	return append(part, row...), err
}

func cells(e *events.Event) []string {
	scope := ""
	if e.Scope != nil {
		scope = *e.Scope
	}
	all := []string{
		strconv.FormatUint(e.Seq, 10), e.ID, e.Type, e.Time, e.Org, scope, e.Actor.Type, e.Actor.ID, e.OnBehalfOf, e.RequestID, e.SourceIP,
		e.Target.Type, e.Target.ID, string(e.Before), string(e.After), e.CausedBy, e.PreviousHash, e.Hash,
	}
	for i, cell := range all {
		all[i] = harmless(cell)
	}
	return all
}

// harmless keeps a spreadsheet from taking a cell for a formula: one that begins
// like one gets a leading apostrophe.
func harmless(cell string) string {
	if cell == "" {
		return cell
	}
	switch cell[0] {
	case '=', '+', '-', '@', '\t', '\r':
		return "'" + cell
	}
	return cell
}

func line(row []string) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.UseCRLF = true
	err := w.Write(row)
	w.Flush()
	return b.Bytes(), err
}
