package contract

import "github.com/wardenhq/warden/events"

// What follows is AsyncAPI 3.0.0, as far as it is used.

type doc struct {
	AsyncAPI           string               `json:"asyncapi"`
	Info               info                 `json:"info"`
	DefaultContentType string               `json:"defaultContentType"`
	Channels           map[string]channel   `json:"channels"`
	Operations         map[string]operation `json:"operations"`
	Components         components           `json:"components"`
}

type info struct {
	Title       string  `json:"title"`
	Version     string  `json:"version"`
	Description string  `json:"description"`
	License     license `json:"license"`
}

type license struct {
	Name string `json:"name"`
}

type channel struct {
	Address     *string        `json:"address"` // null: each subscriber's own
	Title       string         `json:"title"`
	Description string         `json:"description"`
	Messages    map[string]ref `json:"messages"`
}

type operation struct {
	Action  string `json:"action"`
	Channel ref    `json:"channel"`
	Summary string `json:"summary"`
}

type ref struct {
	Ref string `json:"$ref"`
}

type components struct {
	Messages      map[string]message     `json:"messages"`
	MessageTraits map[string]trait       `json:"messageTraits"`
	Schemas       map[string]multiFormat `json:"schemas"`
}

type message struct {
	Name    string      `json:"name"`
	Title   string      `json:"title"`
	Summary string      `json:"summary"`
	Traits  []ref       `json:"traits"`
	Payload multiFormat `json:"payload"`
}

type trait struct {
	ContentType string `json:"contentType"`
	Headers     *ref   `json:"headers,omitempty"`
}

// multiFormat is a Multi Format Schema Object.
type multiFormat struct {
	Format string `json:"schemaFormat"`
	Schema any    `json:"schema"`
}

func draft2020(schema any) multiFormat {
	return multiFormat{"application/schema+json;version=draft-2020-12", schema}
}

// The two ways on which events leave.
const (
	bus      = "bus"
	webhooks = "webhooks"
)

var ways = []struct {
	name        string
	operation   string
	address     *string
	title       string
	description string
	summary     string
	envelope    string // a part
	thin        bool   // whether data can be a thin event
	trait       trait
}{
	{
		bus, "publish", new(events.Source), "The event bus",
		"EventBridge: source `warden`, detail-type the event's type, detail a CloudEvents 1.0 envelope. At least once; order is not promised, seq shows gaps.",
		"Warden publishes each event.", "cloudevent", false,
		trait{ContentType: events.CloudEventsMediaType},
	},
	{
		webhooks, "deliver", nil, "Webhooks",
		"HTTPS requests to each endpoint whose filter names the type, signed by Standard Webhooks. At least once, the id the same on every attempt; order is not promised, seq shows gaps.",
		"Warden delivers each event to the endpoints that want it.", "delivery_body", true,
		trait{"application/json", &ref{"#/components/schemas/webhookHeaders"}},
	},
}

// document says which events are sent where, and in what.
func document() doc {
	d := doc{
		AsyncAPI: "3.0.0",
		Info: info{
			"Warden's events", "1.0.0",
			"One event for one change of one entity, the same on the audit log, the bus and webhooks. Members and values may be added, so pass over what you do not know.",
			license{"Apache-2.0"},
		},
		DefaultContentType: "application/json",
		Channels:           map[string]channel{},
		Operations:         map[string]operation{},
		Components: components{
			Messages: map[string]message{}, MessageTraits: map[string]trait{},
			Schemas: map[string]multiFormat{"webhookHeaders": draft2020(headers())},
		},
	}
	for _, way := range ways {
		messages := map[string]ref{}
		for _, t := range events.Types() {
			name := way.name + "." + t.Name
			data := &node{Ref: "./" + schemas + "/" + t.Name + events.SchemaSuffix}
			if way.thin {
				data = &node{AnyOf: []node{*data, {Ref: "./" + parts + "/thin" + events.SchemaSuffix}}}
			}
			messages[t.Name] = ref{"#/components/messages/" + name}
			d.Components.Messages[name] = message{
				t.Name, t.Name, t.Summary,
				[]ref{{"#/components/messageTraits/" + way.name}},
				draft2020(node{
					AllOf:      []node{{Ref: "./" + parts + "/" + way.envelope + events.SchemaSuffix}},
					Properties: map[string]*node{"type": {Const: t.Name}, "data": data},
				}),
			}
		}
		d.Channels[way.name] = channel{way.address, way.title, way.description, messages}
		d.Operations[way.operation] = operation{"send", ref{"#/channels/" + way.name}, way.summary}
		d.Components.MessageTraits[way.name] = way.trait
	}
	return d
}

// headers are those of Standard Webhooks.
func headers() any {
	text := func(what string) map[string]any { return map[string]any{"type": "string", "description": what} }
	return map[string]any{
		"type": "object",
		"properties": map[string]any{
			"webhook-id":        text("The event's id, the same on every attempt."),
			"webhook-timestamp": text("When the attempt was made, in seconds since 1970."),
			"webhook-signature": text("`v1,` and the base64 of HMAC-SHA256 over id, timestamp and body, joined by points; one for each secret in force, with spaces between."),
		},
		"required": []string{"webhook-id", "webhook-timestamp", "webhook-signature"},
	}
}
