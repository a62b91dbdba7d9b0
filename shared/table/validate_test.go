package table_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

func TestQueryValidate(t *testing.T) {
	for name, c := range map[string]struct {
		q    table.Query
		good bool
	}{
		"prefix":               {table.Query{PK: "P", Prefix: "A", Limit: 1}, true},
		"range":                {table.Query{PK: "P", From: "A", To: "B", Limit: 1000}, true},
		"index":                {table.Query{Index: keys.GSI4, PK: "P", Limit: 1}, true},
		"strong":               {table.Query{PK: "P", Prefix: "A", Limit: 1, Consistency: table.Strong}, true},
		"no partition":         {table.Query{Prefix: "A", Limit: 1}, false},
		"no limit":             {table.Query{PK: "P", Prefix: "A"}, false},
		"limit":                {table.Query{PK: "P", Prefix: "A", Limit: 1001}, false},
		"whole partition":      {table.Query{PK: "P", Limit: 1}, false},
		"half a range":         {table.Query{PK: "P", From: "A", Limit: 1}, false},
		"range and prefix":     {table.Query{PK: "P", Prefix: "A", From: "A", To: "B", Limit: 1}, false},
		"strong on an index":   {table.Query{Index: keys.GSI1, PK: "P", Limit: 1, Consistency: table.Strong}, false},
		"a fifth index":        {table.Query{Index: keys.GSI4 + 1, PK: "P", Limit: 1}, false},
		"an endless partition": {table.Query{PK: strings.Repeat("p", 2049), Prefix: "A", Limit: 1}, false},
		"an endless prefix":    {table.Query{PK: "P", Prefix: strings.Repeat("p", 1025), Limit: 1}, false},
	} {
		if err := c.q.Validate(); (err == nil) != c.good || err != nil && !errors.Is(err, table.ErrInvalidQuery) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTxValidate(t *testing.T) {
	at := func(sk string) *table.Item { return &table.Item{Key: keys.Stored("P", sk), Version: 1} }
	many := func(n, blob int) table.Tx {
		var tx table.Tx
		for i := range n {
			it := at(fmt.Sprintf("%03d", i))
			it.Blob = make([]byte, blob)
			tx.Ops = append(tx.Ops, table.Put(it, table.Any()))
		}
		return tx
	}
	one := func(op table.Op) table.Tx { return table.Tx{Ops: []table.Op{op}} }
	indexed := at("a")
	indexed.Index[2] = keys.StoredIndexKey("only a partition", "")
	for name, c := range map[string]struct {
		tx    table.Tx
		limit string // of the LimitError; empty: ErrInvalidKey
	}{
		"none":           {table.Tx{}, "transaction items"},
		"101":            {many(101, 0), "transaction items"},
		"token":          {table.Tx{Token: strings.Repeat("t", 37), Ops: many(1, 0).Ops}, "token"},
		"same item":      {table.Tx{Ops: append(many(2, 0).Ops, table.Check(keys.Stored("P", "001"), table.Any()))}, "same item twice"},
		"item size":      {many(1, 400<<10), "item size"},
		"size":           {many(11, 399<<10), "transaction size"},
		"no key":         {one(table.Delete(keys.Raw{}, table.Any())), ""},
		"other key":      {one(table.Op{Action: table.ActionPut, Key: keys.Stored("P", "b"), Item: at("a")}), ""},
		"no item":        {one(table.Op{Action: table.ActionPut, Key: keys.Stored("P", "b")}), ""},
		"half index key": {one(table.Put(indexed, table.Any())), ""},
	} {
		err := c.tx.Validate()
		over, isLimit := errors.AsType[*table.LimitError](err)
		switch {
		case c.limit == "" && !errors.Is(err, table.ErrInvalidKey):
			t.Errorf("%s: %v, want ErrInvalidKey", name, err)
		case c.limit != "" && (!isLimit || over.Limit != c.limit):
			t.Errorf("%s: %v, want the limit of %q", name, err, c.limit)
		}
	}
	for name, tx := range map[string]table.Tx{
		"100": many(100, 0), "3.9 MB": many(10, 399<<10), "deletes": one(table.Delete(keys.Stored("P", "a"), table.Absent())),
	} {
		if err := tx.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestValidateSnapshot(t *testing.T) {
	var wanted []keys.Raw
	for i := range 101 {
		wanted = append(wanted, keys.Stored("P", fmt.Sprint(i)))
	}
	for name, refused := range map[string][]keys.Raw{
		"none": nil, "101": wanted, "twice": {wanted[0], wanted[1], wanted[0]},
	} {
		if _, ok := errors.AsType[*table.LimitError](table.ValidateSnapshot(refused)); !ok {
			t.Errorf("%s: %v", name, table.ValidateSnapshot(refused))
		}
	}
	if err := table.ValidateSnapshot([]keys.Raw{wanted[0], {}}); !errors.Is(err, table.ErrInvalidKey) {
		t.Errorf("an empty key: %v", err)
	}
	if err := table.ValidateSnapshot(wanted[:100]); err != nil {
		t.Errorf("100 keys: %v", err)
	}
}
