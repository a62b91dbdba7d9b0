package httpapi_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardenhq/warden/shared/fault"
)

func TestQuery(t *testing.T) {
	e := newEdge(t)
	for query, want := range map[string]map[string]string{
		"":                          {},
		"status=on":                 {"status": "on"},
		"target=a+b%20c%2Bd%26":     {"target": "a b c+d&"},
		"target=Zo%C3%AB&status=on": {"target": "Zoë", "status": "on"},
		"cursor=":                   {},
		"cursor=x":                  {"cursor": "x"},
		"&&status=off&":             {"status": "off"},
	} {
		if d := cmp.Diff(want, e.do(request{path: "/v1/things", query: query}).seen(http.StatusOK).Query); d != "" {
			t.Errorf("%q: %s", query, d)
		}
	}
}

func TestLimit(t *testing.T) {
	e := newEdge(t)
	for query, want := range map[string]int{"": 100, "limit=1": 1, "limit=1000": 1000, "limit=007": 7} {
		if got := e.do(request{path: "/v1/things", query: query}).seen(http.StatusOK).Limit; got != want {
			t.Errorf("%q: limit %d, want %d", query, got, want)
		}
	}
}

func TestQueryRefuses(t *testing.T) {
	e := newEdge(t)
	for _, tc := range []struct{ method, query, field string }{
		{"GET", "limit=0", "limit"},
		{"GET", "limit=1001", "limit"},
		{"GET", "limit=-1", "limit"},
		{"GET", "limit=%2B5", "limit"},
		{"GET", "limit=", "limit"},
		{"GET", "limit=ten", "limit"},
		{"GET", "limit=1.0", "limit"},
		{"GET", "limit=99999999999999999999", "limit"},
		{"GET", "limit=1&limit=1", "limit"},
		{"GET", "cursor=&cursor=", "cursor"},
		{"GET", "status=ON", "status"},
		{"GET", "status=", "status"},
		{"GET", "target=", "target"},
		{"GET", "target=%FF", "target"},
		{"GET", "dry_run=true", "dry_run"},
		{"GET", "Limit=1", "Limit"},
		{"GET", "=1", ""},
		{"POST", "limit=1", "limit"},
		{"POST", "dry_run=1", "dry_run"},
		{"POST", "dry_run", "dry_run"},
		{"POST", "dry_run=TRUE", "dry_run"},
		{"POST", "dryrun=true", "dryrun"},
	} {
		body := ""
		if tc.method == "POST" {
			body = `{"name":"n"}`
		}
		p := e.do(request{method: tc.method, path: "/v1/things", query: tc.query, body: body}).problem(http.StatusUnprocessableEntity, fault.Invalid)
		if len(p.Errors) != 1 || p.Errors[0].Field != tc.field || p.Errors[0].Message == "" {
			t.Errorf("%q: %+v", tc.query, p)
		}
	}
	for _, query := range []string{"status=%zz", "status=on;target=x"} {
		e.do(request{path: "/v1/things", query: query}).problem(http.StatusBadRequest, fault.BadRequest)
	}
	p := e.do(request{path: "/v1/things", query: "x=1&limit=0&a=2"}).problem(http.StatusUnprocessableEntity, fault.Invalid)
	if len(p.Errors) != 3 || p.Errors[0].Field != "a" || p.Errors[2].Field != "x" {
		t.Errorf("not all are named, in order: %+v", p.Errors)
	}
}

func TestFlag(t *testing.T) {
	e := newEdge(t)
	for query, want := range map[string]bool{"": false, "dry_run=false": false, "dry_run=true": true} {
		if got := e.do(request{method: "POST", path: "/v1/things", query: query, body: `{"name":"n"}`}).seen(http.StatusCreated).Flag; got != want {
			t.Errorf("%q: %t", query, got)
		}
	}
}
