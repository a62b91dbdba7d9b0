package contract

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Listing is what a contract promises: by schema, by path of a member
// (`actor.id`, `roles[]` for the elements of a list, empty for the whole).
type Listing map[string]Members

// Members are a schema's members by path.
type Members map[string]Member

// Member is what is promised of a member.
type Member struct {
	Required bool     `json:"required,omitempty"` // where what holds it is there
	Enum     []string `json:"enum,omitempty"`
	Rule     string   `json:"rule"` // all else that its schema demands, as JSON: type, format, limits, references
}

// Keywords of JSON Schema that demand nothing, and those that List follows.
var (
	annotations = []string{"$schema", "$id", "$comment", "title", "description", "examples", "default", "deprecated"}
	followed    = []string{"properties", "required", "items", "enum"}
)

// List is what a JSON Schema promises.
func List(schema []byte) (Members, error) {
	var s map[string]any
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, err
	}
	members := Members{}
	return members, members.list("", s, false)
}

func (ms Members) list(path string, schema map[string]any, required bool) error {
	enum, err := texts(schema["enum"])
	if err != nil {
		return fmt.Errorf("%q: enum: %w", path, err)
	}
	rest := maps.Clone(schema)
	for _, keyword := range slices.Concat(annotations, followed) {
		delete(rest, keyword)
	}
	rule, err := json.Marshal(rest)
	if err != nil {
		return err
	}
	ms[path] = Member{required, enum, string(rule)}
	needed, err := texts(schema["required"])
	if err != nil {
		return fmt.Errorf("%q: required: %w", path, err)
	}
	if items, ok := schema["items"].(map[string]any); ok {
		if err := ms.list(path+"[]", items, false); err != nil {
			return err
		}
	}
	properties, ok := schema["properties"].(map[string]any)
	if !ok && schema["properties"] != nil {
		return fmt.Errorf("%q: properties is no object", path)
	}
	for name, v := range properties {
		member, ok := v.(map[string]any)
		if !ok {
			return fmt.Errorf("%q: %s is no schema", path, name)
		}
		if err := ms.list(strings.TrimPrefix(path+"."+name, "."), member, slices.Contains(needed, name)); err != nil {
			return err
		}
	}
	return nil
}

func texts(v any) ([]string, error) {
	list, ok := v.([]any)
	if !ok && v != nil {
		return nil, fmt.Errorf("%v is no list", v)
	}
	out := make([]string, len(list))
	for i, e := range list {
		if out[i], ok = e.(string); !ok {
			return nil, fmt.Errorf("%v is no string", e)
		}
	}
	return out, nil
}
