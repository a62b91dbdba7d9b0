package table_test

import (
	"encoding/base64"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

func TestCursorRoundTrip(t *testing.T) {
	for name, c := range map[string]struct {
		q table.Query
		p table.Position
	}{
		"table":        {table.Query{PK: "P", Prefix: "A#"}, table.Position{SK: "A#x"}},
		"the prefix":   {table.Query{PK: "P", Prefix: "A#"}, table.Position{SK: "A#"}},
		"between":      {table.Query{PK: "P", From: "a", To: "c"}, table.Position{SK: "b"}},
		"descending":   {table.Query{PK: "P", Prefix: "é", Descending: true}, table.Position{SK: "é\x00\n"}},
		"index":        {table.Query{Index: keys.GSI3, PK: "I"}, table.Position{SK: "s", Base: keys.Stored("P", "S")}},
		"index prefix": {table.Query{Index: keys.GSI1, PK: "I", Prefix: "s"}, table.Position{SK: "s", Base: keys.Stored("P", "S")}},
	} {
		c.q.Cursor = table.EncodeCursor(c.q, c.p)
		if got, ok, err := table.DecodeCursor(c.q); got != c.p || !ok || err != nil {
			t.Errorf("%s: %+v, %v, %v", name, got, ok, err)
		}
	}
	if p, ok, err := table.DecodeCursor(table.Query{PK: "P", Prefix: "A"}); ok || err != nil || p != (table.Position{}) {
		t.Errorf("no cursor: %+v, %v, %v", p, ok, err)
	}
}

func TestCursorPositionsOutsideTheQuery(t *testing.T) {
	for name, c := range map[string]struct {
		q table.Query
		p table.Position
	}{
		"past the range":        {table.Query{PK: "P", From: "a", To: "c"}, table.Position{SK: "d"}},
		"before the range":      {table.Query{PK: "P", From: "b", To: "c"}, table.Position{SK: "a"}},
		"an index without base": {table.Query{Index: keys.GSI1, PK: "P"}, table.Position{SK: "d"}},
		"a table with base":     {table.Query{PK: "P", Prefix: "d"}, table.Position{SK: "d", Base: keys.Stored("P", "d")}},
	} {
		c.q.Cursor = table.EncodeCursor(c.q, c.p)
		if _, ok, err := table.DecodeCursor(c.q); ok || !errors.Is(err, table.ErrBadCursor) {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
	}
}

// longID draws an escaped id of that many bytes before escaping. Letters are as
// poor to pack as ids allow; separators are twice as long once escaped.
func longID(rnd *rand.Rand, bytes int, separators float64) string {
	var b strings.Builder
	for range bytes {
		if rnd.Float64() < separators {
			b.WriteString([]string{"%0", "%1"}[rnd.IntN(2)])
		} else {
			b.WriteByte(byte('&' + rnd.IntN('~'-'&'+1)))
		}
	}
	return b.String()
}

// TestCursorLength holds the contract's 1 KB for the longest ids: 128 bytes,
// 256 for subjects and resources, twice that when every byte is escaped.
func TestCursorLength(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, separators := range []float64{0, 0.1, 0.3, 0.5, 0.7, 0.9, 1} {
		id := func(n int) string { return longID(rnd, n, separators) }
		org, scope, role, user, group := id(128), id(128), id(128), id(256), id(128)
		for name, c := range map[string]struct {
			q table.Query
			p table.Position
		}{
			"members of a role": {
				table.Query{PK: "SCOPE#" + scope, Prefix: "ROLE_MEMBER#" + role + "#"},
				table.Position{SK: "ROLE_MEMBER#" + role + "#" + user},
			},
			"scopes of a subject": {
				table.Query{PK: "SUBJECT#" + org + "#" + user, Prefix: "SCOPE#"},
				table.Position{SK: "SCOPE#" + scope},
			},
			"scopes of an org": {
				table.Query{Index: keys.GSI2, PK: "ORG#" + org},
				table.Position{SK: "SCOPE#" + scope, Base: keys.Stored("SCOPE#"+scope, "SCOPE#"+scope)},
			},
			"groups of a user": {
				table.Query{Index: keys.GSI1, PK: "USER#" + org + "#" + user},
				table.Position{SK: "GROUP#" + group, Base: keys.Stored("GROUP#"+org+"#"+group, "USER#"+user)},
			},
			"policies between": {
				table.Query{PK: "SCOPE#" + scope, From: "POLICY#", To: "POLICY$"},
				table.Position{SK: "POLICY#" + user},
			},
		} {
			if n := len(table.EncodeCursor(c.q, c.p)); n > 1024 {
				t.Errorf("%s, %v of all bytes separators: a cursor of %d bytes", name, separators, n)
			}
		}
	}
}

func TestCursorsOfOtherQueries(t *testing.T) {
	base := table.Query{PK: "P", Prefix: "A#", Limit: 5}
	cursor := table.EncodeCursor(base, table.Position{SK: "A#x"})
	for name, change := range map[string]func(*table.Query){
		"partition": func(q *table.Query) { q.PK = "Q" },
		"prefix":    func(q *table.Query) { q.Prefix = "A" },
		"direction": func(q *table.Query) { q.Descending = true },
		"index":     func(q *table.Query) { q.Index = keys.GSI1 },
		"range":     func(q *table.Query) { q.Prefix, q.From, q.To = "", "A#", "B" },
		"a shifted border": func(q *table.Query) {
			q.PK, q.Prefix = "PA", "#" // the same letters, cut elsewhere
		},
	} {
		q := base
		q.Cursor = cursor
		change(&q)
		if _, ok, err := table.DecodeCursor(q); ok || !errors.Is(err, table.ErrBadCursor) {
			t.Errorf("another %s: %v, %v", name, ok, err)
		}
	}
	for _, same := range []table.Query{{Limit: 7}, {Consistency: table.Strong}} {
		same.PK, same.Prefix, same.Cursor = base.PK, base.Prefix, cursor
		if _, ok, err := table.DecodeCursor(same); !ok || err != nil {
			t.Errorf("another page size or consistency: %v, %v", ok, err)
		}
	}
}

func TestCursorRoundTripProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := table.Query{PK: rapid.StringN(1, 30, 100).Draw(t, "pk"), Prefix: rapid.String().Draw(t, "prefix")}
		q.Descending = rapid.Bool().Draw(t, "descending")
		p := table.Position{SK: q.Prefix + rapid.String().Draw(t, "sk")}
		if rapid.Bool().Draw(t, "index") {
			q.Index = keys.GSI2
			p.Base = keys.Stored(rapid.StringN(1, 300, 1000).Draw(t, "base pk"), rapid.StringN(1, 100, 500).Draw(t, "base sk"))
		}
		q.Cursor = table.EncodeCursor(q, p)
		if got, ok, err := table.DecodeCursor(q); got != p || !ok || err != nil {
			t.Fatalf("%+v, %v, %v, want %+v", got, ok, err, p)
		}
	})
}

// FuzzDecodeCursor: no text panics, and what is taken for a cursor of a query
// is one that this query could have made.
func FuzzDecodeCursor(f *testing.F) {
	index := table.Query{Index: keys.GSI1, PK: "I"}
	f.Add(table.EncodeCursor(table.Query{PK: "P", Prefix: "A#"}, table.Position{SK: "A#x"}), "P", "A#", uint8(0))
	f.Add(table.EncodeCursor(index, table.Position{SK: "x", Base: keys.Stored("P", "S")}), "I", "", uint8(1))
	f.Add(table.EncodeCursor(table.Query{PK: "P", Prefix: "A"}, table.Position{SK: strings.Repeat("A", 1000)}), "P", "A", uint8(0))
	f.Add(base64.RawURLEncoding.EncodeToString(make([]byte, 20)), "P", "A", uint8(0))
	f.Add("", "P", "A", uint8(0))
	f.Add("!", "", "", uint8(4))
	f.Fuzz(func(t *testing.T, cursor, pk, prefix string, index uint8) {
		q := table.Query{Index: keys.Index(index % (keys.Indexes + 1)), PK: pk, Prefix: prefix, Cursor: cursor}
		p, ok, err := table.DecodeCursor(q)
		switch {
		case err != nil && (ok || !errors.Is(err, table.ErrBadCursor)):
			t.Fatalf("%v with %v", ok, err)
		case !ok:
			return
		}
		if !strings.HasPrefix(p.SK, prefix) || p.Base.Valid() != (q.Index != keys.Table) {
			t.Fatalf("a position outside the query: %+v", p)
		}
		if utf8.ValidString(p.SK) && len(table.EncodeCursor(q, p)) == 0 {
			t.Fatal("a position without a cursor")
		}
	})
}
