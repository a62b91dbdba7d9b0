package rbac_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/wardenhq/warden/shared/rbac"
)

func TestIDGrammar(t *testing.T) {
	for _, good := range []string{
		"a", "auth0|5f7", "alice@example.com", "svc#7", "arn:aws:iam::1:user/x", "Zoë", "Zoe\u0308", " ", "...", "*",
		"%2F", "a/b", "~x", "日本語", "\u200b", "\u00a0", strings.Repeat("x", rbac.MaxID), strings.Repeat("é", rbac.MaxID/2),
	} {
		id, err := rbac.ParseRoleID(good)
		if err != nil || id.String() != good || id.IsZero() {
			t.Errorf("%q: %v, %v", good, id, err)
		}
	}
	for bad, reason := range map[string]string{
		"": "must not be empty", ".": `must not be "." or ".."`, "..": `must not be "." or ".."`,
		"a\x00b": "must not contain the control character U+0000", "\n": "must not contain the control character U+000A",
		"\x7f": "must not contain the control character U+007F", "\u0085": "must not contain the control character U+0085",
		"\xff": "must be valid UTF-8", "a\xc3": "must be valid UTF-8", "\xed\xa0\x80": "must be valid UTF-8",
		strings.Repeat("x", rbac.MaxID+1):       "is 129 bytes long, at most 128 are allowed",
		strings.Repeat("é", rbac.MaxID/2) + "x": "is 129 bytes long, at most 128 are allowed",
	} {
		id, err := rbac.ParseRoleID(bad)
		var e *rbac.IDError
		if !errors.As(err, &e) || e.Kind != "role" || e.Reason != reason || !id.IsZero() {
			t.Errorf("%q: %v, %v; want %s", bad, id, err, reason)
		}
	}
}

// parsers are those of all kinds, with each kind's name and longest length.
var parsers = []struct {
	kind  string
	limit int
	parse func(string) (string, error)
}{
	{"org", 128, text(rbac.ParseOrgID)},
	{"scope", 128, text(rbac.ParseScopeID)},
	{"subject", 256, text(rbac.ParseSubjectID)},
	{"permission", 128, text(rbac.ParsePermissionID)},
	{"role", 128, text(rbac.ParseRoleID)},
	{"resource", 256, text(rbac.ParseResourceID)},
	{"action", 128, text(rbac.ParseActionID)},
	{"group mapping", 128, text(rbac.ParseMappingID)},
	{"constraint", 128, text(rbac.ParseConstraintID)},
	{"approval", 128, text(rbac.ParseApprovalID)},
	{"API key", 128, text(rbac.ParseAPIKeyID)},
}

func text[T interface{ String() string }](parse func(string) (T, error)) func(string) (string, error) {
	return func(s string) (string, error) {
		id, err := parse(s)
		return id.String(), err
	}
}

func TestEachKindHasItsNameAndLimit(t *testing.T) {
	for _, p := range parsers {
		if _, err := p.parse(strings.Repeat("x", p.limit)); err != nil {
			t.Errorf("%s of %d bytes: %v", p.kind, p.limit, err)
		}
		_, err := p.parse(strings.Repeat("x", p.limit+1))
		if err == nil || !strings.HasPrefix(err.Error(), p.kind+" id is ") {
			t.Errorf("%s of %d bytes: %v", p.kind, p.limit+1, err)
		}
	}
}

func TestIDsAreTextsInJSON(t *testing.T) {
	in := rbac.Must(rbac.ParseRoleID("a\"é#"))
	b, err := json.Marshal(in)
	if err != nil || string(b) != `"a\"é#"` {
		t.Fatalf("%s, %v", b, err)
	}
	var out rbac.RoleID
	if err := json.Unmarshal(b, &out); err != nil || out != in {
		t.Errorf("%v, %v", out, err)
	}
	var e *rbac.IDError
	if err := json.Unmarshal([]byte(`".."`), &out); !errors.As(err, &e) || out != in {
		t.Errorf("%v, %v; want an id error and nothing changed", out, err)
	}
}

func TestMustPanicsOnError(t *testing.T) {
	defer func() {
		if err, ok := recover().(error); !ok || !errors.As(err, new(*rbac.IDError)) {
			t.Errorf("recovered %v, want the parser's error", err)
		}
	}()
	rbac.Must(rbac.ParseRoleID(""))
}

// FuzzParseID holds the parser to the grammar as the contract words it.
func FuzzParseID(f *testing.F) {
	for _, s := range []string{"", ".", "..", "a", "Zoë", "a\x00", "\u0085", "\xff", "é\xff", strings.Repeat("x", 129), strings.Repeat("é", 64)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		good := utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl) && s != "" && s != "." && s != ".."
		for _, p := range parsers {
			got, err := p.parse(s)
			if want := good && len(s) <= p.limit; (err == nil) != want {
				t.Errorf("%s %q: %v, want accepted: %v", p.kind, s, err, want)
			}
			if err == nil && got != s {
				t.Errorf("%s %q became %q", p.kind, s, got)
			}
		}
	})
}
