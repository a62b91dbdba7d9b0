package tabletest

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

var queryPromises = []promise{
	{"QueryPrefix", queryPrefix},
	{"QueryBetween", queryBetween},
	{"QueryDescending", queryDescending},
	{"QueryLimit", queryLimit},
	{"QueryCursor", queryCursor},
	{"QueryCursorBound", queryCursorBound},
	{"QueryPageSize", queryPageSize},
	{"QueryIndex", queryIndex},
	{"QueryNamesPrefix", queryNamesPrefix},
}

// inByteOrder are sort keys as DynamoDB orders them: by UTF-8 bytes, which is
// neither the order of UTF-16 nor of any language.
var inByteOrder = []string{
	"K#", "K#\x00", "K#\x00\x00", "K#\x01", "K# ", `K#"`, "K##", "K##0", "K#%", "K#%0", "K#%1", "K#+", "K#0", "K#10", "K#2", "K#A",
	"K#B", "K#Z", `K#\`, "K#_", "K#a", "K#a#", "K#a#b", "K#a%", "K#aa", "K#ab", "K#b", "K#e\u0301", "K#z", "K#~", "K#\x7f",
	"K#\u00e9", "K#\u00ff", "K#\u0100", "K#Ω", "K#\u2028", "K#日", "K#\ue000", "K#\ufffd", "K#\uffff", "K#\U0001f98a", "K#\U0010ffff",
}

func (w *world) fillKeys(pk string, sks ...string) {
	w.Helper()
	var items []*table.Item
	for _, sk := range sks {
		items = append(items, item(keys.Stored(pk, sk), 1))
	}
	slices.Reverse(items) // never written in the order they are read
	w.fill(items...)
}

func queryPrefix(w *world) {
	w.fillKeys("P", inByteOrder...)
	w.fillKeys("P", "J#z", "K", "L", "L#", "k#a")
	w.fillKeys("P#a", "K#other", "K#a")
	w.fillKeys("Pa", "K#other")
	w.fillKeys("P\x00K#", "K#other")
	w.wantSame(sortKeys(w.all(table.Query{PK: "P", Prefix: "K#", Limit: 1000})), inByteOrder)
	for _, prefix := range []string{"K#a", "K#a#", "K#ab", "K#\x00", "K#%", "K#\u00e9", "K#\uffff", "K#\U0010ffff", "K#none"} {
		want := slices.DeleteFunc(slices.Clone(inByteOrder), func(sk string) bool { return !strings.HasPrefix(sk, prefix) })
		w.wantSame(sortKeys(w.all(table.Query{PK: "P", Prefix: prefix, Limit: 1000, Consistency: table.Strong})), want)
	}

	// No scope's range reaches into a scope whose id begins like it.
	for _, pk := range []string{"SCOPE#a", "SCOPE#ab", "SCOPE#a#b", "SCOPE#a%1b", "SCOPE#A"} {
		w.fillKeys(pk, "ROLE_MEMBER#r#"+pk, "ROLE_MEMBER#rb#"+pk, "ROLE_MEMBER#r")
	}
	for _, it := range w.all(table.Query{PK: "SCOPE#a", Prefix: "ROLE_MEMBER#r#", Limit: 1000}) {
		w.wantSame(it.Key, keys.Stored("SCOPE#a", "ROLE_MEMBER#r#SCOPE#a"))
	}
	for _, pk := range []string{"SCOPE#", "SCOPE", "SCOPE#a#", "SCOPE#b"} {
		w.wantSame(sortKeys(w.all(table.Query{PK: pk, Prefix: "R", Limit: 1000})), []string(nil))
	}
}

func queryBetween(w *world) {
	w.fillKeys("P", inByteOrder...)
	w.fillKeys("Q", "K#a", "K#b")
	for _, r := range [][2]string{
		{"K#a", "K#b"},
		{"K#", "K#\U0010ffff"},
		{"A", "Z"},
		{"K#a", "K#a"},
		{"K#a!", "K#a~"},
		{"K#c", "K#d"},
		{"K#\x7f", "K#\ue000"},
		{"K#\x00", "K#\x00\x00"},
	} {
		want := slices.DeleteFunc(slices.Clone(inByteOrder), func(sk string) bool { return sk < r[0] || sk > r[1] })
		q := table.Query{PK: "P", From: r[0], To: r[1], Limit: 7, Consistency: table.Strong}
		w.wantSame(sortKeys(w.all(q)), want)
		q.Descending = true
		slices.Reverse(want)
		w.wantSame(sortKeys(w.all(q)), want)
	}
}

func queryDescending(w *world) {
	w.fillKeys("P", inByteOrder...)
	w.fillKeys("P", "J", "L")
	want := slices.Clone(inByteOrder)
	slices.Reverse(want)
	for _, limit := range []int{1, 4, 1000} {
		w.wantSame(sortKeys(w.all(table.Query{PK: "P", Prefix: "K#", Descending: true, Limit: limit})), want)
	}
	w.wantSame(sortKeys(w.all(table.Query{PK: "P", Prefix: "K#a", Descending: true, Limit: 2})),
		[]string{"K#ab", "K#aa", "K#a%", "K#a#b", "K#a#", "K#a"})
}

func queryLimit(w *world) {
	w.fillKeys("P", inByteOrder...)
	n := len(inByteOrder)
	for _, limit := range []int{1, 2, n - 1, n, n + 1, 1000} {
		page, err := w.store.Query(w.Context(), table.Query{PK: "P", Prefix: "K#", Limit: limit})
		w.must(err)
		if len(page.Items) != min(limit, n) {
			w.Fatalf("limit %d: %d items", limit, len(page.Items))
		}
		if limit < n && page.Cursor == "" {
			w.Fatalf("limit %d: no cursor, though %d items follow", limit, n-limit)
		}
		if limit > n && page.Cursor != "" {
			w.Fatalf("limit %d: a cursor, though nothing follows", limit)
		}
	}
	for _, limit := range []int{-1, 0, 1001} {
		_, err := w.store.Query(w.Context(), table.Query{PK: "P", Prefix: "K#", Limit: limit})
		w.wantErr(err, table.ErrInvalidQuery)
	}
}

func queryCursor(w *world) {
	w.fillKeys("P", inByteOrder...)
	reversed := slices.Clone(inByteOrder)
	slices.Reverse(reversed)
	for _, limit := range []int{1, 2, 3, 5, len(inByteOrder)} {
		for _, c := range []table.Consistency{table.Eventual, table.Strong} {
			q := table.Query{PK: "P", Prefix: "K#", Limit: limit, Consistency: c}
			w.wantSame(sortKeys(w.all(q)), inByteOrder)
			q.Descending = true
			w.wantSame(sortKeys(w.all(q)), reversed)
		}
	}

	// A cursor is a place, not an item: it holds after its item is gone.
	q := table.Query{PK: "P", Prefix: "K#a", Limit: 2, Consistency: table.Strong}
	page, err := w.store.Query(w.Context(), q)
	w.must(err)
	w.wantSame(sortKeys(page.Items), []string{"K#a", "K#a#"})
	w.write(table.Delete(key("K#a#"), table.Any()), put(item(key("K#a#!"), 1)), put(item(key("K#a!"), 1)))
	q.Cursor = page.Cursor
	w.wantSame(sortKeys(w.all(q)), []string{"K#a#!", "K#a#b", "K#a%", "K#aa", "K#ab"})
}

func queryCursorBound(w *world) {
	w.fillKeys("P", inByteOrder...)
	w.fillKeys("Q", inByteOrder...)
	q := table.Query{PK: "P", Prefix: "K#", Limit: 3}
	page, err := w.store.Query(w.Context(), q)
	w.must(err)
	cursor := page.Cursor
	for name, other := range map[string]table.Query{
		"partition": {PK: "Q", Prefix: "K#", Limit: 3},
		"prefix":    {PK: "P", Prefix: "K", Limit: 3},
		"direction": {PK: "P", Prefix: "K#", Limit: 3, Descending: true},
		"range":     {PK: "P", From: "K#", To: "K#~", Limit: 3},
		"index":     {PK: "P", Prefix: "K#", Limit: 3, Index: keys.GSI1},
	} {
		other.Cursor = cursor
		if _, err := w.store.Query(w.Context(), other); err == nil {
			w.Fatalf("a query of another %s took the cursor", name)
		} else {
			w.wantErr(err, table.ErrBadCursor)
		}
	}
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	w.must(err)
	damaged := []string{"x", "!", cursor[:len(cursor)-1], cursor + "A", strings.ToUpper(cursor) + "a", "null"}
	for i := range raw {
		changed := slices.Clone(raw)
		changed[i] ^= 1
		damaged = append(damaged, base64.RawURLEncoding.EncodeToString(changed))
	}
	for _, q.Cursor = range damaged {
		_, err := w.store.Query(w.Context(), q)
		w.wantErr(err, table.ErrBadCursor)
	}
	q.Cursor, q.Limit = cursor, 2 // another page size is the same query
	page, err = w.store.Query(w.Context(), q)
	w.must(err)
	w.wantSame(sortKeys(page.Items), inByteOrder[3:5])
}

func queryPageSize(w *world) {
	var items []*table.Item
	for i := range 12 {
		items = append(items, sized(key(fmt.Sprintf("K#%02d", i)), 1, 300<<10))
	}
	w.fill(items...)
	for _, descending := range []bool{false, true} {
		pages := w.pages(table.Query{PK: "P", Prefix: "K#", Limit: 1000, Consistency: table.Strong, Descending: descending})
		var all []*table.Item
		for i, page := range pages {
			// 1 MB holds three such items; whether the one that crosses the line is in is the backend's choice.
			if last := i == len(pages)-1; len(page) > 4 || len(page) < 3 && !last {
				w.Fatalf("page %d has %d items of 300 KB", i, len(page))
			}
			all = append(all, page...)
		}
		if descending {
			slices.Reverse(all)
		}
		w.wantSame(all, items)
	}
}

func queryIndex(w *world) {
	for i := range keys.Indexes {
		w.oneIndex(keys.Index(i + 1))
	}
}

func (w *world) oneIndex(index keys.Index) {
	w.Helper()
	pk := "ALL#" + index.String()
	q := table.Query{Index: index, PK: pk, Limit: 2}
	full := func(sk, at string, version uint64) *table.Item {
		it := indexed(item(keys.Stored("T"+index.String(), sk), version), index, pk, at)
		it.Blob, it.Actor, it.RequestID, it.LastEvent = []byte{1}, "user:a", "r", "e"
		return it
	}
	shown := func(items ...*table.Item) []*table.Item {
		var ps []*table.Item
		for _, it := range items {
			ps = append(ps, table.Project(it, index))
		}
		return ps
	}
	b1, a2, a1 := full("1", "b", 1), full("2", "a", 1), full("3", "a#", 1)
	elsewhere := indexed(item(keys.Stored("T"+index.String(), "4"), 1), index, pk+"#", "a")
	w.write(put(b1), put(a2), put(a1), put(elsewhere), put(item(keys.Stored("T"+index.String(), "5"), 1)))
	w.wantSame(w.all(q), shown(a2, a1, b1))
	q.Prefix = "a"
	w.wantSame(w.all(q), shown(a2, a1))
	q.Descending = true
	w.wantSame(w.all(q), shown(a1, a2))
	q = table.Query{Index: index, PK: pk, From: "a#", To: "b", Limit: 1}
	w.wantSame(w.all(q), shown(a1, b1))

	// Items may share an index key; all of them show, and pages pass over none.
	var same []*table.Item
	for i := range 7 {
		same = append(same, full(fmt.Sprintf("SAME#%d", i), "same", 1))
	}
	w.fill(same...)
	got := w.all(table.Query{Index: index, PK: pk, Prefix: "same", Limit: 2})
	slices.SortFunc(got, func(a, b *table.Item) int { return strings.Compare(a.Key.SK(), b.Key.SK()) })
	w.wantSame(got, shown(same...))

	// An index follows the item: moved, taken out, deleted.
	q = table.Query{Index: index, PK: pk, Limit: 10, To: "b#", From: "a"}
	moved, out := full("2", "b#", 2), item(a1.Key, 2)
	w.write(put(moved), put(out), table.Delete(b1.Key, table.Any()))
	w.wantSame(w.all(q), shown(moved))
	q.Consistency = table.Strong
	_, err := w.store.Query(w.Context(), q)
	w.wantErr(err, table.ErrInvalidQuery)
}

func queryNamesPrefix(w *world) {
	w.fillKeys("P", "A", "B")
	for _, q := range []table.Query{
		{PK: "P", Limit: 10},
		{Prefix: "A", Limit: 10},
		{PK: "P", From: "A", Limit: 10},
		{PK: "P", To: "A", Limit: 10},
		{PK: "P", Prefix: "A", From: "A", To: "B", Limit: 10},
		{PK: strings.Repeat("p", keys.MaxPK+1), Prefix: "A", Limit: 10},
		{PK: "P", Prefix: strings.Repeat("s", keys.MaxSK+1), Limit: 10},
		{PK: "P", Prefix: "A", Limit: 10, Index: keys.GSI4 + 1},
	} {
		_, err := w.store.Query(w.Context(), q)
		w.wantErr(err, table.ErrInvalidQuery)
	}
}
