// Package bus is the port of the event bus, and the rules by which events reach
// queues. Its adapters are EventBridge and Local.
package bus

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/wardenhq/warden/shared/queue"
)

// MaxEntryBytes is how large an entry may be: EventBridge's limit for all
// entries of a call was 256 KB for long, and every consumer takes that.
const MaxEntryBytes = 256 << 10

// Entry is one event on the bus.
type Entry struct {
	Source     string // "warden"
	DetailType string // the event's type
	Group      string // the tenant, for fair queues behind the bus
	Detail     []byte // a CloudEvents 1.0 JSON envelope
}

// Putter puts events on the bus, each at least once.
type Putter interface {
	// Put returns once all entries are accepted. On an error some may have been.
	Put(ctx context.Context, entries []Entry) error
}

// Rule sends the events that match to a queue.
type Rule struct {
	Sources []string // any of them
	Types   []string // any of them, where one may end in `*`; none: every type
	Target  queue.Sender
}

// Matches says whether the rule takes the entry.
func (r Rule) Matches(e Entry) bool {
	if !slices.Contains(r.Sources, e.Source) {
		return false
	}
	return len(r.Types) == 0 || slices.ContainsFunc(r.Types, func(t string) bool {
		prefix, wild := strings.CutSuffix(t, "*")
		return t == e.DetailType || wild && strings.HasPrefix(e.DetailType, prefix)
	})
}

// Local is the bus in one process: an entry is accepted once every queue that a
// rule names has it on disk.
type Local struct{ Rules []Rule }

// Put is in Putter.
func (l *Local) Put(ctx context.Context, entries []Entry) error {
	for _, e := range entries {
		if len(e.Detail) > MaxEntryBytes {
			return fmt.Errorf("bus: an entry of %d bytes, at most %d", len(e.Detail), MaxEntryBytes)
		}
	}
	for _, r := range l.Rules {
		var out []queue.Message
		for _, e := range entries {
			if r.Matches(e) {
				out = append(out, queue.Message{Group: e.Group, Body: e.Detail})
			}
		}
		if len(out) == 0 {
			continue
		}
		if err := r.Target.Send(ctx, out); err != nil {
			return err
		}
	}
	return nil
}
