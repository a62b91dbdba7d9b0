package table_test

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// bare has 2+1 PK, 2+1 SK, 4+0 Type, 7+2 Version, 6+2 Format and twice 9+30 of
// times: 105 bytes.
func bare() *table.Item { return &table.Item{Key: keys.Stored("p", "s"), Version: 1, Format: 1} }

func with(change func(*table.Item)) *table.Item {
	it := bare()
	change(it)
	return it
}

func TestSize(t *testing.T) {
	for name, c := range map[string]struct {
		it   *table.Item
		want int
	}{
		"absent":                {nil, 0},
		"bare":                  {bare(), 105},
		"key":                   {with(func(it *table.Item) { it.Key = keys.Stored("pé", "s#日") }), 105 + 2 + 4},
		"type":                  {with(func(it *table.Item) { it.Type = "role" }), 105 + 4},
		"two digits":            {with(func(it *table.Item) { it.Version = 99 }), 105},
		"three digits":          {with(func(it *table.Item) { it.Version = 100 }), 105 + 1},
		"four digits":           {with(func(it *table.Item) { it.Version = 1000 }), 105 + 1},
		"five digits":           {with(func(it *table.Item) { it.Version = 10_000 }), 105 + 2},
		"no version":            {with(func(it *table.Item) { it.Version = 0 }), 105},
		"twenty digits":         {with(func(it *table.Item) { it.Version = 1<<64 - 1 }), 105 + 9},
		"fifteen digits":        {with(func(it *table.Item) { it.Version = 999_999_999_999_999 }), 105 + 7},
		"actor":                 {with(func(it *table.Item) { it.Actor = "user:a" }), 105 + 5 + 6},
		"request id":            {with(func(it *table.Item) { it.RequestID = "r" }), 105 + 9 + 1},
		"last event":            {with(func(it *table.Item) { it.LastEvent = "e" }), 105 + 9 + 1},
		"TTL of ten digits":     {with(func(it *table.Item) { it.TTL = 1_800_000_000 }), 105 + 3 + 6},
		"body":                  {with(func(it *table.Item) { it.Body = []byte("{}") }), 105 + 4 + 2},
		"blob":                  {with(func(it *table.Item) { it.Blob = make([]byte, 1000) }), 105 + 4 + 1000},
		"empty body":            {with(func(it *table.Item) { it.Body = []byte{} }), 105},
		"an index":              {with(func(it *table.Item) { it.Index[1] = keys.StoredIndexKey("ab", "c") }), 105 + 12 + 3},
		"times are fixed width": {with(func(it *table.Item) { it.CreatedAt = time.Unix(1<<31, 5) }), 105},
	} {
		if got := table.Size(c.it); got != c.want {
			t.Errorf("%s: %d bytes, want %d", name, got, c.want)
		}
	}
}

func TestProject(t *testing.T) {
	full := with(func(it *table.Item) {
		it.Type, it.Body, it.Blob, it.Actor, it.TTL = "role", []byte("{}"), []byte("b"), "a", 5
		it.CreatedAt, it.UpdatedAt = time.Unix(1, 0), time.Unix(2, 0)
		it.Index[0], it.Index[3] = keys.StoredIndexKey("a", "1"), keys.StoredIndexKey("d", "4")
	})
	// 2+1, 2+1, 4+4 Type, 7+2, 6+2, 78 times, 12+2 index, 4+2 Body.
	if got := table.Size(table.Project(full, keys.GSI1)); got != 129 {
		t.Errorf("GSI1 shows %d bytes, want 129", got)
	}
	if p := table.Project(full, keys.GSI1); p.Blob != nil || p.Actor != "" || p.TTL != 0 || !p.Index[3].IsZero() || !p.UpdatedAt.Equal(full.UpdatedAt) {
		t.Errorf("GSI1 shows %+v", p)
	}
	if p := table.Project(full, keys.GSI4); p.Body != nil || p.Format != 0 || !p.CreatedAt.IsZero() || p.Version != 1 || p.Type != "role" {
		t.Errorf("GSI4 shows %+v", p)
	}
	if table.Project(full, keys.GSI2) != nil || table.Project(nil, keys.GSI1) != nil {
		t.Error("an item shows in an index that it is not in")
	}
}

func TestReadUnits(t *testing.T) {
	for bytes, want := range map[int][3]float64{ // eventual, strong, snapshot
		0:          {0.5, 1, 2},
		1:          {0.5, 1, 2},
		4096:       {0.5, 1, 2},
		4097:       {1, 2, 4},
		8192:       {1, 2, 4},
		8193:       {1.5, 3, 6},
		400 << 10:  {50, 100, 200},
		1024 << 10: {128, 256, 512},
	} {
		got := [3]float64{table.ReadUnits(bytes, table.Eventual), table.ReadUnits(bytes, table.Strong), table.SnapshotUnits(bytes)}
		if got != want || table.QueryUnits(bytes, table.Eventual) != want[0] {
			t.Errorf("%d bytes: %v, want %v", bytes, got, want)
		}
	}
}

func TestOpUnits(t *testing.T) {
	k := keys.Stored("p", "s")
	sized := func(version uint64, blob, body int, change func(*table.Item)) *table.Item {
		it := with(func(it *table.Item) {
			it.Version, it.Blob, it.Body = version, make([]byte, blob), bytes.Repeat([]byte("x"), body)
		})
		if change != nil {
			change(it)
		}
		return it
	}
	in := func(i int, pk string) func(*table.Item) {
		return func(it *table.Item) { it.Index[i] = keys.StoredIndexKey(pk, "s") }
	}
	kb, twoKB := sized(1, 1024-109, 0, nil), sized(1, 1024-108, 0, nil)
	put := func(it *table.Item) table.Op { return table.Put(it, table.Any()) }
	for name, c := range map[string]struct {
		op     table.Op
		before *table.Item
		want   float64
	}{
		"1024 bytes":                     {put(kb), nil, 2},
		"1025 bytes":                     {put(twoKB), nil, 4},
		"over a larger one":              {put(kb), twoKB, 4},
		"over a smaller one":             {put(twoKB), kb, 4},
		"check of nothing":               {table.Check(k, table.Absent()), nil, 2},
		"check of 1025 bytes":            {table.Check(k, table.Present()), twoKB, 4},
		"delete of nothing":              {table.Delete(k, table.Any()), nil, 2},
		"delete of 1025 bytes":           {table.Delete(k, table.Any()), twoKB, 4},
		"400 KB":                         {put(sized(1, 400<<10-109, 0, nil)), nil, 800},
		"into an index":                  {put(sized(1, 0, 10, in(0, "a"))), nil, 2 + 1},
		"into an index, 1.5 KB shown":    {put(sized(1, 0, 1500, in(0, "a"))), nil, 4 + 2},
		"into an index, 1.5 KB hidden":   {put(sized(1, 1500, 0, in(0, "a"))), nil, 4 + 1},
		"GSI4 shows no body":             {put(sized(1, 0, 1500, in(3, "a"))), nil, 4 + 1},
		"changed in an index":            {put(sized(2, 0, 10, in(0, "a"))), sized(1, 0, 10, in(0, "a")), 2 + 1},
		"changed, smaller than before":   {put(sized(2, 0, 10, in(0, "a"))), sized(1, 0, 1500, in(0, "a")), 4 + 2},
		"moved in an index":              {put(sized(2, 0, 10, in(0, "b"))), sized(1, 0, 1500, in(0, "a")), 4 + 2 + 1},
		"out of an index":                {put(sized(2, 0, 10, nil)), sized(1, 0, 1500, in(0, "a")), 4 + 2},
		"from one index into another":    {put(sized(2, 0, 10, in(1, "a"))), sized(1, 0, 10, in(0, "a")), 2 + 1 + 1},
		"deleted from an index":          {table.Delete(k, table.Any()), sized(1, 0, 1500, in(0, "a")), 4 + 2},
		"check of an indexed one":        {table.Check(k, table.Present()), sized(1, 0, 10, in(0, "a")), 2},
		"nothing that the index shows":   {put(sized(1, 50, 10, in(0, "a"))), sized(1, 0, 10, in(0, "a")), 2},
		"the same again, nothing hidden": {put(sized(1, 0, 10, in(3, "a"))), sized(1, 0, 10, in(3, "a")), 2},
	} {
		if got := table.OpUnits(c.op, c.before); got != c.want {
			t.Errorf("%s: %v units, want %v", name, got, c.want)
		}
	}
}

func TestMeter(t *testing.T) {
	var m table.Meter
	ctx := table.WithMeter(t.Context(), &m)
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() { table.Spend(ctx, table.Cost{Ops: 1, RRU: 0.5, WRU: 3}) })
	}
	all.Wait()
	table.Spend(context.Background(), table.Cost{Ops: 7})
	if got := m.Cost(); got != (table.Cost{Ops: 100, RRU: 50, WRU: 300}) {
		t.Errorf("cost %v", got)
	}
	if got := (table.Cost{Ops: 1, RRU: 0.5}).Add(table.Cost{Ops: 2, RRU: 1, WRU: 2}); got != (table.Cost{Ops: 3, RRU: 1.5, WRU: 2}) {
		t.Errorf("sum %v", got)
	}
	if got := (table.Cost{Ops: 3, RRU: 1.5, WRU: 20}).String(); got != "ops=3; rru=1.5; wru=20" {
		t.Errorf("header %q", got)
	}
}

func TestConditions(t *testing.T) {
	two := with(func(it *table.Item) { it.Version = 2 })
	for name, c := range map[string]struct {
		is           table.Condition
		absent, here bool
	}{
		"any":              {table.Any(), true, true},
		"absent":           {table.Absent(), true, false},
		"present":          {table.Present(), false, true},
		"version 2":        {table.VersionIs(2), false, true},
		"version 1":        {table.VersionIs(1), false, false},
		"version 0":        {table.VersionIs(0), true, false},
		"an unknown class": {table.Condition{Kind: 9}, false, false},
	} {
		if c.is.Holds(nil) != c.absent || c.is.Holds(two) != c.here {
			t.Errorf("%s: %v for nothing, %v for version 2", name, c.is.Holds(nil), c.is.Holds(two))
		}
	}
	if table.VersionOf(nil) != 0 || table.VersionOf(two) != 2 {
		t.Error("wrong versions")
	}
}

func TestErrorTexts(t *testing.T) {
	refused := &table.CanceledError{Reasons: []table.Reason{{}, {Failed: true}, {Failed: true, Found: bare()}}}
	if got, want := refused.Error(), "operation 1 (found version 0), 2 (found version 1)"; !strings.HasSuffix(got, want) {
		t.Errorf("%q, want the end %q", got, want)
	}
	over := &table.LimitError{Limit: "item size", Got: 3, Max: 2}
	if got := over.Error(); got != "table: item size: 3, at most 2" {
		t.Errorf("%q", got)
	}
}
