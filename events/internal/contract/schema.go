package contract

import "github.com/wardenhq/warden/events"

const dialect = "https://json-schema.org/draft/2020-12/schema"

// node is a schema, in the order in which it is written.
type node struct {
	Schema      string           `json:"$schema,omitempty"`
	ID          string           `json:"$id,omitempty"`
	Ref         string           `json:"$ref,omitempty"`
	Title       string           `json:"title,omitempty"`
	Description string           `json:"description,omitempty"`
	Type        string           `json:"type,omitempty"`
	Const       string           `json:"const,omitempty"`
	AllOf       []node           `json:"allOf,omitempty"`
	AnyOf       []node           `json:"anyOf,omitempty"`
	Properties  map[string]*node `json:"properties,omitempty"`
}

func part(name string) node { return node{Ref: "part/" + name + events.SchemaSuffix} }

// schemaOf is what a type adds to the envelope.
func schemaOf(t events.Type) *node {
	properties := map[string]*node{
		"type":   {Const: t.Name},
		"before": side(t, events.Before),
		"after":  side(t, events.After),
	}
	if t.Target != "" {
		properties["target"] = &node{Properties: map[string]*node{"type": {Const: t.Target}}}
	}
	return &node{
		Schema: dialect, ID: t.SchemaURI(), Title: t.Name, Description: t.Summary, Type: "object",
		AllOf: []node{part("event")}, Properties: properties,
	}
}

// side is a resource in its three forms. Where a type shows it, null is what an
// erasure leaves, and what a change out of band has on one side.
func side(t events.Type, s events.Sides) *node {
	if t.Sides&s == 0 {
		return &node{Type: "null"}
	}
	return &node{AnyOf: []node{part(t.Shows), part("diff"), part("digest"), {Type: "null"}}}
}
