// Package eventstest holds events to their published schemas, in tests.
package eventstest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/events/schema"
)

// compiler knows all published schemas by their ids. Formats are asserted.
var compiler = sync.OnceValues(func() (*jsonschema.Compiler, error) {
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	err := fs.WalkDir(schema.FS, schema.Version, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(schema.FS, file)
		if err != nil {
			return err
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		return c.AddResource(events.SchemaBase+strings.TrimPrefix(file, schema.Version+"/"), doc)
	})
	return c, err
})

var compiling sync.Mutex // a compiler is for one goroutine at a time

// Schema is a published schema by its name: of a type ("role.created"), or of a
// part ("part/cloudevent").
func Schema(tb testing.TB, name string) *jsonschema.Schema {
	tb.Helper()
	compiling.Lock()
	defer compiling.Unlock()
	c, err := compiler()
	if err != nil {
		tb.Fatal(err)
	}
	s, err := c.Compile(events.SchemaBase + name + events.SchemaSuffix)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// Validate is what a schema, named as in Schema, says against a JSON text.
func Validate(tb testing.TB, name string, text []byte) error {
	tb.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return Schema(tb, name).Validate(doc)
}

// Check fails the test when a text is no event of a known type as the audit log,
// the bus and webhooks have it.
func Check(tb testing.TB, event []byte) {
	tb.Helper()
	var e struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(event, &e); err != nil {
		tb.Errorf("%.200s: %v", event, err)
		return
	}
	if _, ok := events.TypeOf(e.Type); !ok {
		tb.Errorf("%q is no type of events", e.Type)
		return
	}
	if err := Validate(tb, e.Type, event); err != nil {
		tb.Errorf("%s: %v", e.Type, err)
	}
}

// Names are all published schemas, parts as "part/NAME".
func Names(tb testing.TB) []string {
	tb.Helper()
	var names []string
	for _, pattern := range []string{"*", "part/*"} {
		files, err := fs.Glob(schema.FS, path.Join(schema.Version, pattern+events.SchemaSuffix))
		if err != nil {
			tb.Fatal(err)
		}
		for _, file := range files {
			names = append(names, strings.TrimSuffix(strings.TrimPrefix(file, schema.Version+"/"), events.SchemaSuffix))
		}
	}
	return names
}
