// Package stored reads entities by their typed keys: what a key leads to is
// what comes back.
package stored

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// Decode reads an item's Body. table.ErrFormat for a layout this build doesn't know.
func Decode[E any](it *table.Item) (e E, err error) {
	if it.Format != entity.Format {
		return e, fmt.Errorf("%w: %s has format %d", table.ErrFormat, it.Key, it.Format)
	}
	if err := json.Unmarshal(it.Body, &e); err != nil {
		return e, fmt.Errorf("stored: %s: %w", it.Key, err)
	}
	return e, nil
}

// Get reads one entity; the item is nil when there is none.
func Get[E any](ctx context.Context, r table.Reader, k keys.Key[E], c table.Consistency) (e E, it *table.Item, err error) {
	it, err = r.Get(ctx, k.Raw(), c)
	if err != nil || it == nil {
		return e, nil, err
	}
	e, err = Decode[E](it)
	return e, it, err
}

// Row is one entity of a list, with its item.
type Row[E any] struct {
	Entity E
	Item   *table.Item
}

// List reads one page of a range: the table consistently, an index as it is.
func List[E any](ctx context.Context, r table.Reader, in keys.Range[E], limit int, cursor string) (rows []Row[E], next string, err error) {
	page, err := r.Query(ctx, table.Query{
		Index: in.Index(), PK: in.PK(), Prefix: in.Prefix(), Limit: limit, Cursor: cursor,
		Consistency: in.Index() == keys.Table,
	})
	if err != nil {
		return nil, "", err
	}
	rows = make([]Row[E], len(page.Items))
	for i, it := range page.Items {
		e, err := Decode[E](it)
		if err != nil {
			return nil, "", err
		}
		rows[i] = Row[E]{e, it}
	}
	return rows, page.Cursor, nil
}

// All walks a whole range; visit ends it early by returning false.
func All[E any](ctx context.Context, r table.Reader, in keys.Range[E], visit func(Row[E]) (more bool)) error {
	for cursor := ""; ; {
		rows, next, err := List(ctx, r, in, table.MaxQueryLimit, cursor)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if !visit(row) {
				return nil
			}
		}
		if next == "" {
			return nil
		}
		cursor = next
	}
}
