package serve

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"testing"
	"time"

	"github.com/wardenhq/warden/functions/deliver"
	"github.com/wardenhq/warden/functions/topology"
	"github.com/wardenhq/warden/shared/queue/local"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// TestParkedChangesComeBackWhole: a change that was parked is handed to its
// reader again with all it had, index keys and binary content too.
func TestParkedChangesComeBackWhole(t *testing.T) {
	broker, err := local.Open(local.Memory)
	if err != nil {
		t.Fatal(err)
	}
	b := &background{
		log: slog.New(slog.DiscardHandler), broker: broker, queues: make(map[topology.QueueName]*local.Queue),
		deliver: deliver.New(deliver.Config{}),
	}
	got := make(chan table.Change, 1)
	changes := func(_ context.Context, batch []table.Change) (int, error) {
		got <- batch[0]
		return len(batch), nil
	}
	if err := b.queue("reader", b.redriven(changes), topology.Queue{Workers: 1, Batch: 1, MaxReceive: 3}); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 30, 1, 2, 3, 4, time.UTC)
	scope, subject := rbac.Must(rbac.ParseScopeID("s#%")), rbac.Must(rbac.ParseSubjectID("Zoë"))
	it := &table.Item{
		Key: keys.Policy(scope, subject).Raw(), Type: "Policy", Version: 7, Format: 1, CreatedAt: at, UpdatedAt: at,
		Actor: "api_key:k", RequestID: "r", LastEvent: "e", TTL: 9, Body: []byte(`{"a":1}`), Blob: []byte{0, 255, 1},
	}
	it.Index[keys.GSI4-1] = keys.Due(at, "x")
	if err := b.park(t.Context(), "reader", table.Change{Sequence: "17", New: it}, errors.New("poison")); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); b.run(ctx) }()
	if n, err := broker.Redrive(t.Context(), "reader"); err != nil || n != 1 {
		t.Fatalf("redrove %d, %v", n, err)
	}
	if c := <-got; c.Sequence != "17" || c.Old != nil || !reflect.DeepEqual(c.New, it) {
		t.Errorf("came back as %+v, item %+v", c, c.New)
	}
	stop()
	<-done
	if err := broker.Close(); err != nil {
		t.Fatal(err)
	}
}
