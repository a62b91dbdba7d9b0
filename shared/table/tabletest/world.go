package tabletest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// world is one promise's test with its own empty store.
type world struct {
	*testing.T
	Harness

	store table.Store
	feed  table.Feed
}

// key has the partition P.
func key(sk string) keys.Raw { return keys.Stored("P", sk) }

// item is an item with every attribute set that all items have.
func item(k keys.Raw, version uint64) *table.Item {
	made := time.Date(2026, 3, 1, 12, 30, 15, 0, time.UTC)
	return &table.Item{
		Key: k, Type: "test", Version: version, Format: 1,
		CreatedAt: made, UpdatedAt: made.Add(time.Duration(version)),
		Body: fmt.Appendf(nil, `{"version":%d}`, version),
	}
}

// sized is an item whose size by DynamoDB's rules is exactly that.
func sized(k keys.Raw, version uint64, size int) *table.Item {
	it := item(k, version)
	it.Body = []byte("x")
	it.Body = []byte(strings.Repeat("x", 1+size-table.Size(it)))
	return it
}

// indexed puts the item into an index.
func indexed(it *table.Item, index keys.Index, pk, sk string) *table.Item {
	it.Index[index-1] = keys.StoredIndexKey(pk, sk)
	return it
}

func put(it *table.Item) table.Op { return table.Put(it, table.Any()) }

// write commits the operations and waits until everyone may see them.
func (w *world) write(ops ...table.Op) {
	w.Helper()
	w.must(w.store.Transact(w.Context(), table.Tx{Ops: ops}))
	w.settle()
}

// fill writes items in transactions as large as they may be.
func (w *world) fill(items ...*table.Item) {
	w.Helper()
	var ops []table.Op
	bytes := 0
	flush := func() {
		if len(ops) > 0 {
			w.must(w.store.Transact(w.Context(), table.Tx{Ops: ops}))
		}
		ops, bytes = nil, 0
	}
	for _, it := range items {
		if size := table.Size(it); len(ops) == table.MaxTransactionItems || bytes+size > table.MaxTransactionBytes {
			flush()
		}
		bytes += table.Size(it)
		ops = append(ops, put(it))
	}
	flush()
	w.settle()
}

func (w *world) settle() {
	w.Helper()
	if w.Settle != nil {
		w.Settle(w.T)
	}
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) wantErr(err, want error) {
	w.Helper()
	if !errors.Is(err, want) {
		w.Fatalf("error %v, want %v", err, want)
	}
}

func (w *world) wantLimit(err error, limit string) {
	w.Helper()
	var over *table.LimitError
	if !errors.As(err, &over) || over.Limit != limit {
		w.Fatalf("error %v, want a LimitError of %q", err, limit)
	}
}

func (w *world) wantCanceled(err error) {
	w.Helper()
	w.reasons(err)
}

// reasons are those of a transaction that had to be canceled.
func (w *world) reasons(err error) []table.Reason {
	w.Helper()
	var canceled *table.CanceledError
	if !errors.As(err, &canceled) {
		w.Fatalf("error %v, want a CanceledError", err)
	}
	return canceled.Reasons
}

func (w *world) get(k keys.Raw) *table.Item {
	w.Helper()
	it, err := w.store.Get(w.Context(), k, table.Strong)
	w.must(err)
	return it
}

// wantStored holds what stands in the table against the item; nil is absent.
func (w *world) wantStored(k keys.Raw, want *table.Item) {
	w.Helper()
	w.wantSame(w.get(k), want)
}

func (w *world) wantSame(got, want any) {
	w.Helper()
	if d := diff(got, want); d != "" {
		w.Fatalf("differs (-want +got):\n%s", d)
	}
}

// diff takes no attribute for an empty one: stores leave those out.
func diff(got, want any) string {
	return cmp.Diff(want, got,
		cmpopts.EquateEmpty(),
		cmp.FilterValues(func(a, b []byte) bool { return len(a)+len(b) > 0 }, cmp.Comparer(bytes.Equal)),
		cmpopts.EquateComparable(keys.Raw{}, keys.IndexKey{}),
	)
}

// pages reads a query page by page to its end.
func (w *world) pages(q table.Query) [][]*table.Item {
	w.Helper()
	var all [][]*table.Item
	for range 10_000 {
		page, err := w.store.Query(w.Context(), q)
		w.must(err)
		all = append(all, page.Items)
		if page.Cursor == "" {
			return all
		}
		q.Cursor = page.Cursor
	}
	w.Fatal("the query never ends")
	return nil
}

// all reads a query to its end.
func (w *world) all(q table.Query) []*table.Item {
	w.Helper()
	var items []*table.Item
	for _, page := range w.pages(q) {
		items = append(items, page...)
	}
	return items
}

func sortKeys(items []*table.Item) []string {
	var sks []string
	for _, it := range items {
		sks = append(sks, it.Key.SK())
	}
	return sks
}
