package events_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardenhq/warden/events"
)

const link = "/v1/scopes/main/roles/r"

// role is a resource with n permissions from the first on.
func role(first, n, version int) json.RawMessage {
	permissions := make([]string, n)
	for i := range permissions {
		permissions[i] = fmt.Sprintf("%q", fmt.Sprintf("permission-%010d", first+i))
	}
	return json.RawMessage(fmt.Sprintf(`{"id":"r","name":"R","permissions":[%s],"version":%d}`, strings.Join(permissions, ","), version))
}

func whole(t *testing.T, of json.RawMessage) string {
	t.Helper()
	sum := sha256.Sum256(of)
	return fmt.Sprintf(`{"truncated":"hash","sha256":%q,"bytes":%d,"link":%q}`, hex.EncodeToString(sum[:]), len(of), link)
}

func TestFit(t *testing.T) {
	large, larger := role(0, 900, 1), role(1, 900, 2)
	other := role(5000, 900, 3)
	small := role(0, 1, 4)
	text := json.RawMessage(`{"id":"r","description":"` + strings.Repeat("x", events.MaxShown) + `"}`)
	for name, c := range map[string]struct{ before, after, wantBefore, wantAfter string }{
		"small":   {string(small), string(small), string(small), string(small)},
		"created": {"", string(small), "", string(small)},
		"created, large": {
			"", string(large), "", whole(t, large),
		},
		"deleted, large": {
			string(large), "", whole(t, large), "",
		},
		"one element moved on": {
			string(large), string(larger),
			`{"id":"r","permissions":["permission-0000000000"],"truncated":"diff","version":1}`,
			`{"id":"r","permissions":["permission-0000000900"],"truncated":"diff","version":2}`,
		},
		"all elements differ": {string(large), string(other), whole(t, large), whole(t, other)},
		"a large one shrinks": {
			string(large), string(small),
			whole(t, large),
			`{"id":"r","permissions":[],"truncated":"diff","version":4}`,
		},
		"a text": {
			string(text), `{"id":"r"}`,
			whole(t, text),
			`{"id":"r","truncated":"diff"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, a, err := events.Fit(raw(c.before), raw(c.after), link)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.wantBefore, string(b)); d != "" {
				t.Errorf("before: %s", d)
			}
			if d := cmp.Diff(c.wantAfter, string(a)); d != "" {
				t.Errorf("after: %s", d)
			}
			if len(b) > events.MaxShown || len(a) > events.MaxShown {
				t.Errorf("%d and %d bytes", len(b), len(a))
			}
			if (b == nil) != (c.before == "") || (a == nil) != (c.after == "") {
				t.Error("nil did not stay nil")
			}
		})
	}
}

func TestFitRefusesWhatIsNoObject(t *testing.T) {
	list := json.RawMessage("[" + strings.Repeat("0,", events.MaxShown) + "0]")
	if _, _, err := events.Fit(list, role(0, 1, 1), link); err == nil {
		t.Error("a list was shortened")
	}
	if _, _, err := events.Fit(role(0, 1, 1), list, link); err == nil {
		t.Error("a list was shortened")
	}
}

func raw(s string) json.RawMessage {
	if s == "" {
		return nil
	}
	return json.RawMessage(s)
}
