package eventsv1_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/events/chain"
	"github.com/wardenhq/warden/events/eventstest"
	"github.com/wardenhq/warden/events/v1"
)

// samples are the published samples by name: that of the type, and for more
// than one `-` and what is special. Samples of what was released stay.
func samples(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("../samples/v1/*.json")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(filepath.Base(file), ".json")] = text
	}
	return out
}

func TestSamples(t *testing.T) {
	ids := map[string]string{}
	for name, text := range samples(t) {
		t.Run(name, func(t *testing.T) {
			eventstest.Check(t, text)
			var e events.Event
			d := json.NewDecoder(bytes.NewReader(text))
			d.DisallowUnknownFields()
			if err := d.Decode(&e); err != nil {
				t.Fatal(err)
			}
			if kind, _, _ := strings.Cut(name, "-"); e.Type != kind {
				t.Errorf("its type is %s", e.Type)
			}
			if other, ok := ids[e.ID]; ok {
				t.Errorf("it has the id of %s", other)
			}
			ids[e.ID] = name
			sameJSON(t, text, e)
			if hash, err := chain.HashOf(&e); err != nil || hash.String() != e.Hash {
				t.Errorf("its hash is %s, %v, not %s", hash, err, e.Hash)
			}

			typed := eventsv1.New(e.Type)
			d = json.NewDecoder(bytes.NewReader(text))
			d.DisallowUnknownFields()
			if err := d.Decode(typed); err != nil {
				t.Fatal(err)
			}
			// Whatever a struct does not know is lost on the way back.
			sameJSON(t, text, typed)
		})
	}
}

func sameJSON(t *testing.T, text []byte, v any) {
	t.Helper()
	again, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var want, got any
	if err := errors.Join(json.Unmarshal(text, &want), json.Unmarshal(again, &got)); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%T: %s", v, d)
	}
}

func TestEachTypeHasSampleSchemaAndStruct(t *testing.T) {
	have := samples(t)
	known := map[string]bool{}
	for _, kind := range events.Types() {
		if known[kind.Name] {
			t.Errorf("%s is registered twice", kind.Name)
		}
		known[kind.Name] = true
		if have[kind.Name] == nil {
			t.Errorf("%s has no sample", kind.Name)
		}
		if eventsv1.New(kind.Name) == nil {
			t.Errorf("%s has no struct", kind.Name)
		}
		if id := eventstest.Schema(t, kind.Name).ID; id != kind.SchemaURI() {
			t.Errorf("%s has the schema %s", kind.Name, id)
		}
		if entity, _, _ := strings.Cut(kind.Name, "."); kind.Target != "" && kind.Sides&events.Before != 0 && !strings.HasPrefix(kind.Target, entity) {
			t.Errorf("%s has targets of type %s", kind.Name, kind.Target)
		}
	}
	for _, name := range eventstest.Names(t) {
		if !strings.HasPrefix(name, "part/") && !known[name] {
			t.Errorf("schema %s is of no type", name)
		}
	}
	if eventsv1.New("role.painted") != nil {
		t.Error("there is a struct of a type that is not known")
	}
}

// A schema that takes everything would let every sample pass.
func TestSchemasRefuse(t *testing.T) {
	all := samples(t)
	edit := func(text []byte, member, value string) []byte {
		var members map[string]json.RawMessage
		if err := json.Unmarshal(text, &members); err != nil {
			t.Fatal(err)
		}
		members[member] = json.RawMessage(value)
		if value == "" {
			delete(members, member)
		}
		out, err := json.Marshal(members)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, kind := range events.Types() {
		text := all[kind.Name]
		for what, changed := range map[string][]byte{
			"another type":           edit(text, "type", `"role.painted"`),
			"no target":              edit(text, "target", ``),
			"another kind of target": edit(text, "target", `{"type":"","id":"x"}`),
			"no time":                edit(text, "time", `"yesterday"`),
			"seq 0":                  edit(text, "seq", `0`),
			"a scope, a number":      edit(text, "scope", `1`),
			"an actor unheard of":    edit(text, "actor", `{"type":"ghost","id":"x"}`),
			"no hash":                edit(text, "hash", ``),
			"before, an empty one":   edit(text, "before", `{}`),
			"after, an empty one":    edit(text, "after", `{}`),
			"after, half a digest":   edit(text, "after", `{"truncated":"hash"}`),
		} {
			if err := eventstest.Validate(t, kind.Name, changed); err == nil {
				t.Errorf("%s with %s is taken", kind.Name, what)
			}
		}
	}
}
