package segment_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/wardenhq/warden/shared/httpapi/segment"
)

func TestEncode(t *testing.T) {
	for id, want := range map[string]string{
		"user_123":              "user_123",
		"alice@example.com":     "alice@example.com",
		"a.b_c:d@e-F9":          "a.b_c:d@e-F9",
		"Zoë":                   "~Wm_Dqw",
		"auth0|5f7":             "~YXV0aDB8NWY3",
		"svc#7":                 "~c3ZjIzc",
		"arn:aws:iam::1:user/x": "~YXJuOmF3czppYW06OjE6dXNlci94",
		"a b":                   "~YSBi",
		"~plain":                "~fnBsYWlu",
		".":                     "~Lg",
		"..":                    "~Li4",
		"...":                   "...",
	} {
		got := segment.Encode(id)
		if got != want {
			t.Errorf("Encode(%q) = %q, want %q", id, got, want)
		}
		if back, err := segment.Decode(got); err != nil || back != id {
			t.Errorf("Decode(%q) = %q, %v; want %q", got, back, err, id)
		}
	}
}

func TestDecodeAcceptsTheOtherFormOfAPlainID(t *testing.T) {
	if got, err := segment.Decode("~dXNlcl8xMjM"); err != nil || got != "user_123" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for name, s := range map[string]string{
		"nothing":             "",
		"a space":             "a b",
		"a slash":             "a/b",
		"a percent sign":      "%41",
		"a letter off ASCII":  "Zoë",
		"a NUL":               "a\x00",
		"an empty id":         "~",
		"padding":             "~YQ==",
		"unused bits set":     "~YR",
		"the other alphabet":  "~Wm/Dqw",
		"a line break":        "~YWJj\n",
		"an impossible count": "~Y",
		"invalid UTF-8":       "~_w",
		"a mark within":       "~YQ~",
	} {
		if got, err := segment.Decode(s); !errors.Is(err, segment.ErrForm) {
			t.Errorf("%s: Decode(%q) = %q, %v", name, s, got, err)
		}
	}
}

func TestSplit(t *testing.T) {
	for path, want := range map[string][]string{
		"/v1/orgs":         {"v1", "orgs"},
		"/v1/scopes/a:b@c": {"v1", "scopes", "a:b@c"},
		"/a b":             {"a b"},
		"/...":             {"..."},
		"/":                nil,
		"":                 nil,
		"*":                nil,
		"v1/orgs":          nil,
		"//v1":             nil,
		"/v1/":             nil,
		"/v1//orgs":        nil,
		"/v1/./orgs":       nil,
		"/v1/../orgs":      nil,
		"/v1/..":           nil,
	} {
		got, ok := segment.Split(path)
		if ok != (want != nil) || !slices.Equal(got, want) {
			t.Errorf("Split(%q) = %q, %t; want %q", path, got, ok, want)
		}
	}
}

func FuzzEncode(f *testing.F) {
	for _, id := range []string{"user_123", "Zoë", "..", "~", "a/b", "\x00", "%2F", "🙂"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		if id == "" || !utf8.ValidString(id) {
			return
		}
		s := segment.Encode(id)
		back, err := segment.Decode(s)
		if err != nil || back != id {
			t.Fatalf("%q travels as %q and comes back as %q, %v", id, s, back, err)
		}
		path := "/x/" + s
		if parts, ok := segment.Split(path); !ok || len(parts) != 2 || parts[1] != s {
			t.Fatalf("%q does not stay one segment: %q", path, parts)
		}
		if strings.ContainsAny(s, "/?#% ") {
			t.Fatalf("%q needs escaping", s)
		}
	})
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{"user_123", "~Wm_Dqw", "~YR", "~YQ==", "~", "~YWJj\n", "a b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := segment.Decode(s)
		if err != nil {
			return
		}
		if id == "" || !utf8.ValidString(id) {
			t.Fatalf("%q gives the id %q", s, id)
		}
		// One id has at most two forms: the one that links use, and `~` of a plain id.
		if e := segment.Encode(id); e != s && (e != id || s[0] != '~') && id != "." && id != ".." {
			t.Fatalf("%q and %q both stand for %q", s, e, id)
		}
	})
}
