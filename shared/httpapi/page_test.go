package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/httpapi"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/table/weak/memory"
)

const orgCount = 250

// pages serves lists of orgs: one per way of walking through a query.
func pages(t *testing.T) *edge {
	t.Helper()
	store := memory.New(time.Now)
	for i := range orgCount {
		org := rbac.Must(rbac.ParseOrgID(fmt.Sprintf("o%03d", i)))
		it := &table.Item{Key: keys.Org(org).Raw(), Type: "Org", Version: 1, Format: 1, Body: []byte(fmt.Sprintf("%03d", i))}
		it.Index[keys.GSI1-1] = keys.OrgByName("name of "+org.String(), org)
		scope := rbac.Must(rbac.ParseScopeID("s"))
		role := rbac.Must(rbac.ParseRoleID(org.String()))
		inTable := &table.Item{Key: keys.Role(scope, role).Raw(), Type: "Role", Version: 1, Format: 1, Body: it.Body}
		tx := table.Tx{Ops: []table.Op{table.Put(it, table.Absent()), table.Put(inTable, table.Absent())}}
		if err := store.Transact(t.Context(), tx); err != nil {
			t.Fatal(err)
		}
	}
	orgs, roles := keys.OrgsByName(), keys.Roles(rbac.Must(rbac.ParseScopeID("s")))
	byName := table.Query{Index: orgs.Index(), PK: orgs.PK(), Prefix: orgs.Prefix()}
	byKey := table.Query{Index: roles.Index(), PK: roles.PK(), Prefix: roles.Prefix()}
	list := func(name string, q table.Query, show func(*table.Item) (string, bool, error)) httpapi.Endpoint {
		return httpapi.Bind(httpapi.Route{
			Name: name, Method: http.MethodGet, Pattern: "/" + name, Permission: httpapi.Public, Success: []int{http.StatusOK}, List: true,
		}, func(ctx context.Context, c *httpapi.Call, _ httpapi.None) (httpapi.Reply[httpapi.Page[string]], error) {
			p, err := httpapi.ReadPage(ctx, c, store, q, show)
			return httpapi.Reply[httpapi.Page[string]]{Body: p}, err
		})
	}
	all := func(it *table.Item) (string, bool, error) { return string(it.Body), true, nil }
	large := func(it *table.Item) (string, bool, error) {
		text := string(it.Body)
		if text < "020" {
			text += strings.Repeat("x", 300_000)
		}
		return text, true, nil
	}
	rare := func(it *table.Item) (string, bool, error) {
		return string(it.Body), strings.HasSuffix(string(it.Body), "9"), nil
	}
	none := func(*table.Item) (string, bool, error) { return "", false, nil }
	down := byName
	down.Descending = true
	router, err := httpapi.NewRouter(
		httpapi.Config{Log: slog.New(slog.DiscardHandler)},
		list("all", byName, all), list("roles", byKey, all), list("large", byName, large), list("large-roles", byKey, large),
		list("rare", byName, rare), list("none", byName, none), list("down", down, all),
	)
	if err != nil {
		t.Fatal(err)
	}
	return &edge{t: t, handler: router}
}

type page struct {
	Items      []string `json:"items"`
	NextCursor *string  `json:"next_cursor"`
}

// walk reads all pages of a list.
func (e *edge) walk(list, limit string) []page {
	e.t.Helper()
	var all []page
	cursor := ""
	for range 1000 {
		query := "limit=" + limit + "&cursor=" + cursor
		a := e.do(request{path: "/" + list, query: query})
		if a.status != http.StatusOK {
			e.t.Fatalf("%s?%s: %d %s", list, query, a.status, a.body)
		}
		if len(a.body) > httpapi.MaxAnswer {
			e.t.Fatalf("an answer of %d bytes", len(a.body))
		}
		var p page
		a.into(&p)
		if p.Items == nil {
			e.t.Fatalf("items is null: %s", a.body)
		}
		all = append(all, p)
		if p.NextCursor == nil {
			return all
		}
		cursor = *p.NextCursor
		if cursor == "" || len(cursor) > 1024 {
			e.t.Fatalf("the cursor has %d bytes", len(cursor))
		}
	}
	e.t.Fatalf("%s does not end", list)
	return nil
}

func TestPagesAreTheWhole(t *testing.T) {
	e := pages(t)
	for _, tc := range []struct {
		list, limit string
		first       int // items on the first page
		want        func(i int) bool
		down        bool
	}{
		{"all", "7", 7, func(int) bool { return true }, false},
		{"all", "125", 125, func(int) bool { return true }, false},
		{"all", "1000", 250, func(int) bool { return true }, false},
		{"roles", "7", 7, func(int) bool { return true }, false},
		{"down", "99", 99, func(int) bool { return true }, true},
		{"rare", "3", 3, func(i int) bool { return i%10 == 9 }, false},
		{"none", "5", 0, func(int) bool { return false }, false},
		{"large", "1000", 13, func(int) bool { return true }, false},
		{"large-roles", "20", 13, func(int) bool { return true }, false},
	} {
		t.Run(tc.list+" by "+tc.limit, func(t *testing.T) {
			var got, want []string
			all := e.walk(tc.list, tc.limit)
			if n := len(all[0].Items); n != tc.first {
				t.Errorf("the first page has %d items, want %d", n, tc.first)
			}
			for _, p := range all {
				for _, it := range p.Items {
					got = append(got, it[:3])
				}
			}
			for i := range orgCount {
				if tc.down {
					i = orgCount - 1 - i
				}
				if tc.want(i) {
					want = append(want, fmt.Sprintf("%03d", i))
				}
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// A list whose filter matches little is read in large steps, and in a bounded
// number of them.
func TestPageReads(t *testing.T) {
	e := pages(t)
	for query, want := range map[string]string{"/none?limit=1": "ops=2;", "/rare?limit=5": "ops=2;", "/all?limit=5": "ops=1;"} {
		path, q, _ := strings.Cut(query, "?")
		if got := e.do(request{path: path, query: q}).header.Get("X-Warden-Cost"); !strings.HasPrefix(got, want) {
			t.Errorf("%s: cost %q, want %q", query, got, want)
		}
	}
}

// endless is a store whose pages are short and never the last.
type endless struct {
	table.Reader
	reads int
}

func (s *endless) Query(context.Context, table.Query) (table.Page, error) {
	s.reads++
	return table.Page{Cursor: fmt.Sprintf("after %d", s.reads)}, nil
}

func TestPageReadsAreBounded(t *testing.T) {
	store := &endless{}
	router, err := httpapi.NewRouter(httpapi.Config{Log: slog.New(slog.DiscardHandler)}, httpapi.Bind(httpapi.Route{
		Name: "x", Method: http.MethodGet, Pattern: "/x", Permission: httpapi.Public, Success: []int{http.StatusOK}, List: true,
	}, func(ctx context.Context, c *httpapi.Call, _ httpapi.None) (httpapi.Reply[httpapi.Page[string]], error) {
		p, err := httpapi.ReadPage(ctx, c, store, table.Query{}, func(*table.Item) (string, bool, error) { return "", true, nil })
		return httpapi.Reply[httpapi.Page[string]]{Body: p}, err
	}))
	if err != nil {
		t.Fatal(err)
	}
	var got page
	(&edge{t: t, handler: router}).do(request{path: "/x"}).into(&got)
	if store.reads != 10 || got.NextCursor == nil || *got.NextCursor != "after 10" {
		t.Errorf("%d reads, %v", store.reads, got)
	}
}

func TestForeignCursors(t *testing.T) {
	e := pages(t)
	cursor := *e.walk("all", "7")[0].NextCursor
	for list, c := range map[string]string{
		"all": "x" + cursor, "roles": cursor, "down": cursor, "none": "AAAA", "rare": "%00", "large": cursor[:len(cursor)-2],
	} {
		e.do(request{path: "/" + list, query: "cursor=" + c}).problem(http.StatusBadRequest, fault.BadCursor)
	}
}

func TestEmptyPage(t *testing.T) {
	p, err := json.Marshal(page{Items: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	last := pages(t).do(request{path: "/none", query: "limit=1000"})
	if got, want := string(last.body), strings.Replace(string(p), `,"next_cursor":null`, "", 1); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
