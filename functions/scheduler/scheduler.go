// Package scheduler does, every minute, what the clock makes due: it finds due
// work in the table, wherever it was left, and once an hour sweeps up what
// nobody works on. Nothing it does decides an answer: an assignment ends at its
// instant, and a deleted scope denies at once, whether it runs or not.
package scheduler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/wardenhq/warden/shared/clock"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// Handler takes an item up that is due. It leaves the item not due, by a
// versioned write: due later, or out of the list.
type Handler func(ctx context.Context, it *table.Item) error

// Task is work that looks for itself what there is to do.
type Task struct {
	Name string
	Run  func(ctx context.Context) error
}

// Config is what the scheduler works with.
type Config struct {
	Table  table.Store
	Clock  clock.Clock
	Due    map[string]Handler // by the item's type
	Always []Task             // at every run
	Hourly []Task             // once an hour
	Log    *slog.Logger
}

// Scheduler is the function.
type Scheduler struct{ Config }

// New makes the function.
func New(c Config) *Scheduler { return &Scheduler{c} }

// budget is how long one run works: below its timeout, and over before the next begins.
const budget = 25 * time.Second

// page is how many due items are found at once.
const page = 100

// Tick does what is due now. An item that fails is reported and stays due; the
// others go on.
func (s *Scheduler) Tick(ctx context.Context) error {
	end := s.Clock.Now().Add(budget)
	var failed error
	for shard := range keys.DueShards {
		failed = errors.Join(failed, s.shard(ctx, shard, end))
	}
	for _, t := range s.Always {
		if err := t.Run(ctx); err != nil {
			failed = errors.Join(failed, fmt.Errorf("scheduler: %s: %w", t.Name, err))
		}
	}
	return errors.Join(failed, s.hourly(ctx))
}

func (s *Scheduler) shard(ctx context.Context, shard int, end time.Time) error {
	pk, from, to := keys.DueUntil(shard, s.Clock.Now())
	for cursor := ""; s.Clock.Now().Before(end); {
		found, err := s.Table.Query(ctx, table.Query{Index: keys.GSI4, PK: pk, From: from, To: to, Limit: page, Cursor: cursor})
		if err != nil {
			return err
		}
		for _, it := range found.Items {
			if err := s.item(ctx, it.Key, to); err != nil {
				s.Log.ErrorContext(ctx, "due work failed", "type", it.Type, "key", it.Key.String(), "error", err)
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
		if cursor = found.Cursor; cursor == "" {
			return nil
		}
	}
	return nil
}

// item takes one item up, if the table itself still has it as due: the index
// shows it a moment late.
func (s *Scheduler) item(ctx context.Context, key keys.Raw, to string) error {
	it, err := s.Table.Get(ctx, key, table.Strong)
	if err != nil || it == nil {
		return err
	}
	at := it.Index[keys.GSI4-1]
	if at.IsZero() || at.SK() > to {
		return nil
	}
	handle := s.Due[it.Type]
	if handle == nil {
		return errors.New("scheduler: nobody takes up items of this type")
	}
	return handle(ctx, it)
}
