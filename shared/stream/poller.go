package stream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wardenhq/warden/shared/clock"
	"github.com/wardenhq/warden/shared/table"
)

// Checkpoints remember how far a reader has come, over restarts. What was
// consumed after the checkpoint that a crash left is consumed again.
type Checkpoints interface {
	Checkpoint(ctx context.Context, reader, shard string) (sequence string, err error)
	SaveCheckpoint(ctx context.Context, reader, shard, sequence string) error
}

// Feed is a feed that tells when to look.
type Feed interface {
	table.Feed
	// Changed is closed when something changes after the call.
	Changed() <-chan struct{}
}

// Poller reads a feed for one handler, as Lambda's event source mappings do:
// one batch a shard at a time, retried from the first change that failed; after
// Attempts at one change it is parked with its data, and passed.
type Poller struct {
	Name        string // of the reader
	Feed        Feed
	Checkpoints Checkpoints
	Handler     Handler
	Clock       clock.Clock
	Batch       int           // changes a batch, at most
	Attempts    int           // at one change, before it is parked
	Backoff     time.Duration // before the second attempt; doubled each time, to a minute at most
	// Park keeps a change that can't be done, and says so. The change is passed
	// only once it was kept.
	Park func(ctx context.Context, reader string, c table.Change, cause error) error
	// Report is told of every failed attempt; may be nil.
	Report func(reader string, c table.Change, attempt int, err error)
}

// Run reads until the context ends. The error says what ended it otherwise.
func (p *Poller) Run(ctx context.Context) error {
	shards, err := p.Feed.Shards(ctx)
	if err != nil {
		return err
	}
	failed := make(chan error, len(shards))
	for _, shard := range shards {
		go func() { failed <- p.shard(ctx, shard) }()
	}
	for range shards {
		err = errors.Join(err, <-failed)
	}
	if ctx.Err() != nil {
		return nil //nolint:nilerr // being stopped is no failure
	}
	return err
}

func (p *Poller) shard(ctx context.Context, shard string) error {
	after, err := p.Checkpoints.Checkpoint(ctx, p.Name, shard)
	if err != nil {
		return fmt.Errorf("stream: %s: %w", p.Name, err)
	}
	for ctx.Err() == nil {
		changed := p.Feed.Changed() // before reading, so that nothing falls in between
		changes, next, err := p.Feed.Changes(ctx, shard, after, p.Batch)
		if err != nil {
			return fmt.Errorf("stream: %s: %w", p.Name, err)
		}
		if len(changes) == 0 {
			select {
			case <-changed:
			case <-ctx.Done():
			}
			continue
		}
		if err := p.consume(ctx, changes); err != nil {
			return err
		}
		after = next
		if err := p.Checkpoints.SaveCheckpoint(ctx, p.Name, shard, after); err != nil {
			return fmt.Errorf("stream: %s: %w", p.Name, err)
		}
	}
	return ctx.Err()
}

// consume hands a batch to the handler until all of it is done or parked.
func (p *Poller) consume(ctx context.Context, batch []table.Change) error {
	attempt := 0
	for len(batch) > 0 {
		done, err := p.Handler(ctx, batch)
		if done > 0 {
			batch, attempt = batch[done:], 0
		}
		if err == nil || len(batch) == 0 {
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		attempt++
		if p.Report != nil {
			p.Report(p.Name, batch[0], attempt, err)
		}
		if attempt < p.Attempts {
			if err := p.Clock.Sleep(ctx, min(time.Minute, p.Backoff<<min(attempt-1, 20))); err != nil {
				return err
			}
			continue
		}
		if err := p.Park(ctx, p.Name, batch[0], err); err != nil {
			return fmt.Errorf("stream: %s: can't park a change: %w", p.Name, err)
		}
		batch, attempt = batch[1:], 0
	}
	return nil
}
