package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/wardenhq/warden/functions/audit"
	"github.com/wardenhq/warden/functions/deliver"
	"github.com/wardenhq/warden/functions/fanout"
	"github.com/wardenhq/warden/functions/projector"
	"github.com/wardenhq/warden/functions/scheduler"
	"github.com/wardenhq/warden/functions/topology"
	trail "github.com/wardenhq/warden/shared/audit"
	"github.com/wardenhq/warden/shared/bus"
	"github.com/wardenhq/warden/shared/clock"
	"github.com/wardenhq/warden/shared/delivery"
	"github.com/wardenhq/warden/shared/egress"
	"github.com/wardenhq/warden/shared/purge"
	"github.com/wardenhq/warden/shared/queue"
	"github.com/wardenhq/warden/shared/queue/local"
	"github.com/wardenhq/warden/shared/stream"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/embedded"
)

// QueuesFile is where the queues are, beside the table in the data directory.
const QueuesFile = "queues.db"

// background runs what no request waits for: the readers of the stream, the
// queues and the clock, as the topology declares them.
type background struct {
	log     *slog.Logger
	broker  *local.Broker
	pollers []*stream.Poller
	queues  map[topology.QueueName]*local.Queue
	ticks   []ticker

	audit   *audit.Audit
	deliver *deliver.Deliverer
}

type ticker struct {
	name  string
	every time.Duration
	tick  func(context.Context) error
}

// sources are what a function does besides answering requests.
type sources struct {
	changes stream.Handler
	work    queue.Handler
	tick    func(context.Context) error
}

func newBackground(p parts, feed stream.Feed, o Options) (*background, error) {
	dir, log := o.Data, o.Log
	path := local.Memory
	if dir != Memory {
		path = filepath.Join(dir, QueuesFile)
	}
	broker, err := local.Open(path)
	if err != nil {
		return nil, err
	}
	b := &background{log: log, broker: broker, queues: make(map[topology.QueueName]*local.Queue)}
	recomputes, fanouts, deliveries := &lazySender{}, &lazySender{}, &lazySender{}
	b.audit = audit.New(audit.Config{
		Table: p.store, Log: &trail.Log{Table: p.store, Clock: clock.System{}, Backoff: p.backoff}, Clock: clock.System{},
		Key: p.secrets.signing, Publish: publish(localBus(fanouts)), EventID: eventID, Report: log,
	})
	endpoints := &delivery.Endpoints{Table: p.store, Vault: p.secrets.vault, Clock: clock.System{}}
	p.changed.add(endpoints.Drop)
	fan := fanout.New(fanout.Config{Table: p.store, Queue: deliveries, Clock: clock.System{}, Backoff: p.backoff, Log: log})
	b.deliver = deliver.New(deliver.Config{
		Table: p.store, Writer: p.writer, Endpoints: endpoints,
		Sender: egress.New(p.guard, egress.Options{}), Queue: deliveries, Clock: clock.System{}, Jitter: p.backoff.Jitter, Backoff: p.backoff, Log: log,
	})
	project := projector.New(projector.Config{Engine: p.engine, Writer: p.writer, Queue: recomputes, Log: log})
	purger := &purge.Purger{Engine: p.engine}
	schedule := scheduler.New(scheduler.Config{
		Table: p.store, Clock: clock.System{}, Log: log,
		Due: map[string]scheduler.Handler{
			"Recompute": scheduler.Recomputes(recomputes), "Policy": scheduler.Policies(p.writer), "APIKey": scheduler.APIKeys(p.writer),
			"Scope": scheduler.Scopes(purger, p.store), "Org": scheduler.Orgs(purger, p.writer),
			"Delivery": b.deliver.Due,
		},
		Always: []scheduler.Task{
			{Name: "audit sweep", Run: func(ctx context.Context) error { return b.audit.Sweep(ctx, time.Now()) }},
			{Name: "audit checkpoints", Run: func(ctx context.Context) error { return b.audit.Checkpoint(ctx, time.Now()) }},
		},
		Hourly: []scheduler.Task{scheduler.Sweep(p.engine, recomputes, clock.System{})},
	})
	err = b.wire(feed, map[string]sources{
		"projector": {changes: project.Changes, work: project.Work},
		"audit":     {changes: b.audit.Changes},
		"fanout":    {work: fan.Work},
		"deliver":   {work: b.deliver.Work},
		"scheduler": {tick: schedule.Tick},
	})
	if err != nil {
		return nil, errors.Join(err, broker.Close())
	}
	recomputes.to, fanouts.to, deliveries.to = b.queues[topology.Recompute], b.queues[topology.Fanout], b.queues[topology.Deliveries]
	return b, nil
}

// localBus is the bus with the rules of the topology. There is one target yet.
func localBus(fanouts queue.Sender) *bus.Local {
	b := &bus.Local{}
	for _, r := range topology.Rules() {
		b.Rules = append(b.Rules, bus.Rule{Sources: []string{r.Source}, Types: r.Types, Target: fanouts})
	}
	return b
}

// lazySender is a queue that is made after those who send to it.
type lazySender struct{ to queue.Sender }

// Send is in queue.Sender.
func (l *lazySender) Send(ctx context.Context, ms []queue.Message) error { return l.to.Send(ctx, ms) }

// Local stand-ins for what AWS retries by: shorter, since nothing here is remote.
const (
	retryAfter = 100 * time.Millisecond
	retryMost  = 30 * time.Second
)

func (b *background) wire(feed stream.Feed, functions map[string]sources) error {
	byQueue := make(map[topology.QueueName]topology.Queue)
	for _, q := range topology.Queues() {
		byQueue[q.Name] = q
	}
	for _, f := range topology.Functions() {
		s := functions[f.Name]
		if f.Stream != nil {
			if s.changes == nil {
				return fmt.Errorf("serve: %s does not consume changes", f.Name)
			}
			b.pollers = append(b.pollers, &stream.Poller{
				Name: f.Name, Feed: feed, Checkpoints: b.broker, Handler: s.changes, Clock: clock.System{},
				Batch: f.Stream.Batch, Attempts: f.Stream.Attempts, Backoff: retryAfter, Park: b.park, Report: b.report,
			})
			// Parked changes that are redriven come back by a queue of the reader's name.
			if err := b.queue(f.Name, b.redriven(s.changes), topology.Queue{Workers: 1, Batch: 1, MaxReceive: f.Stream.Attempts}); err != nil {
				return err
			}
		}
		for _, name := range f.Works {
			if s.work == nil {
				return fmt.Errorf("serve: %s does not work on queues", f.Name)
			}
			if err := b.queue(string(name), s.work, byQueue[name]); err != nil {
				return err
			}
		}
		if f.Every > 0 {
			if s.tick == nil {
				return fmt.Errorf("serve: %s does not follow the clock", f.Name)
			}
			b.ticks = append(b.ticks, ticker{f.Name, f.Every, s.tick})
		}
	}
	return nil
}

func (b *background) queue(name string, work queue.Handler, d topology.Queue) error {
	q, err := b.broker.Queue(name, local.Options{
		Handler: work, Workers: d.Workers, Batch: d.Batch, PerGroup: d.PerGroup, MaxReceive: d.MaxReceive,
		Backoff: retryAfter, Longest: retryMost, Clock: clock.System{},
	})
	if err == nil {
		b.queues[topology.QueueName(name)] = q
	}
	return err
}

// redriven hands a parked change to its reader again.
func (b *background) redriven(changes stream.Handler) queue.Handler {
	return func(ctx context.Context, batch []queue.Message) (failed []string) {
		for _, m := range batch {
			var c parked
			err := json.Unmarshal(m.Body, &c)
			if err == nil {
				_, err = changes(ctx, []table.Change{{Sequence: c.Sequence, Old: c.Old, New: c.New}})
			}
			if err != nil {
				b.log.ErrorContext(ctx, "a parked change failed again", "message", m.ID, "error", err)
				failed = append(failed, m.ID)
			}
		}
		return failed
	}
}

// parked is a change as a dead letter: all of it, since the stream forgets.
type parked struct {
	Sequence string      `json:"sequence"`
	Old      *table.Item `json:"old"`
	New      *table.Item `json:"new"`
}

// park keeps a change that a reader can't do in the reader's dead-letter queue.
func (b *background) park(ctx context.Context, reader string, c table.Change, cause error) error {
	body, err := json.Marshal(parked{c.Sequence, c.Old, c.New})
	if err != nil {
		return err
	}
	b.log.ErrorContext(ctx, "a change was parked", "reader", reader, "sequence", c.Sequence, "error", cause)
	return b.broker.Park(ctx, reader, queue.Message{Group: reader, Body: body}, cause)
}

func (b *background) report(reader string, c table.Change, attempt int, err error) {
	b.log.Warn("a change failed", "reader", reader, "sequence", c.Sequence, "attempt", attempt, "error", err)
}

// run works until the context ends, and returns when all of it has come to rest.
func (b *background) run(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(b.deliver.Stay(ctx))
	for _, p := range b.pollers {
		wg.Go(func() {
			if err := p.Run(ctx); err != nil {
				b.log.Error("a reader of the stream ended", "reader", p.Name, "error", err)
			}
		})
	}
	for _, q := range b.queues {
		wg.Go(func() { q.Run(ctx) })
	}
	for _, t := range b.ticks {
		wg.Go(func() { t.run(ctx, b.log) })
	}
	wg.Wait()
}

// run ticks at once, so that what a stopped server missed is caught up, and then
// at every interval.
func (t ticker) run(ctx context.Context, log *slog.Logger) {
	every := time.NewTicker(t.every)
	defer every.Stop()
	for {
		if err := t.tick(ctx); err != nil && ctx.Err() == nil {
			log.ErrorContext(ctx, "a run by the clock failed", "function", t.name, "error", err)
		}
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
	}
}

var _ stream.Feed = (*embedded.Store)(nil)
