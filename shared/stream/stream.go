// Package stream is how changes of the table are consumed: in order for each
// item, at least once, in batches of which a part may be done.
package stream

import (
	"context"

	"github.com/wardenhq/warden/shared/table"
)

// Handler consumes changes of one shard, in their order. It stops at the first
// one that it can't do: done is how many are over, and err says why the next is
// not. Everything from there on is handed to it again.
type Handler func(ctx context.Context, batch []table.Change) (done int, err error)

// Each makes a handler of a function for single changes.
func Each(handle func(context.Context, table.Change) error) Handler {
	return func(ctx context.Context, batch []table.Change) (int, error) {
		for i, c := range batch {
			if err := handle(ctx, c); err != nil {
				return i, err
			}
		}
		return len(batch), nil
	}
}
