package eventsv1_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/events/eventstest"
	"github.com/wardenhq/warden/events/v1"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/instant"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/recompute"
	"github.com/wardenhq/warden/shared/resource"
)

// Structs and schemas say the same: which members there are, which of them may
// be absent, and of what type they are.
func TestStructsAreWhatSchemasSay(t *testing.T) {
	seen := map[string]bool{}
	for _, kind := range events.Types() {
		of := reflect.TypeOf(eventsv1.New(kind.Name)).Elem()
		for _, side := range []string{"Before", "After"} {
			field, ok := of.FieldByName(side)
			if !ok {
				t.Fatalf("%s has no %s", of, side)
			}
			whole, shows := field.Type.FieldByName("Whole")
			if want := kind.Sides&map[string]events.Sides{"Before": events.Before, "After": events.After}[side] != 0; shows != want {
				t.Errorf("%s shows %s: %t, want %t", of, side, shows, want)
			}
			if shows && !seen[kind.Shows] {
				seen[kind.Shows] = true
				same(t, whole.Type.Elem(), eventstest.Schema(t, "part/"+kind.Shows))
			}
		}
	}
	same(t, reflect.TypeFor[eventsv1.Digest](), eventstest.Schema(t, "part/digest"))
	same(t, reflect.TypeFor[events.Erasure](), eventstest.Schema(t, "part/erasure"))
	same(t, reflect.TypeFor[events.CloudEvent](), eventstest.Schema(t, "part/cloudevent"))
	same(t, reflect.TypeFor[events.Event](), eventstest.Schema(t, "part/event"))
}

// given are the members that events lack until the audit log has them.
var given = []string{"seq", "previous_hash", "hash"}

func same(t *testing.T, of reflect.Type, schema *jsonschema.Schema) {
	t.Helper()
	if schema.Ref != nil {
		schema = schema.Ref
	}
	var names, required []string
	for _, field := range reflect.VisibleFields(of) {
		if field.Anonymous {
			continue
		}
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		names = append(names, name)
		if options == "" || slices.Contains(given, name) {
			required = append(required, name)
		}
		property, ok := schema.Properties[name]
		if !ok {
			t.Errorf("%s: the schema has no %s", of, name)
			continue
		}
		sameType(t, of.Name()+"."+name, field.Type, property)
	}
	sorted := func(names []string) []string { return slices.Sorted(slices.Values(names)) }
	if d := cmp.Diff(slices.Sorted(maps.Keys(schema.Properties)), sorted(names)); d != "" {
		t.Errorf("%s: members: %s", of, d)
	}
	if d := cmp.Diff(sorted(schema.Required), sorted(required)); d != "" {
		t.Errorf("%s: required: %s", of, d)
	}
}

func sameType(t *testing.T, name string, of reflect.Type, schema *jsonschema.Schema) {
	t.Helper()
	if of == reflect.TypeFor[json.RawMessage]() {
		return // any side
	}
	want := map[reflect.Kind]string{
		reflect.String: "string", reflect.Bool: "boolean", reflect.Int: "integer", reflect.Uint64: "integer",
		reflect.Slice: "array", reflect.Map: "object", reflect.Struct: "object",
	}
	nullable := false
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
		nullable = of.Kind() == reflect.String // a pointer to a struct is one that may be absent
	}
	if schema.Const != nil {
		if text, ok := (*schema.Const).(string); !ok || of.Kind() != reflect.String {
			t.Errorf("%s is %s, the schema has %s", name, of, text)
		}
		return
	}
	if of.Kind() == reflect.Struct {
		same(t, of, schema)
		return
	}
	if schema.Types == nil || !slices.Contains(schema.Types.ToStrings(), want[of.Kind()]) || slices.Contains(schema.Types.ToStrings(), "null") != nullable {
		t.Errorf("%s is %s, the schema has %v", name, of, schema.Types)
	}
	if of.Kind() == reflect.Slice {
		items, ok := schema.Items2020, schema.Items2020 != nil
		if !ok {
			t.Errorf("%s: the schema does not say of what", name)
			return
		}
		if items.Ref != nil {
			items = items.Ref
		}
		sameType(t, name+"[]", of.Elem(), items)
	}
}

// What events show is what the API answers: all that the domain fills in is
// known here, under the same names.
func TestResourcesAreWhatTheAPIShows(t *testing.T) {
	at := instant.At(time.Date(2026, 1, 31, 9, 30, 0, 125e6, time.UTC))
	stamp := resource.Stamp{Version: 1, CreatedAt: at, UpdatedAt: at}
	scope := rbac.Must(rbac.ParseScopeID("acme-corp"))
	org := rbac.Must(rbac.ParseOrgID("acme"))
	alice := rbac.Must(rbac.ParseSubjectID("alice@example.com"))
	role := rbac.Must(rbac.ParseRoleID("accountant"))
	permission := rbac.Must(rbac.ParsePermissionID("invoice:read"))
	for part, c := range map[string]struct{ shown, known any }{
		"org":   {resource.Org{ID: org, Name: "Acme", Status: entity.OrgActive, AuditRetentionDays: 365, Stamp: stamp}, new(eventsv1.Org)},
		"scope": {resource.Scope{ID: scope, Org: org, Name: "Acme", Description: "d", Stamp: stamp}, new(eventsv1.Scope)},
		"permission": {resource.Permission{
			ID: permission, Resource: rbac.Must(rbac.ParseResourceID("invoice")), Action: rbac.Must(rbac.ParseActionID("read")),
			Effect: rbac.Deny, Description: "d", Stamp: stamp,
		}, new(eventsv1.Permission)},
		"role": {resource.Role{
			ID: role, Name: "n", Description: "d", Permissions: []rbac.PermissionID{permission}, Inherits: []rbac.RoleID{role},
			Approvers: []rbac.SubjectID{alice}, RequiredApprovals: 1, Stamp: stamp,
		}, new(eventsv1.Role)},
		"policy": {resource.Policy{
			Subject: alice, Roles: []resource.Assignment{{Role: role, ExpiresAt: at, Source: "direct"}}, Stamp: stamp,
		}, new(eventsv1.Policy)},
		"api_key": {resource.APIKey{
			ID: rbac.Must(rbac.ParseAPIKeyID("key_1")), Name: "n", Permissions: entity.AllRights, Scopes: []rbac.ScopeID{scope},
			ExpiresAt: at, PreviousUntil: at, Stamp: stamp,
		}, new(eventsv1.APIKey)},
		"drift": {recompute.Drift{Subject: alice, Kind: recompute.DriftGrants, Repaired: true}, new(eventsv1.Drift)},
	} {
		t.Run(part, func(t *testing.T) {
			everyFieldSet(t, reflect.ValueOf(c.shown))
			text, err := json.Marshal(c.shown)
			if err != nil {
				t.Fatal(err)
			}
			if err := eventstest.Validate(t, "part/"+part, text); err != nil {
				t.Error(err)
			}
			d := json.NewDecoder(bytes.NewReader(text))
			d.DisallowUnknownFields()
			if err := d.Decode(c.known); err != nil {
				t.Fatal(err)
			}
			sameJSON(t, text, c.known)
		})
	}
}

// everyFieldSet keeps the test above from passing over members added later.
func everyFieldSet(t *testing.T, v reflect.Value) {
	t.Helper()
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("%s.%s is not set: fill it in here", v.Type(), v.Type().Field(i).Name)
		}
	}
}
