// Package eventsv1 has a plain struct for each type of events: the envelope with
// before and after in the form that the type gives them. Whoever is sent events
// decodes them into these; unknown members are passed over, since later releases
// may add some. New gives the struct of a type.
package eventsv1

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/wardenhq/warden/events"
)

// Created is an event of what was not there before.
type Created[R any] struct {
	events.Event

	Before None     `json:"before"`
	After  Shown[R] `json:"after"`
}

// Updated is an event of what was there and still is.
type Updated[R any] struct {
	events.Event

	Before Shown[R] `json:"before"`
	After  Shown[R] `json:"after"`
}

// Deleted is an event of what is no longer there.
type Deleted[R any] struct {
	events.Event

	Before Shown[R] `json:"before"`
	After  None     `json:"after"`
}

// Reported is an event that tells something and changes nothing: it shows what
// it tells as After.
type Reported[R any] struct {
	events.Event

	Before None     `json:"before"`
	After  Shown[R] `json:"after"`
}

// ErrNotNull is the error of a side that must show nothing, and shows something.
var ErrNotNull = errors.New("eventsv1: must be null")

// None is a side that shows nothing: null.
type None struct{}

// MarshalJSON is null.
func (None) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

// UnmarshalJSON takes null; the error is ErrNotNull.
func (*None) UnmarshalJSON(text []byte) error {
	if !isNull(text) {
		return ErrNotNull
	}
	return nil
}

// Shown is what an event shows of a resource. At most one field is set: Whole,
// unless both sides were too large (events.Fit); none where there is nothing to
// show, or an erasure took it out.
type Shown[R any] struct {
	Whole  *R
	Diff   map[string]json.RawMessage // the members that differ, and those that name the resource
	Digest *Digest
}

// Digest stands for a resource that is too large for an event.
type Digest struct {
	Truncated events.Truncation `json:"truncated"` // events.TruncatedHash
	SHA256    string            `json:"sha256"`    // of its JSON, in hex
	Bytes     int               `json:"bytes"`     // of its JSON
	Link      string            `json:"link"`      // path where the API has it
}

// MarshalJSON is the one that is set, or null.
func (s Shown[R]) MarshalJSON() ([]byte, error) {
	switch {
	case s.Whole != nil:
		return json.Marshal(s.Whole)
	case s.Diff != nil:
		return json.Marshal(s.Diff)
	case s.Digest != nil:
		return json.Marshal(s.Digest)
	}
	return []byte("null"), nil
}

// UnmarshalJSON tells the forms apart by their member `truncated`.
func (s *Shown[R]) UnmarshalJSON(text []byte) error {
	*s = Shown[R]{}
	if isNull(text) {
		return nil
	}
	var form struct {
		Truncated events.Truncation `json:"truncated"`
	}
	if err := json.Unmarshal(text, &form); err != nil {
		return err
	}
	switch form.Truncated {
	case events.TruncatedDiff:
		return json.Unmarshal(text, &s.Diff)
	case events.TruncatedHash:
		return json.Unmarshal(text, &s.Digest)
	}
	return json.Unmarshal(text, &s.Whole)
}

func isNull(text []byte) bool { return bytes.Equal(bytes.TrimSpace(text), []byte("null")) }
