package serve

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/functions/topology"
	"github.com/wardenhq/warden/shared/bus"
)

// publish puts audited events on the bus, each in its CloudEvents envelope.
func publish(to bus.Putter) func(context.Context, []events.Event) error {
	return func(ctx context.Context, batch []events.Event) error {
		entries := make([]bus.Entry, len(batch))
		for i, e := range batch {
			detail, err := json.Marshal(events.Enveloped(e))
			if err != nil {
				return fmt.Errorf("serve: event %s: %w", e.ID, err)
			}
			entries[i] = bus.Entry{Source: topology.BusSource, DetailType: e.Type, Group: e.Org, Detail: detail}
		}
		return to.Put(ctx, entries)
	}
}
