package wire_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/httpapi/wire"
	"github.com/wardenhq/warden/shared/instant"
	"github.com/wardenhq/warden/shared/rbac"
)

type check struct {
	Scope    rbac.ScopeID `json:"scope"`
	Explain  bool         `json:"explain,omitzero"`
	AtLeast  *string      `json:"at_least"`
	Expires  instant.Time `json:"expires_at,omitzero"`
	Attempts int8         `json:"attempts,omitzero"`
	Share    float64      `json:"share,omitzero"`
}

type meta struct {
	Note string `json:"note,omitempty"`
}

type request struct {
	Checks  []check                       `json:"checks"`
	Labels  map[string]string             `json:"labels,omitzero"`
	Name    wire.Optional[string]         `json:"name,omitzero"`
	Nested  wire.Optional[check]          `json:"nested,omitzero"`
	Secret  []byte                        `json:"secret,omitzero"`
	Count   uint16                        `json:"count,omitzero"`
	Any     jsontext.Value                `json:"any,omitzero"`
	Hidden  string                        `json:"-"`
	Replace wire.Optional[[]rbac.ScopeID] `json:"replace,omitzero"`
	meta
}

func TestDecode(t *testing.T) {
	text := "strong"
	scope := rbac.Must(rbac.ParseScopeID("acme"))
	body := ` {"checks": [{"scope": "acme", "explain": true, "at_least": "strong"}, {"scope": "acme", "at_least": null, "explain": null}],
		"labels": {"a": "b"}, "name": null, "secret": "AQI=", "count": 65535, "any": [{}], "replace": ["acme"], "note": "n"} `
	var got request
	if err := wire.Decode([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	if !got.Name.IsNull() || !got.Nested.IsZero() {
		t.Errorf("name %v, nested %v", got.Name, got.Nested)
	}
	if r, ok := got.Replace.Get(); !ok || len(r) != 1 || r[0] != scope {
		t.Errorf("replace = %v, %t", r, ok)
	}
	if len(got.Checks) != 2 || got.Checks[0].Scope != scope || !got.Checks[0].Explain || *got.Checks[0].AtLeast != text || got.Checks[1].AtLeast != nil {
		t.Errorf("checks = %+v", got.Checks)
	}
	if got.Labels["a"] != "b" || string(got.Secret) != "\x01\x02" || got.Count != 65535 || got.Note != "n" || string(got.Any) != "[{}]" {
		t.Errorf("got %+v", got)
	}
}

func TestDecodeNamesWrongFields(t *testing.T) {
	long := strings.Repeat("é", 100)
	for _, tc := range []struct {
		name, body string
		want       []string
	}{
		{"a list for an object", `[]`, []string{"body: must be an object"}},
		{"null for an object", `null`, []string{"body: must be an object"}},
		{"a text for an object", `"x"`, []string{"body: must be an object"}},
		{"nothing required", `{}`, []string{"checks: is required"}},
		{"null where a value is required", `{"checks":null}`, []string{"checks: is required"}},
		{"an object for a list", `{"checks":{}}`, []string{"checks: must be a list"}},
		{"a text for a list", `{"checks":"x"}`, []string{"checks: must be a list"}},
		{"null in a list", `{"checks":[null]}`, []string{"checks[0]: must be an object"}},
		{"an unknown member", `{"checks":[],"check":[{"a":[1]}]}`, []string{"check: unknown field"}},
		{"another case", `{"Checks":[],"checks":[]}`, []string{"Checks: unknown field"}},
		{"a member the tag hides", `{"checks":[],"Hidden":"x","-":"y"}`, []string{"Hidden: unknown field", "-: unknown field"}},
		{"an empty name", `{"checks":[],"":0}`, []string{": unknown field"}},
		{"a long name", `{"checks":[],"` + long + `":0}`, []string{strings.Repeat("é", 64) + "... (200 bytes): unknown field"}},
		{"deep inside", `{"checks":[{"scope":"a"},{"scope":7,"x":0},{"explain":"yes"}]}`, []string{
			"checks[1].scope: must be a string",
			"checks[1].x: unknown field",
			"checks[2].explain: must be true or false",
			"checks[2].scope: is required",
		}},
		{"an id the type refuses", `{"checks":[{"scope":""}]}`, []string{"checks[0].scope: scope id must not be empty"}},
		{"an object for an id", `{"checks":[{"scope":{"a":1}}]}`, []string{"checks[0].scope: must be a string"}},
		{"a pointer's value", `{"checks":[{"scope":"a","at_least":[]}]}`, []string{"checks[0].at_least: must be a string"}},
		{"a time without offset", `{"checks":[{"scope":"a","expires_at":"2026-01-02T03:04:05"}]}`, []string{"checks[0].expires_at: " + instant.ErrInvalid.Error()}},
		{"a number for a time", `{"checks":[{"scope":"a","expires_at":1}]}`, []string{"checks[0].expires_at: must be a string"}},
		{"a number too large", `{"checks":[{"scope":"a","attempts":128}]}`, []string{"checks[0].attempts: must be a whole number from -128 to 127"}},
		{"a broken number", `{"checks":[],"count":1.5}`, []string{"count: must be a whole number from 0 to 65535"}},
		{"a number no float holds", `{"checks":[{"scope":"a","share":1e999}]}`, []string{"checks[0].share: must be a number"}},
		{"a wrong value in a map", `{"checks":[],"labels":{"3":4}}`, []string{"labels.3: must be a string"}},
		{"null in a map", `{"checks":[],"labels":{"3":null}}`, []string{"labels.3: must be a string"}},
		{"an optional's value", `{"checks":[],"name":1}`, []string{"name: must be a string"}},
		{"inside an optional", `{"checks":[],"nested":{"scope":"a","b":1}}`, []string{"nested.b: unknown field"}},
		{"a list in an optional", `{"checks":[],"replace":["a",".."]}`, []string{`replace[1]: scope id must not be "." or ".."`}},
		{"a list for bytes", `{"checks":[],"secret":[1]}`, []string{"secret: must be a string in base64"}},
		{"an embedded member", `{"checks":[],"note":1}`, []string{"note: must be a string"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var into request
			err := wire.Decode([]byte(tc.body), &into)
			var f *fault.Error
			if !errors.As(err, &f) || f.Code != fault.Invalid {
				t.Fatalf("got %v", err)
			}
			var got []string
			for _, field := range f.Fields {
				got = append(got, field.Field+": "+field.Message)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
			if f.Detail == "" {
				t.Error("no detail")
			}
		})
	}
}

func TestDecodeListsAtMostAHundredFields(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"checks":[]`)
	for i := range 250 {
		fmt.Fprintf(&b, `,"f%d":0`, i)
	}
	b.WriteByte('}')
	var f *fault.Error
	if err := wire.Decode([]byte(b.String()), &request{}); !errors.As(err, &f) {
		t.Fatal(err)
	}
	if len(f.Fields) != 100 || f.Detail != "250 fields are wrong; the first 100 are listed" {
		t.Errorf("%d fields: %s", len(f.Fields), f.Detail)
	}
}

// hostile are bodies that are not JSON as the contract has it, each with a part
// of the detail that names the fault.
var hostile = map[string]struct{ body, detail string }{
	"nothing":                {"", "empty"},
	"white space":            {" \r\n\t", "empty"},
	"a form":                 {"scope=a&subject=b", "not JSON"},
	"markup":                 {"<a/>", "not JSON"},
	"a truncated object":     {`{"checks":[`, "unexpected EOF"},
	"a truncated text":       {`{"checks":"a`, "unexpected EOF"},
	"a truncated escape":     {`"\u00`, "not JSON"},
	"single quotes":          {`{'checks':[]}`, "not JSON"},
	"a bare name":            {`{checks:[]}`, "not JSON"},
	"a trailing comma":       {`{"checks":[],}`, "not JSON"},
	"a comment":              {`{"checks":[]/**/}`, "not JSON"},
	"NaN":                    {`{"checks":NaN}`, "not JSON"},
	"a leading zero":         {`{"count":01}`, "not JSON"},
	"a plus sign":            {`{"count":+1}`, "not JSON"},
	"a control character":    {"{\"a\":\"\x01\"}", "not JSON"},
	"a byte order mark":      {"\ufeff{}", "not JSON"},
	"a NUL after":            {"{}\x00", "not JSON"},
	"a second value":         {`{"checks":[]} {}`, "follows"},
	"a second value, joined": {`{"checks":[]}[]`, "follows"},
	"a name twice":           {`{"checks":[],"checks":[]}`, `"checks" twice`},
	"a name twice, escaped":  {`{"checks":[],"\u0063hecks":[]}`, `"checks" twice`},
	"a name twice, inside":   {`{"x":[{"a":{"b":1,"b":1}}]}`, `"b" twice`},
	"invalid UTF-8":          {"{\"name\":\"\xff\"}", "UTF-8"},
	"invalid UTF-8 in names": {"{\"\xc3\x28\":1}", "UTF-8"},
	"an overlong form":       {"{\"name\":\"\xc0\xaf\"}", "UTF-8"},
	"UTF-8 of a surrogate":   {"{\"name\":\"\xed\xa0\x80\"}", "UTF-8"},
	"a lone surrogate":       {`{"name":"\ud800"}`, "not JSON"},
	"UTF-16":                 {"{\x00\"\x00a\x00", "not JSON"},
	"33 lists":               {strings.Repeat("[", 33) + strings.Repeat("]", 33), "deeper than 32"},
	"33 objects":             {strings.Repeat(`{"a":`, 33) + "1" + strings.Repeat("}", 33), "deeper than 32"},
	"33 in an unknown field": {`{"x":` + strings.Repeat("[", 32) + strings.Repeat("]", 32) + `}`, "deeper than 32"},
	"a million lists":        {strings.Repeat("[", 1_000_000), "deeper than 32"},
}

func TestDecodeRefusesWhatIsNotJSON(t *testing.T) {
	for name, tc := range hostile {
		t.Run(name, func(t *testing.T) {
			err := wire.Decode([]byte(tc.body), &request{})
			var f *fault.Error
			if !errors.As(err, &f) || f.Code != fault.BadJSON {
				t.Fatalf("got %v", err)
			}
			if !strings.Contains(f.Detail, tc.detail) {
				t.Errorf("detail is %q, want %q in it", f.Detail, tc.detail)
			}
		})
	}
}

func TestDecodeTakesDepth32(t *testing.T) {
	body := `{"checks":[],"any":` + strings.Repeat("[", 31) + strings.Repeat("]", 31) + `}`
	if err := wire.Decode([]byte(body), &request{}); err != nil {
		t.Error(err)
	}
}

func TestOptional(t *testing.T) {
	type patch struct {
		Name wire.Optional[string] `json:"name,omitzero"`
	}
	for body, want := range map[string]string{`{}`: "before", `{"name":null}`: "", `{"name":"after"}`: "after"} {
		var p patch
		if err := wire.Decode([]byte(body), &p); err != nil {
			t.Fatal(err)
		}
		name := "before"
		p.Name.Merge(&name)
		if name != want {
			t.Errorf("%s makes the name %q, want %q", body, name, want)
		}
		if back, err := wire.Encode(p); err != nil || string(back) != body {
			t.Errorf("%s comes back as %s, %v", body, back, err)
		}
	}
	if v, ok := wire.Some(3).Get(); v != 3 || !ok {
		t.Errorf("got %d, %t", v, ok)
	}
	if _, ok := wire.Null[int]().Get(); ok {
		t.Error("null has a value")
	}
}

func TestEncodeShowsEmptyLists(t *testing.T) {
	got, err := wire.Encode(struct {
		Items []string       `json:"items"`
		Map   map[string]int `json:"map"`
	}{Map: map[string]int{"b": 1, "a": 2}})
	if err != nil || string(got) != `{"items":[],"map":{"a":2,"b":1}}` {
		t.Errorf("got %s, %v", got, err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, h := range hostile {
		if len(h.body) < 1000 {
			f.Add([]byte(h.body))
		}
	}
	f.Add([]byte(`{"checks":[{"scope":"a","expires_at":"2026-01-02T03:04:05Z","attempts":1,"share":1e9}],"labels":{"":""},"nested":{"scope":"b"},"secret":"AQ==","count":0}`))
	f.Add([]byte(`{"checks":[],"secret":"A\n","count":-0,"name":{}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var into request
		err := wire.Decode(body, &into)
		if err == nil {
			if _, err := wire.Encode(into); err != nil {
				t.Fatalf("%q is taken and can't be shown: %v", body, err)
			}
			return
		}
		var e *fault.Error
		if !errors.As(err, &e) || (e.Code != fault.BadJSON && e.Code != fault.Invalid) {
			t.Fatalf("%q: %v", body, err)
		}
		if e.Detail == "" || (e.Code == fault.Invalid) != (len(e.Fields) > 0) {
			t.Fatalf("%q: nothing is named: %+v", body, e)
		}
	})
}
