package events

import "fmt"

// The CloudEvents 1.0 envelope of events on the bus.
const (
	CloudEventsVersion   = "1.0"
	CloudEventsMediaType = "application/cloudevents+json" // JSON Event Format, section 3
	Source               = "warden"                       // source of every event, on the bus and in its envelope
)

// CloudEvent is an event in the JSON Event Format of CloudEvents 1.0.
type CloudEvent struct {
	SpecVersion     string `json:"specversion"`
	ID              string `json:"id"` // with Source unique: the event's id
	Source          string `json:"source"`
	Type            string `json:"type"`
	Subject         string `json:"subject"` // TYPE/ID of the target
	Time            string `json:"time"`
	DataContentType string `json:"datacontenttype"`
	DataSchema      string `json:"dataschema"` // Type.SchemaURI
	// Sequence is Event.Seq: text of 20 digits, since the integers of the
	// envelope end at 32 bits (CloudEvents, section 3.1, and its extension
	// "sequence").
	Sequence string `json:"sequence"`
	Data     Event  `json:"data"`
}

// Enveloped is an event in its CloudEvents envelope.
func Enveloped(e Event) CloudEvent {
	return CloudEvent{
		SpecVersion: CloudEventsVersion, ID: e.ID, Source: Source, Type: e.Type,
		Subject: e.Target.Type + "/" + e.Target.ID, Time: e.Time,
		DataContentType: "application/json", DataSchema: Type{Name: e.Type}.SchemaURI(),
		Sequence: fmt.Sprintf("%020d", e.Seq), Data: e,
	}
}
