package audit

import (
	"context"
	"time"

	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// lostPages bounds how much of an outbox one look takes, in pages of 1 MB.
const lostPages = 10

// Lost are a chain's events of a span of time that are in their outbox and not in
// the chain: the stream did not bring them. until is how far it looked. Event
// items that can't be read are handed to broken, and passed.
func (l *Log) Lost(ctx context.Context, id ID, from, to time.Time, broken func(error)) (found []Pending, until time.Time, err error) {
	in := keys.OrgEvents(id.Org)
	if !id.Scope.IsZero() {
		in = keys.ScopeEvents(id.Scope, 0)
	}
	q := table.Query{PK: in.PK(), Limit: table.MaxQueryLimit}
	q.From, q.To = keys.EventsBetween(from, to)
	for range lostPages {
		page, err := l.Table.Query(ctx, q)
		if err != nil {
			return found, from, err
		}
		for _, it := range page.Items {
			p, err := ReadPending(it)
			switch {
			case err != nil:
				broken(err)
			case !p.Marked():
				found = append(found, p)
			}
			from = it.CreatedAt
		}
		if q.Cursor = page.Cursor; q.Cursor == "" {
			return found, to, nil
		}
	}
	return found, from, nil
}

// Begun says whether a chain has events.
func (l *Log) Begun(ctx context.Context, id ID) (bool, error) {
	_, it, err := stored.Get(ctx, l.Table, id.head(), table.Eventual)
	return it != nil, err
}
