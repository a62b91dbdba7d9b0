package audit

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
)

// watched are the types of items whose every change must have an event, by what
// targets of events call them.
var watched = map[string]string{
	"Org":           "org",
	"Scope":         "scope",
	"Permission":    "permission",
	"Role":          "role",
	"GroupMapping":  "group_mapping",
	"Policy":        "policy",
	"SODConstraint": "sod_constraint",
	"Approval":      "approval",
	"ScopeTest":     "scope_test",
	"APIKey":        "api_key",
	"SCIMToken":     "scim_token",
	"Member":        "member",
	"SSO":           "sso",
	"SCIMUser":      "scim.user",
	"SCIMGroup":     "scim.group",
	"Webhook":       "webhook",
}

// exempt are the types that are kept beside entities: why none of their changes
// has an event of its own. What is in neither table is watched under the name
// unknown: nothing of Warden writes it.
var exempt = map[string]string{
	"Unique":       "goes with what it names",
	"Head":         "goes with definitions, and with their fan-outs",
	"Fence":        "a version and nothing else",
	"RoleMember":   "goes with the policy; drift finds what does not",
	"SubjectScope": "goes with the policy; drift finds what does not",
	"Access":       "computed; drift finds what is not as computed",
	"OperatorKey":  "of no org, so there is no log to show it in",
	"Event":        "is what claims",
	"Idempotency":  "an answer that is kept",
	"Recompute":    "progress",
	"Task":         "progress",
	"SCIMLookup":   "goes with the user or group",
	"GroupMember":  "goes with the group",
	"WebhookState": "progress",
	"Delivery":     "progress",
	"Audit":        "the log itself: its chain shows changes",
	"Chain":        "the log itself",
	"Checkpoint":   "signed",
	"Suspicion":    "progress",
}

// unknown is what items of no type are called.
const unknown = "unknown"

// quiet says whether a rewrite is one that goes on with what an earlier event
// announced.
func quiet(old, now *table.Item) bool {
	if old == nil || old.Type != now.Type {
		return false
	}
	switch now.Type {
	case "Scope":
		e, err := stored.Decode[entity.Scope](now)
		return err == nil && e.Deleting // the purge notes how far it is
	case "Org":
		e, err := stored.Decode[entity.Org](now)
		return err == nil && e.Status == entity.OrgDeleting
	case "APIKey":
		return endedOverlap(old, now)
	}
	return bytes.Equal(old.Body, now.Body) && bytes.Equal(old.Blob, now.Blob) // index keys at most
}

// endedOverlap says whether only secrets from before rotations were forgotten.
func endedOverlap(old, now *table.Item) bool {
	before, err := stored.Decode[entity.APIKey](old)
	if err != nil {
		return false
	}
	after, err := stored.Decode[entity.APIKey](now)
	if err != nil {
		return false
	}
	before.Previous = slices.DeleteFunc(before.Previous, func(p entity.PastSecret) bool {
		return !slices.ContainsFunc(after.Previous, func(kept entity.PastSecret) bool { return bytes.Equal(kept.Hash, p.Hash) })
	})
	text, err := json.Marshal(before)
	return err == nil && bytes.Equal(text, now.Body)
}

// closing says whether an item was marked for a purge before it was removed.
func closing(it *table.Item) bool {
	switch it.Type {
	case "Scope":
		e, err := stored.Decode[entity.Scope](it)
		return err == nil && e.Deleting
	case "Org":
		e, err := stored.Decode[entity.Org](it)
		return err == nil && e.Status == entity.OrgDeleting
	}
	return false
}

// kindOf is what targets of events call an item's entity; false when no change
// of it needs an event.
func kindOf(it *table.Item) (string, bool) {
	if kind, ok := watched[it.Type]; ok {
		return kind, true
	}
	_, ok := exempt[it.Type]
	return unknown, !ok
}

// idOf is the id that targets of events have for an item's entity; of what can't
// be read, its key.
func idOf(it *table.Item) string {
	var named struct {
		ID      string `json:"id"`
		Subject string `json:"subject"`
		User    string `json:"user"`
	}
	if err := json.Unmarshal(it.Body, &named); err == nil {
		for _, id := range []string{named.ID, named.Subject, named.User} {
			if id != "" {
				return id
			}
		}
	}
	return it.Key.String()
}
