package contract_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardenhq/warden/events/internal/contract"
)

const schema = `{"$id": "x", "title": "X", "type": "object", "required": ["id", "holder"], "properties": {
	"id": {"type": "string", "description": "an id"},
	"name": {"type": "string", "maxLength": 9},
	"state": {"type": "string", "enum": ["on", "off"]},
	"holder": {"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string"}, "note": {"type": "string"}}},
	"roles": {"type": "array", "items": {"type": "object", "required": ["role"], "properties": {"role": {"type": "string"}}}},
	"also": {"$ref": "y.schema.json"}}}`

func listing(t *testing.T, text string) contract.Listing {
	t.Helper()
	members, err := contract.List([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return contract.Listing{"x": members}
}

func TestList(t *testing.T) {
	want := contract.Listing{"x": {
		"":             {Rule: `{"type":"object"}`, Enum: []string{}},
		"id":           {Rule: `{"type":"string"}`, Enum: []string{}, Required: true},
		"name":         {Rule: `{"maxLength":9,"type":"string"}`, Enum: []string{}},
		"state":        {Rule: `{"type":"string"}`, Enum: []string{"on", "off"}},
		"holder":       {Rule: `{"type":"object"}`, Enum: []string{}, Required: true},
		"holder.kind":  {Rule: `{"type":"string"}`, Enum: []string{}, Required: true},
		"holder.note":  {Rule: `{"type":"string"}`, Enum: []string{}},
		"roles":        {Rule: `{"type":"array"}`, Enum: []string{}},
		"roles[]":      {Rule: `{"type":"object"}`, Enum: []string{}},
		"roles[].role": {Rule: `{"type":"string"}`, Enum: []string{}, Required: true},
		"also":         {Rule: `{"$ref":"y.schema.json"}`, Enum: []string{}},
	}}
	if d := cmp.Diff(want, listing(t, schema)); d != "" {
		t.Error(d)
	}
}

func TestListRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON":                 `?`,
		"a member without schema": `{"properties":{"a":true}}`,
		"properties, a list":      `{"properties":[]}`,
		"required, a text":        `{"required":"a"}`,
		"an enumeration of one":   `{"properties":{"a":{"enum":[1]}}}`,
		"one in a list":           `{"items":{"enum":[1]}}`,
	} {
		if _, err := contract.List([]byte(text)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestCompare(t *testing.T) {
	for name, c := range map[string]struct {
		old, now string
		want     []contract.Problem
	}{
		"nothing":                             {"", "", nil},
		"other words":                         {"an id", "the id", nil},
		"a new member that may be absent":     {`"id": {`, `"color": {"type": "string"}, "id": {`, nil},
		"a new one with required members":     {`"id": {`, `"by": {"required": ["who"], "properties": {"who": {"type": "string"}}}, "id": {`, nil},
		"a new value":                         {`"on", "off"`, `"on", "off", "half"`, nil},
		"a new schema":                        {`X`, `X`, nil},
		"a member removed":                    {`"name": {`, `"gone": {`, []contract.Problem{{"x", "name", "is gone"}}},
		"a required one removed":              {`"id": {`, `"ident": {`, []contract.Problem{{"x", "id", "is gone"}}},
		"one in a list removed":               {`"role": {`, `"rule": {`, []contract.Problem{{"x", "roles[].role", "is gone"}}},
		"a type narrowed":                     {`"maxLength": 9`, `"maxLength": 8`, []contract.Problem{{"x", "name", `demands {"maxLength":8,"type":"string"}, no longer {"maxLength":9,"type":"string"}`}}},
		"a type widened":                      {`{"type": "string", "description": "an id"}`, `{"type": ["string", "null"]}`, []contract.Problem{{"x", "id", `demands {"type":["string","null"]}, no longer {"type":"string"}`}}},
		"another reference":                   {"y.schema.json", "z.schema.json", []contract.Problem{{"x", "also", `demands {"$ref":"z.schema.json"}, no longer {"$ref":"y.schema.json"}`}}},
		"a member that has become needed":     {`["id", "holder"]`, `["id", "holder", "name"]`, []contract.Problem{{"x", "name", "has become required"}}},
		"one that is needed no more":          {`["id", "holder"]`, `["holder"]`, []contract.Problem{{"x", "id", "is no longer required"}}},
		"a new required member":               {`"required": ["kind"], "properties": {`, `"required": ["kind", "id"], "properties": {"id": {"type": "string"}, `, []contract.Problem{{"x", "holder.id", "is new and required"}}},
		"a new required one in the whole":     {`"required": ["id", "holder"], "properties": {`, `"required": ["id", "holder", "by"], "properties": {"by": {}, `, []contract.Problem{{"x", "by", "is new and required"}}},
		"a value removed":                     {`"on", "off"`, `"on"`, []contract.Problem{{"x", "state", `no longer has the value "off"`}}},
		"an enumeration given up":             {`, "enum": ["on", "off"]`, ``, []contract.Problem{{"x", "state", "was an enumeration, or has become one"}}},
		"an enumeration where there was none": {`"maxLength": 9`, `"maxLength": 9, "enum": ["a"]`, []contract.Problem{{"x", "name", "was an enumeration, or has become one"}}},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(schema, c.old) {
				t.Fatalf("the schema has no %s", c.old)
			}
			now := listing(t, strings.Replace(schema, c.old, c.now, 1))
			now["new"] = contract.Members{"": {Required: true}}
			got := contract.Compare(listing(t, schema), now)
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
	gone := contract.Compare(listing(t, schema), contract.Listing{})
	if d := cmp.Diff([]contract.Problem{{"x", "", "is gone"}}, gone); d != "" {
		t.Error(d)
	}
	err := &contract.IncompatibleError{Problems: gone}
	if !strings.HasSuffix(err.Error(), "\n"+`x: "" is gone`) {
		t.Errorf("it says %s", err)
	}
}
