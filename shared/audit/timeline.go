package audit

import (
	"context"
	"slices"
	"time"

	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// after ends a range of sort keys that begin with a time: it sorts behind the
// separator.
const after = "$"

// OrgWindow is the part of an org's events, its scopes' included, where those of
// a span of time can be. Its positions are times of recording, and what follows
// them in sort keys; both ends are left out. The org's events begin with its
// creation.
func (l *Log) OrgWindow(created time.Time, s Span) Window {
	from, to := created.Add(-skew), l.Clock.Now().Add(skew)
	if start := s.From.Add(-skew); !s.From.IsZero() && start.After(from) {
		from = start
	}
	if end := s.To.Add(lateness); !s.To.IsZero() && end.Before(to) {
		to = end
	}
	return Window{keys.OrgAuditSK(from), keys.OrgAuditSK(to) + after}
}

// Org reads a window of all events of an org by when they were recorded, those of
// one chain by seq. It reads an index: what was appended just now may lack.
func (l *Log) Org(o rbac.OrgID, w Window, how How) (Reading, error) {
	r := &orgReading{log: l, org: o, how: how, from: w.From, to: w.To}
	for _, position := range []string{w.From, w.To} {
		if _, err := monthOf(position); err != nil {
			return nil, ErrBadWindow
		}
	}
	return r, nil
}

// monthOf is the first moment of the month of a position.
func monthOf(position string) (time.Time, error) {
	const day = len("2006-01-02")
	if len(position) < day {
		return time.Time{}, ErrBadWindow
	}
	at, err := time.Parse("2006-01-02", position[:day])
	return at.AddDate(0, 0, 1-at.Day()), err
}

// orgReading merges the shards of one month, then goes on to the next or the
// one before.
type orgReading struct {
	log      *Log
	org      rbac.OrgID
	how      How
	from, to string // sort keys between which nothing was handed out yet
	month    time.Time
	within   Window // what the month's queries ask for
	shards   []shard
	ended    bool
}

// shard is one shard of the month, read page by page.
type shard struct {
	pk     string
	page   []*table.Item
	cursor string
	begun  bool
}

func (s *shard) over() bool { return s.begun && s.cursor == "" && len(s.page) == 0 }

func (r *orgReading) Next(ctx context.Context) (Record, bool, error) {
	for !r.ended {
		if r.shards == nil && !r.open() {
			break
		}
		ready, err := r.fill(ctx)
		if err != nil || !ready {
			return Record{}, false, err
		}
		if it := r.pick(); it != nil {
			rec, err := record(it)
			return rec, err == nil, err
		}
		r.close()
	}
	return Record{}, false, nil
}

// open begins the month that the window begins in, by the reading's direction;
// false when the window is empty.
func (r *orgReading) open() bool {
	if r.ended = r.from > r.to; r.ended {
		return false
	}
	edge := r.to
	if r.how.Ascending {
		edge = r.from
	}
	month, err := monthOf(edge)
	if r.ended = err != nil; r.ended { // positions were tested
		return false
	}
	r.month, r.within, r.shards = month, Window{r.from, r.to}, make([]shard, keys.AuditShards)
	for i := range r.shards {
		r.shards[i].pk = keys.OrgAuditMonth(r.org, month, i)
	}
	return true
}

// fill has an event of each shard at hand that has more; false when the queries
// are used up.
func (r *orgReading) fill(ctx context.Context) (bool, error) {
	for i := range r.shards {
		s := &r.shards[i]
		for len(s.page) == 0 && !s.over() {
			if r.how.Queries == 0 {
				return false, nil
			}
			r.how.Queries--
			page, err := r.log.Table.Query(ctx, table.Query{
				Index: keys.GSI2, PK: s.pk, From: r.within.From, To: r.within.To, Descending: !r.how.Ascending, Limit: r.how.Page, Cursor: s.cursor,
			})
			if err != nil {
				return false, err
			}
			s.page, s.cursor, s.begun = slices.DeleteFunc(page.Items, r.atEnd), page.Cursor, true
		}
	}
	return true, nil
}

// pick takes the next event of all shards; nil when the month is over.
func (r *orgReading) pick() *table.Item {
	var best *shard
	for i := range r.shards {
		s := &r.shards[i]
		if len(s.page) == 0 {
			continue
		}
		if best == nil || (sortKey(s.page[0]) < sortKey(best.page[0])) == r.how.Ascending {
			best = s
		}
	}
	if best == nil {
		return nil
	}
	it := best.page[0]
	best.page = best.page[1:]
	if r.how.Ascending {
		r.from = sortKey(it)
	} else {
		r.to = sortKey(it)
	}
	return it
}

// atEnd says whether an item is where the window ends, and was handed out before.
func (r *orgReading) atEnd(it *table.Item) bool {
	return sortKey(it) == r.within.From || sortKey(it) == r.within.To
}

func sortKey(it *table.Item) string { return it.Index[keys.GSI2-1].SK() }

// close goes on to the next month in the reading's direction.
func (r *orgReading) close() {
	r.shards = nil
	if r.how.Ascending {
		r.from = keys.OrgAuditSK(r.month.AddDate(0, 1, 0))
	} else {
		r.to = keys.OrgAuditSK(r.month.Add(-1)) + after
	}
}

func (r *orgReading) Rest() (Window, bool) { return Window{r.from, r.to}, !r.ended && r.from <= r.to }
