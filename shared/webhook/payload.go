package webhook

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// MaxBody is the longest body that is sent, in bytes: what Standard Webhooks
// recommends ("Payload size").
const MaxBody = 20_000

// Errors of building a body.
var (
	// ErrBadEvent: the event is not a JSON object with a type and a time.
	ErrBadEvent = errors.New("webhook: the event is not a JSON object with a type and a time")
	// ErrTooLarge: even its ids are over MaxBody.
	ErrTooLarge = errors.New("webhook: the event's ids alone are too large")
)

// thin is what is left of an event that is too large: what identifies it, and
// where to read the rest.
type thin struct {
	ID        jsontext.Value `json:"id,omitzero"`
	Type      jsontext.Value `json:"type"`
	Time      jsontext.Value `json:"time"`
	Seq       jsontext.Value `json:"seq,omitzero"`
	Org       jsontext.Value `json:"org,omitzero"`
	Scope     jsontext.Value `json:"scope,omitzero"`
	Actor     jsontext.Value `json:"actor,omitzero"`
	RequestID jsontext.Value `json:"request_id,omitzero"`
	Target    jsontext.Value `json:"target,omitzero"`
	Hash      jsontext.Value `json:"hash,omitzero"`
	Link      string         `json:"link"`
}

// Body is what is sent for an event: {"type", "timestamp", "data"}, where data
// is the event's JSON byte for byte. When that is over MaxBody, data is reduced
// to the event's ids and a link to the whole. It is called once an event; what
// it returns is stored, and signed and sent on every attempt.
// Errors: ErrBadEvent, ErrTooLarge.
func Body(event []byte, link string) ([]byte, error) {
	var ids thin
	if err := json.Unmarshal(event, &ids); err != nil || ids.Type.Kind() != '"' || ids.Time.Kind() != '"' {
		return nil, ErrBadEvent
	}
	if full := envelope(ids, event); len(full) <= MaxBody {
		return full, nil
	}
	ids.Link = link
	data, err := json.Marshal(ids)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadEvent, err)
	}
	if reduced := envelope(ids, data); len(reduced) <= MaxBody {
		return reduced, nil
	}
	return nil, ErrTooLarge
}

func envelope(ids thin, data []byte) []byte {
	var b []byte
	for _, part := range [][]byte{
		[]byte(`{"type":`), ids.Type, []byte(`,"timestamp":`), ids.Time, []byte(`,"data":`), data, []byte(`}`),
	} {
		b = append(b, part...)
	}
	return b
}
