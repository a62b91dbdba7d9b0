package audit_test

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/events/chain"
	trail "github.com/wardenhq/warden/shared/audit"
	"github.com/wardenhq/warden/shared/instant"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/write/writetest"
)

func seqs(all []events.Event) (got []uint64) {
	for _, e := range all {
		got = append(got, e.Seq)
	}
	return got
}

func TestListsGoByCursors(t *testing.T) {
	w := newWorld(t)
	acme := w.Provision("acme", nil)
	w.busy(acme, 25)
	w.drain()
	var down, up []uint64
	for n := uint64(1); n <= 25; n++ {
		up, down = append(up, n), append(down, 26-n)
	}
	for _, limit := range []int{1, 7, 24, 25, 26, 1000} {
		for path, want := range map[string][]uint64{
			"/v1/scopes/acme/audit?limit=%d":           down,
			"/v1/scopes/acme/audit?limit=%d&order=asc": up,
			"/v1/orgs/acme/audit?limit=%d":             append(slices.Clone(down), 1), // and the org's creation, the first of its own chain
			"/v1/orgs/acme/audit?limit=%d&order=asc":   append([]uint64{1}, up...),
		} {
			path = fmt.Sprintf(path, limit)
			if got := seqs(w.all(acme.Text, path)); !slices.Equal(got, want) {
				t.Errorf("%s: %v", path, got)
			}
			if p := w.get(acme.Text, path).page(); len(p.Items) > limit {
				t.Errorf("%s: %d items", path, len(p.Items))
			}
		}
	}
}

// A list that is read while events come shows each of those that were there once.
func TestListsWhileEventsCome(t *testing.T) {
	w := newWorld(t)
	acme := w.Provision("acme", nil)
	w.busy(acme, 10)
	w.drain()
	first := w.get(acme.Text, "/v1/scopes/acme/audit?limit=4").page()
	w.busy(acme, 5)
	w.drain()
	second := w.get(acme.Text, "/v1/scopes/acme/audit?limit=10&cursor="+first.NextCursor).page()
	if got := append(seqs(first.Items), seqs(second.Items)...); !slices.Equal(got, []uint64{10, 9, 8, 7, 6, 5, 4, 3, 2, 1}) {
		t.Errorf("got %v", got)
	}
}

func TestFilters(t *testing.T) {
	w := newWorld(t)
	acme := w.Provision("acme", nil)
	acme.Role("reader", nil)
	w.drain()
	w.Clock.Advance(40 * 24 * time.Hour)
	middle := w.Clock.Now()
	acme.Role("writer", nil)
	acme.Assign("al/ice", "reader")
	w.drain()
	w.Clock.Advance(40 * 24 * time.Hour)
	acme.Assign("bob", "reader")
	acme.NewScope("second").Role("reader", nil)
	w.drain()
	at := func(d time.Duration) string { return url.QueryEscape(instant.At(middle.Add(d)).String()) }
	for query, want := range map[string][]string{
		"":                                 {"policy.created bob", "policy.created al/ice", "role.created writer", "role.created reader"},
		"action=role.created":              {"role.created writer", "role.created reader"},
		"action=role.*":                    {"role.created writer", "role.created reader"},
		"action=rol.*":                     {},
		"action=*":                         {"policy.created bob", "policy.created al/ice", "role.created writer", "role.created reader"},
		"target=policy/al/ice":             {"policy.created al/ice"},
		"target=role/bob":                  {},
		"actor=test":                       {"policy.created bob", "policy.created al/ice", "role.created writer", "role.created reader"},
		"actor=someone":                    {},
		"from=" + at(0):                    {"policy.created bob", "policy.created al/ice", "role.created writer"},
		"to=" + at(0):                      {"policy.created al/ice", "role.created writer", "role.created reader"},
		"to=" + at(-1):                     {"role.created reader"},
		"from=" + at(0) + "&to=" + at(0):   {"policy.created al/ice", "role.created writer"},
		"from=" + at(1) + "&action=role.*": {},
		"from=" + at(0) + "&to=" + at(0) + "&action=role.*&actor=test&target=role/writer&order=asc": {"role.created writer"},
	} {
		for _, limit := range []string{"", "&limit=1"} {
			got := []string{}
			for _, e := range w.all(acme.Text, "/v1/scopes/acme/audit?"+query+limit) {
				got = append(got, e.Type+" "+e.Target.ID)
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("scope, %s%s: %q, want %q", query, limit, got, want)
			}
		}
		n := 0
		for _, e := range w.all(acme.Text, "/v1/orgs/acme/audit?"+query) {
			if e.Scope != nil && *e.Scope == "acme" {
				n++
			}
		}
		if n != len(want) {
			t.Errorf("org, %s: %d events of the scope, want %d", query, n, len(want))
		}
	}
	all := w.all(acme.Text, "/v1/orgs/acme/audit?order=asc")
	if len(all) != 7 {
		t.Errorf("the org's log has %d events", len(all))
	}
}

// Times of events can be out of order; none is lost at the ends of a span.
func TestEventsRecordedLate(t *testing.T) {
	w := newWorld(t)
	acme := w.Provision("acme", nil)
	committed := w.Clock.Now()
	acme.Assign("late", "admin")
	w.Clock.Advance(13 * 24 * time.Hour) // the stream was away
	acme.Assign("now", "admin")
	w.drain()
	w.Clock.Advance(60 * 24 * time.Hour)
	acme.Assign("much later", "admin")
	w.drain()
	span := "?from=" + url.QueryEscape(instant.At(committed).String()) + "&to=" + url.QueryEscape(instant.At(committed.Add(time.Hour)).String())
	for _, path := range []string{"/v1/scopes/acme/audit", "/v1/orgs/acme/audit"} {
		if got := w.all(acme.Text, path+span+"&action=policy.*"); len(got) != 1 || got[0].Target.ID != "late" {
			t.Errorf("%s: %+v", path, got)
		}
	}
}

// A clock that goes back does not take the order of an org's log along.
func TestOrderOfAnOrgIsTheOrderOfItsChains(t *testing.T) {
	w := newWorld(t)
	acme := w.Provision("acme", nil)
	second := acme.NewScope("second")
	second.Role("admin", nil)
	for i := range 12 {
		w.busy(acme, 2)
		w.busy(second, 1)
		w.drain()
		w.Clock.Advance(time.Duration(i%3-1) * time.Hour)
	}
	of := map[chain.ID][]string{}
	export := w.lines(acme.Text, "/v1/orgs/acme/audit?order=asc")
	all := w.all(acme.Text, "/v1/orgs/acme/audit?order=asc&limit=5")
	for i, line := range slices.Collect(strings.Lines(export)) {
		id := chain.Of(&all[i])
		of[id] = append(of[id], line)
	}
	if len(of) != 3 {
		t.Errorf("chains %v", len(of))
	}
	for id, lines := range of {
		if _, err := chain.Verify(each(strings.Join(lines, "")), chain.Expectation{Chain: id}); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// One request's work is bounded: a filter that matches little gives a short page.
func TestWorkIsBounded(t *testing.T) {
	w := newWorld(t)
	acme := w.Provision("acme", nil)
	w.busy(acme, 50)
	w.drain()
	id := trail.ID{Org: acme.Key.Org, Scope: acme.Scope.ID}
	log := &trail.Log{Table: w.Table, Clock: w.Clock}
	for _, how := range []trail.How{{Page: 3, Queries: 4}, {Ascending: true, Page: 3, Queries: 4}} {
		whole, err := log.ChainWindow(t.Context(), id, trail.Span{})
		w.Must(err)
		inChain, err := log.Chain(id, whole, how)
		w.Must(err)
		inOrg, err := log.Org(id.Org, log.OrgWindow(writetest.Start, trail.Span{}), how)
		w.Must(err)
		for name, r := range map[string]trail.Reading{"chain": inChain, "org": inOrg} {
			var m table.Meter
			n := 0
			for {
				_, ok, err := r.Next(table.WithMeter(t.Context(), &m))
				w.Must(err)
				if !ok {
					break
				}
				n++
			}
			if _, more := r.Rest(); m.Cost().Ops != how.Queries || n > how.Page*how.Queries || !more {
				t.Errorf("%s: %d events for %s, more: %v", name, n, m.Cost(), more)
			}
		}
	}
}

// Months without events are passed, and many of them take several requests.
func TestManyEmptyMonths(t *testing.T) {
	w := newWorld(t)
	acme := w.Provision("acme", nil)
	w.drain()
	w.Clock.Advance(3 * 365 * 24 * time.Hour)
	first := w.get(acme.Text, "/v1/orgs/acme/audit").page()
	if len(first.Items) != 0 || first.NextCursor == "" {
		t.Errorf("the first page has %d events, cursor %q", len(first.Items), first.NextCursor)
	}
	for _, order := range []string{"asc", "desc"} {
		if got := w.all(acme.Text, "/v1/orgs/acme/audit?order="+order); len(got) != 1 {
			t.Errorf("%s: %d events", order, len(got))
		}
	}
}

func TestBadCursors(t *testing.T) {
	w := newWorld(t)
	acme := w.Provision("acme", nil)
	w.busy(acme, 5)
	w.drain()
	good := w.get(acme.Text, "/v1/scopes/acme/audit?limit=2").page().NextCursor
	inOrg := w.get(acme.Text, "/v1/orgs/acme/audit?limit=2").page().NextCursor
	for name, path := range map[string]string{
		"damaged":                "/v1/scopes/acme/audit?cursor=" + good[:len(good)-3] + "AAA",
		"short":                  "/v1/scopes/acme/audit?cursor=AAAA",
		"no base64":              "/v1/scopes/acme/audit?cursor=*",
		"of another order":       "/v1/scopes/acme/audit?order=asc&cursor=" + good,
		"of another filter":      "/v1/scopes/acme/audit?actor=x&cursor=" + good,
		"of a scope, for an org": "/v1/orgs/acme/audit?cursor=" + good,
		"of an org, for a scope": "/v1/scopes/acme/audit?cursor=" + inOrg,
	} {
		if a := w.get(acme.Text, path); a.status != http.StatusBadRequest || !strings.Contains(a.body, `"bad-cursor"`) {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	if len(good) > 1024 || len(inOrg) > 1024 {
		t.Errorf("cursors of %d and %d bytes", len(good), len(inOrg))
	}
}

func TestBadQueries(t *testing.T) {
	w := newWorld(t)
	acme := w.Provision("acme", nil)
	for query, field := range map[string]string{
		"?from=yesterday": "from",
		"?to=2026-01-01":  "to",
		"?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z": "to",
		"?action=.*":                    "action",
		"?action=ro*le":                 "action",
		"?target=role":                  "target",
		"?target=/x":                    "target",
		"?target=role/":                 "target",
		"?order=up":                     "order",
		"?unknown=1":                    "unknown",
		"/proof":                        "from_seq",
		"/proof?from_seq=0&to_seq=1":    "from_seq",
		"/proof?from_seq=1&to_seq=x":    "to_seq",
		"/proof?from_seq=2&to_seq=1":    "to_seq",
		"/proof?from_seq=1&to_seq=1001": "to_seq",
	} {
		for _, path := range []string{"/v1/scopes/acme/audit", "/v1/orgs/acme/audit"} {
			a := w.get(acme.Text, path+query)
			if a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, `"field":"`+field+`"`) {
				t.Errorf("%s%s: %d %s", path, query, a.status, a.body)
			}
		}
	}
}

func TestCSV(t *testing.T) {
	w := newWorld(t)
	acme := w.Provision("acme", nil)
	for _, subject := range []string{"=1+1", "+x", "-x", "@x", "plain", `quo"te, comma`, "'already"} {
		acme.Assign(subject, "admin")
	}
	w.drain()
	var rows [][]string
	path := "/v1/scopes/acme/audit?order=asc&limit=3"
	for n := 0; path != ""; n++ {
		a := w.get(acme.Text, path, "Accept", "text/csv").is(http.StatusOK)
		if want := "text/csv; charset=utf-8; header=" + map[bool]string{true: "present", false: "absent"}[n == 0]; a.header.Get("Content-Type") != want {
			t.Errorf("content type %s, want %s", a.header.Get("Content-Type"), want)
		}
		part, err := csv.NewReader(strings.NewReader(a.body)).ReadAll()
		w.Must(err)
		rows = append(rows, part...)
		path, _, _ = strings.Cut(strings.TrimPrefix(a.header.Get("Link"), "<"), ">")
	}
	id := slices.Index(rows[0], "target_id")
	var got []string
	for _, row := range rows[1:] {
		got = append(got, row[id])
		for _, cell := range row {
			if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
				t.Errorf("a spreadsheet would compute %q", cell)
			}
		}
	}
	if want := []string{"'=1+1", "'+x", "'-x", "'@x", "plain", `quo"te, comma`, "'already"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if rows[1][0] != "1" || len(rows[1][len(rows[1])-1]) != 64 {
		t.Errorf("row %q", rows[1])
	}
}

// An answer has whole lines up to 4 MB, and links to what follows.
func TestExportsComeInParts(t *testing.T) {
	w := newWorld(t)
	acme := w.Provision("acme", nil)
	long := strings.Repeat("x", 120)
	for i := range 60 { // each shows 30 KB
		permissions := make([]string, 200)
		for j := range permissions {
			permissions[j] = fmt.Sprintf("%s:%d", long, j)
			if i == 0 {
				acme.PermissionAs(permissions[j], "r", fmt.Sprint(j), "allow")
			}
		}
		acme.Role(fmt.Sprintf("role-%d", i), permissions[:120])
	}
	w.drain()
	path, whole, parts := "/v1/scopes/acme/audit?order=asc", "", 0
	for path != "" {
		a := w.get(acme.Text, path, "Accept", "application/x-ndjson").is(http.StatusOK)
		if len(a.body) > 4_000_000 || !strings.HasSuffix(a.body, "}\n") || a.header.Get("Content-Type") != "application/x-ndjson" {
			t.Fatalf("%d bytes of %s", len(a.body), a.header.Get("Content-Type"))
		}
		whole, parts = whole+a.body, parts+1
		path, _, _ = strings.Cut(strings.TrimPrefix(a.header.Get("Link"), "<"), ">")
	}
	if head := w.verified(whole, chain.Expectation{}); head.Seq != 260 {
		t.Errorf("seq %d", head.Seq)
	}
	if want := (len(whole) + 3_999_999) / 4_000_000; parts < want || parts > want+1 {
		t.Errorf("%d parts for %d bytes", parts, len(whole))
	}
	items := 0
	for cursor, n := "", 0; n == 0 || cursor != ""; n++ {
		a := w.get(acme.Text, "/v1/scopes/acme/audit?limit=1000&cursor="+cursor)
		if len(a.body) > 5_000_000 {
			t.Errorf("a page of %d bytes", len(a.body))
		}
		p := a.page()
		items += len(p.Items)
		cursor = p.NextCursor
	}
	if items != 260 {
		t.Errorf("%d items", items)
	}
}

func TestProof(t *testing.T) {
	w := newWorld(t)
	acme := w.Provision("acme", nil)
	w.busy(acme, 4)
	w.drain()
	w.Clock.Advance(time.Hour)
	w.Must(w.audit.Checkpoint(t.Context(), w.Clock.Now()))
	w.busy(acme, 4)
	w.drain()
	w.Clock.Advance(time.Hour)
	w.Must(w.audit.Checkpoint(t.Context(), w.Clock.Now()))
	w.Clock.Advance(time.Hour)
	w.Must(w.audit.Checkpoint(t.Context(), w.Clock.Now()))
	for query, want := range map[string]struct{ counts, hashes int }{
		"from_seq=2&to_seq=3":   {2, 2}, // no checkpoint before 3; the one at 4, and the newest
		"from_seq=1&to_seq=4":   {2, 4}, // the one at 4 is both before and after
		"from_seq=5&to_seq=6":   {3, 2},
		"from_seq=8&to_seq=900": {1, 1},
	} {
		p := w.proofOf("/v1/scopes/acme/audit/proof?" + query)
		if len(p.Checkpoints) != want.counts || len(p.Hashes) != want.hashes {
			t.Errorf("%s: %d checkpoints, %d hashes, want %+v", query, len(p.Checkpoints), len(p.Hashes), want)
		}
		for i := 1; i < len(p.Hashes); i++ {
			if p.Hashes[i].PreviousHash != p.Hashes[i-1].Hash {
				t.Errorf("%s: %+v", query, p.Hashes)
			}
		}
	}
	if p := w.proofOf("/v1/orgs/acme/audit/proof?from_seq=1&to_seq=1"); p.Scope != nil || len(p.Hashes) != 1 || p.Checkpoints[0].ID() != (chain.ID{Org: "acme"}) {
		t.Errorf("%+v", p)
	}
}
