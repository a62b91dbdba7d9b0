package events_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/events/eventstest"
)

func TestEnveloped(t *testing.T) {
	files, err := filepath.Glob("samples/v1/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d samples, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var e events.Event
		if err := json.Unmarshal(text, &e); err != nil {
			t.Fatal(err)
		}
		envelope, err := json.Marshal(events.Enveloped(e))
		if err != nil {
			t.Fatal(err)
		}
		if err := eventstest.Validate(t, "part/cloudevent", envelope); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		var read events.CloudEvent
		if err := json.Unmarshal(envelope, &read); err != nil {
			t.Fatal(err)
		}
		eventstest.Check(t, must(json.Marshal(read.Data)))
		if read.ID != e.ID || read.Type != e.Type || read.Time != e.Time {
			t.Errorf("%s: the envelope says %s, %s, %s", file, read.ID, read.Type, read.Time)
		}
	}
}

func TestEnvelope(t *testing.T) {
	scope := "acme-corp"
	got := events.Enveloped(events.Event{
		ID: "evt_1", Type: events.RoleUpdated, Time: "2026-01-31T09:30:00.000Z", Seq: 1 << 33, Org: "acme", Scope: &scope,
		Target: events.Target{Type: "role", ID: "a/b"},
	})
	got.Data = events.Event{}
	want := events.CloudEvent{
		SpecVersion: "1.0", ID: "evt_1", Source: "warden", Type: "role.updated", Subject: "role/a/b", Time: "2026-01-31T09:30:00.000Z",
		DataContentType: "application/json",
		DataSchema:      "https://github.com/wardenhq/warden/events/schema/v1/role.updated.schema.json",
		Sequence:        "00000000008589934592",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func must(text []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return text
}

func TestTypeOf(t *testing.T) {
	for _, want := range events.Types() {
		if got, ok := events.TypeOf(want.Name); !ok || got != want {
			t.Errorf("%s: %+v, %t", want.Name, got, ok)
		}
	}
	if got, ok := events.TypeOf("role.painted"); ok || got != (events.Type{}) {
		t.Errorf("%+v", got)
	}
}
