package eventsv1_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/events/v1"
)

// An event as it is written, read as those who are sent it do.
func TestTyped(t *testing.T) {
	var updated eventsv1.PolicyUpdated
	if err := json.Unmarshal(samples(t)["policy.updated"], &updated); err != nil {
		t.Fatal(err)
	}
	if updated.Type != events.PolicyUpdated || updated.Target.ID != "alice@example.com" || updated.Actor.ID != "key_1" {
		t.Errorf("envelope: %+v", updated.Event)
	}
	if before, after := updated.Before.Whole, updated.After.Whole; before == nil || after == nil || len(before.Roles) != 2 || len(after.Roles) != 1 || after.Version != 2 {
		t.Errorf("before %+v, after %+v", before, after)
	}
	var erased eventsv1.PolicyUpdated
	if err := json.Unmarshal(samples(t)["policy.updated-erased"], &erased); err != nil {
		t.Fatal(err)
	}
	if s := erased.Before; s.Whole != nil || s.Diff != nil || s.Digest != nil {
		t.Errorf("erased: %+v", erased.Before)
	}
}

// What Fit makes of large resources has its place.
func TestShownForms(t *testing.T) {
	role := func(first, n int) json.RawMessage {
		ids := make([]string, n)
		for i := range ids {
			ids[i] = fmt.Sprintf("%q", fmt.Sprintf("permission-%010d", first+i))
		}
		return json.RawMessage(fmt.Sprintf(
			`{"id":"r","permissions":[%s],"inherits":[],"required_approvals":1,"version":%d,"created_at":"","updated_at":""}`, strings.Join(ids, ","), first))
	}
	for name, c := range map[string]struct {
		before, after json.RawMessage
		is            func(eventsv1.Shown[eventsv1.Role]) bool
	}{
		"whole":  {role(0, 1), role(1, 1), func(s eventsv1.Shown[eventsv1.Role]) bool { return s.Whole != nil && s.Whole.Permissions[0] != "" }},
		"diff":   {role(0, 900), role(1, 900), func(s eventsv1.Shown[eventsv1.Role]) bool { return s.Diff != nil && string(s.Diff["id"]) == `"r"` }},
		"digest": {role(0, 900), role(5000, 900), func(s eventsv1.Shown[eventsv1.Role]) bool { return s.Digest != nil && s.Digest.Link == "/r" }},
		"null":   {nil, nil, func(s eventsv1.Shown[eventsv1.Role]) bool { return s.Whole == nil && s.Diff == nil && s.Digest == nil }},
	} {
		b, a, err := events.Fit(c.before, c.after, "/r")
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(events.Event{Type: events.RoleUpdated, Before: b, After: a})
		if err != nil {
			t.Fatal(err)
		}
		var e eventsv1.RoleUpdated
		if err := json.Unmarshal(text, &e); err != nil {
			t.Fatal(err)
		}
		if !c.is(e.Before) || !c.is(e.After) {
			t.Errorf("%s: before %+v, after %+v", name, e.Before, e.After)
		}
		sameJSON(t, text, e)
	}
}

func TestSidesRefuse(t *testing.T) {
	var created eventsv1.RoleCreated
	if err := json.Unmarshal([]byte(`{"before":{}}`), &created); !errors.Is(err, eventsv1.ErrNotNull) {
		t.Errorf("before of what was created: %v", err)
	}
	for name, text := range map[string]string{
		"a list":        `{"after":[]}`,
		"half a role":   `{"after":{"permissions":1}}`,
		"half a digest": `{"after":{"truncated":"hash","bytes":"1"}}`,
	} {
		if err := json.Unmarshal([]byte(text), &created); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}
