package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// hourly runs the tasks whose last run is an hour ago or more; one that was
// missed is caught up at once.
func (s *Scheduler) hourly(ctx context.Context) error {
	var failed error
	for _, t := range s.Hourly {
		if err := s.task(ctx, t); err != nil {
			failed = errors.Join(failed, fmt.Errorf("scheduler: %s: %w", t.Name, err))
		}
	}
	return failed
}

func (s *Scheduler) task(ctx context.Context, t Task) error {
	now := s.Clock.Now().UTC()
	last, it, err := stored.Get(ctx, s.Table, keys.Task(t.Name), table.Strong)
	if err != nil || now.Sub(last.LastRun) < time.Hour {
		return err
	}
	// Noted before it runs: of two schedulers at once only one runs it.
	body, err := json.Marshal(entity.Task{LastRun: now})
	if err != nil {
		return err
	}
	next := &table.Item{
		Key: keys.Task(t.Name).Raw(), Type: "Task", Version: table.VersionOf(it) + 1, Format: entity.Format,
		CreatedAt: now, UpdatedAt: now, Actor: "system:scheduler", Body: body,
	}
	err = s.Table.Transact(ctx, table.Tx{Ops: []table.Op{table.Put(next, table.VersionIs(table.VersionOf(it)))}})
	var canceled *table.CanceledError
	if errors.As(err, &canceled) {
		return nil
	}
	if err != nil {
		return err
	}
	return t.Run(ctx)
}
