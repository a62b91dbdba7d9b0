package httpapi_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/httpapi"
)

func TestContentTypes(t *testing.T) {
	e := newEdge(t)
	for contentType, ok := range map[string]struct{ put, patch bool }{
		"application/json":                                {true, true},
		"APPLICATION/JSON":                                {true, true},
		"application/json; charset=utf-8":                 {true, true},
		`application/json;charset="UTF-8"`:                {true, true},
		"application/merge-patch+json":                    {false, true},
		"application/merge-patch+json; charset=utf-8":     {false, true},
		"application/json; charset=iso-8859-1":            {},
		"application/json; version=1":                     {},
		"application/json-patch+json":                     {},
		"application/vnd.api+json":                        {},
		"application/x-www-form-urlencoded":               {},
		"multipart/form-data; boundary=x":                 {},
		"text/plain":                                      {},
		"text/json":                                       {},
		"application/json, application/json":              {},
		"application/json; charset=utf-8; charset=utf-16": {},
		"json": {},
		"":     {},
		";":    {},
	} {
		for method, want := range map[string]bool{"PUT": ok.put, "PATCH": ok.patch} {
			a := e.do(request{method: method, path: "/v1/things/old", body: `{"name":"n"}`, header: http.Header{"Content-Type": {contentType}}})
			if !want {
				a.problem(http.StatusUnsupportedMediaType, fault.UnsupportedMediaType)
			} else if a.status != http.StatusOK {
				t.Errorf("%s %q: %d %s", method, contentType, a.status, a.body)
			}
		}
	}
	a := e.do(request{method: "PUT", path: "/v1/things/old", body: `{"name":"n"}`, header: http.Header{"Content-Type": nil}})
	a.problem(http.StatusUnsupportedMediaType, fault.UnsupportedMediaType)
	a = e.do(request{method: "PUT", path: "/v1/things/old", body: `{"name":"n"}`, header: http.Header{"Content-Encoding": {"gzip"}}})
	a.problem(http.StatusUnsupportedMediaType, fault.UnsupportedMediaType)
}

func TestBodies(t *testing.T) {
	e := newEdge(t)
	deep := func(n int) string {
		return `{"name":"n","tags":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + `}`
	}
	for name, tc := range map[string]struct {
		body   string
		code   fault.Code
		fields []string
	}{
		"none":                {"", fault.BadJSON, nil},
		"a form":              {"name=n", fault.BadJSON, nil},
		"truncated":           {`{"name":"n"`, fault.BadJSON, nil},
		"two values":          {`{"name":"n"}{}`, fault.BadJSON, nil},
		"a name twice":        {`{"name":"n","name":"n"}`, fault.BadJSON, nil},
		"invalid UTF-8":       {"{\"name\":\"\xff\"}", fault.BadJSON, nil},
		"33 deep":             {deep(33), fault.BadJSON, nil},
		"32 deep, wrong type": {deep(32), fault.Invalid, []string{"tags[0]"}},
		"a list":              {`[]`, fault.Invalid, []string{"body"}},
		"null":                {`null`, fault.Invalid, []string{"body"}},
		"an unknown field":    {`{"name":"n","nmae":1}`, fault.Invalid, []string{"nmae"}},
		"wrong types":         {`{"name":1,"until":"2026-01-01T00:00:00","tags":[{"key":"k"},{"key":false}]}`, fault.Invalid, []string{"name", "until", "tags[1].key"}},
		"a field that lacks":  {`{}`, fault.Invalid, []string{"name"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := e.do(request{method: "PUT", path: "/v1/things/old", body: tc.body}).problem(httpapi.Status(tc.code), tc.code)
			if p.Detail == "" || len(p.Errors) != len(tc.fields) {
				t.Fatalf("got %+v", p)
			}
			for i, f := range tc.fields {
				if p.Errors[i].Field != f || p.Errors[i].Message == "" {
					t.Errorf("field %d is %+v, want %s", i, p.Errors[i], f)
				}
			}
		})
	}
}

func TestBodyLimit(t *testing.T) {
	e := newEdge(t)
	frame := len(`{"name":""}`)
	exact := `{"name":"` + strings.Repeat("x", httpapi.MaxBody-frame) + `"}`
	if got := e.do(request{method: "PUT", path: "/v1/things/old", body: exact}).seen(http.StatusOK); len(got.Name) != httpapi.MaxBody-frame {
		t.Errorf("%d bytes arrived", len(got.Name))
	}
	e.do(request{method: "PUT", path: "/v1/things/old", body: exact + " "}).problem(http.StatusRequestEntityTooLarge, fault.TooLarge)
}

func TestReadBody(t *testing.T) {
	broken := errors.New("reset by peer")
	for name, tc := range map[string]struct {
		body   io.Reader
		length int64
		want   fault.Code
	}{
		"as long as allowed":      {strings.NewReader("12345678"), 8, ""},
		"a length that is too":    {strings.NewReader(""), 9, fault.TooLarge},
		"too long, length hidden": {strings.NewReader("123456789"), -1, fault.TooLarge},
		"a broken connection":     {iotest.ErrReader(broken), -1, fault.BadRequest},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", tc.body)
		r.ContentLength = tc.length
		_, err := httpapi.ReadBody(httptest.NewRecorder(), r, 8)
		if got := fault.CodeOf(err); got != tc.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
	r.Body = nil
	if b, err := httpapi.ReadBody(httptest.NewRecorder(), r, 8); err != nil || len(b) != 0 {
		t.Errorf("no body: %q, %v", b, err)
	}
}

func TestOptionalBody(t *testing.T) {
	e := newEdge(t)
	var got thing
	for body, want := range map[string]string{"": "overlap ", `{}`: "overlap ", `{"overlap":"24h"}`: "overlap 24h"} {
		e.do(request{method: "POST", path: "/v1/things/x/rotate", body: body}).into(&got)
		if got.Name != want {
			t.Errorf("%q: %+v", body, got)
		}
	}
	e.do(request{method: "POST", path: "/v1/things/x/rotate", body: " "}).problem(http.StatusBadRequest, fault.BadJSON)
}

func TestBodiesOfMethodsWithoutOneAreIgnored(t *testing.T) {
	e := newEdge(t)
	for _, method := range []string{"GET", "DELETE"} {
		a := e.do(request{method: method, path: "/v1/things/x", body: "not JSON", header: http.Header{"Content-Type": {"text/plain"}}})
		if a.status >= 300 {
			t.Errorf("%s: %d %s", method, a.status, a.body)
		}
	}
}

func TestMergePatch(t *testing.T) {
	e := newEdge(t)
	var got thing
	for body, want := range map[string]string{`{}`: "before", `{"name":null}`: "", `{"name":"after"}`: "after"} {
		e.do(request{method: "PATCH", path: "/v1/things/x", body: body}).into(&got)
		if got.Name != want {
			t.Errorf("%s: the name is %q, want %q", body, got.Name, want)
		}
	}
}
