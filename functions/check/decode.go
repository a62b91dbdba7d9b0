package check

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/wardenhq/warden/shared/rbac"
)

// decoder reads the bodies of ordinary questions in one pass. It accepts a part
// of what package wire does and refuses the rest without a reason: whoever is
// refused is decoded again by wire, which has the words. The zero value is ready.
type decoder struct {
	json jsontext.Decoder
	body bytes.Buffer
}

// question reads one question into q, which is zero.
func (d *decoder) question(body []byte, q *Question) bool {
	d.begin(body)
	return d.readQuestion(q) && d.end()
}

// batch reads a batch; its questions are appended to qs.
func (d *decoder) batch(body []byte, qs []Question) ([]Question, bool) {
	d.begin(body)
	if !d.open('{') || !d.named(`"checks"`) || !d.open('[') {
		return qs, false
	}
	for d.json.PeekKind() != ']' {
		qs = append(qs, Question{})
		if len(qs) > rbac.MaxChecksInBatch || !d.readQuestion(&qs[len(qs)-1]) {
			return qs, false
		}
	}
	return qs, d.open(']') && d.open('}') && d.end()
}

func (d *decoder) begin(body []byte) {
	d.body = *bytes.NewBuffer(body)
	d.json.Reset(&d.body)
}

// end says whether nothing follows.
func (d *decoder) end() bool {
	_, err := d.json.ReadToken()
	return errors.Is(err, io.EOF)
}

// open reads a bracket, opening or closing.
func (d *decoder) open(kind jsontext.Kind) bool {
	t, err := d.json.ReadToken()
	return err == nil && t.Kind() == kind
}

// named reads the name of a member.
func (d *decoder) named(quoted string) bool {
	v, err := d.json.ReadValue()
	return err == nil && string(v) == quoted
}

// The members that a question must have, as bits.
const (
	hasScope = 1 << iota
	hasSubject
	hasResource
	hasAction
	hasAll = hasScope | hasSubject | hasResource | hasAction
)

func (d *decoder) readQuestion(q *Question) bool {
	if !d.open('{') {
		return false
	}
	has := 0
	for d.json.PeekKind() != '}' {
		name, err := d.json.ReadValue()
		if err != nil {
			return false
		}
		ok := false
		switch string(name) {
		case `"scope"`:
			q.Scope, ok = readID(d, rbac.ParseScopeID)
			has |= hasScope
		case `"subject"`:
			q.Subject, ok = readID(d, rbac.ParseSubjectID)
			has |= hasSubject
		case `"resource"`:
			q.Resource, ok = readID(d, rbac.ParseResourceID)
			has |= hasResource
		case `"action"`:
			q.Action, ok = readID(d, rbac.ParseActionID)
			has |= hasAction
		case `"consistency"`:
			var text string
			text, ok = d.text()
			ok = ok && q.Consistency.UnmarshalText([]byte(text)) == nil
		case `"at_least"`:
			var text string
			text, ok = d.text()
			q.AtLeast = &text
		case `"explain"`:
			q.Explain, ok = d.flag()
		}
		if !ok {
			return false
		}
	}
	return d.open('}') && has == hasAll
}

func readID[ID any](d *decoder, parse func(string) (ID, error)) (id ID, ok bool) {
	text, ok := d.text()
	if !ok {
		return id, false
	}
	id, err := parse(text)
	return id, err == nil
}

func (d *decoder) text() (string, bool) {
	v, err := d.json.ReadValue()
	if err != nil || v.Kind() != '"' {
		return "", false
	}
	if bytes.IndexByte(v, '\\') < 0 {
		return string(v[1 : len(v)-1]), true
	}
	text, err := jsontext.AppendUnquote(nil, v)
	return string(text), err == nil
}

func (d *decoder) flag() (value, ok bool) {
	t, err := d.json.ReadToken()
	if err != nil || t.Kind() != 't' && t.Kind() != 'f' {
		return false, false
	}
	return t.Bool(), true
}
