package httpapi_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/wardenhq/warden/shared/httpapi"
)

func TestAccept(t *testing.T) {
	route := httpapi.Route{
		Name: "lines", Method: http.MethodGet, Pattern: "/lines", Permission: httpapi.Public, Success: []int{http.StatusOK},
		Produces: []string{"application/x-ndjson", "text/csv"},
	}
	got := ""
	e := httpapi.Bind(route, func(_ context.Context, c *httpapi.Call, _ httpapi.None) (httpapi.Reply[map[string]string], error) {
		got = c.Accepts()
		if got == "text/csv" {
			return httpapi.Reply[map[string]string]{Raw: &httpapi.Raw{MediaType: "text/csv; header=absent", Body: []byte("a,b\n")}, Next: "/lines?cursor=x"}, nil
		}
		return httpapi.Reply[map[string]string]{Body: map[string]string{"a": "b"}}, nil
	})
	router, err := httpapi.NewRouter(httpapi.Config{Log: slog.New(slog.DiscardHandler)}, e)
	if err != nil {
		t.Fatal(err)
	}
	for accept, want := range map[string]string{
		"":                                       "application/json",
		"*/*":                                    "application/json",
		"text/html":                              "application/json",
		"text/csv":                               "text/csv",
		"Text/CSV":                               "text/csv",
		"text/*":                                 "text/csv",
		"application/x-ndjson":                   "application/x-ndjson",
		"application/json, application/x-ndjson": "application/json",
		"application/json;q=0.5, application/x-ndjson":      "application/x-ndjson",
		"application/*;q=0.1, application/x-ndjson;q=0":     "application/json",
		"text/csv;q=0.9, application/x-ndjson;q=0.8, */*;q": "text/csv",
		"text/csv;q=nonsense, ;;":                           "application/json",
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/lines", nil)
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		router.ServeHTTP(w, r)
		if got != want {
			t.Errorf("%q: %s, want %s", accept, got, want)
		}
		media, body, link := "application/json", `{"a":"b"}`, ""
		if want == "text/csv" {
			media, body, link = "text/csv; header=absent", "a,b\n", `</lines?cursor=x>; rel="next"`
		}
		if w.Header().Get("Content-Type") != media || w.Body.String() != body || w.Header().Get("Link") != link {
			t.Errorf("%q: %v %s", accept, w.Header(), w.Body)
		}
	}
}
