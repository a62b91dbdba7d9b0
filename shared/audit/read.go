package audit

import (
	"context"
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

const (
	// skew is how far the clocks of those who commit may be ahead of those who
	// append: an event is not recorded longer than that before its time.
	skew = 5 * time.Minute
	// lateness is how long after its time an event can be recorded: as long as
	// its event item lives.
	lateness = 14 * 24 * time.Hour
)

// ErrBadWindow is the error of a Window that no list gave.
var ErrBadWindow = errors.New("audit: not a window of this list")

// Window is what of a list is still to be read: from one position to another,
// both included. Lists say what their positions are.
type Window struct{ From, To string }

// Span is a span of time, both ends included; zero ends are open.
type Span struct{ From, To time.Time }

// Record is one event of the log.
type Record struct {
	Event events.Event
	Text  []byte // the event as it is stored: one line of JSON
}

// Reading is an ordered walk through a log with bounded work.
type Reading interface {
	// Next is the next record; false when all of the window was read, or Queries
	// are used up: Rest tells.
	Next(ctx context.Context) (Record, bool, error)
	// Rest is what follows the last record; false when nothing does.
	Rest() (Window, bool)
}

// How is a list is read.
type How struct {
	Ascending bool // oldest first
	Page      int  // events a query, 1 to 1,000
	Queries   int  // at most
}

func record(it *table.Item) (Record, error) {
	e, err := stored.Decode[events.Event](it)
	return Record{e, it.Body}, err
}

// ChainWindow is the part of a chain where events of a span of time can be. Its
// positions are seqs. A span costs reads by the logarithm of the chain's length.
func (l *Log) ChainWindow(ctx context.Context, id ID, s Span) (Window, error) {
	first, last := uint64(1), uint64(math.MaxUint64)
	if !s.From.IsZero() || !s.To.IsZero() {
		head, _, err := stored.Get(ctx, l.Table, id.head(), table.Strong)
		if err != nil {
			return Window{}, err
		}
		if !s.From.IsZero() {
			if first, err = l.firstAt(ctx, id, head.Seq, s.From.Add(-skew)); err != nil {
				return Window{}, err
			}
		}
		if !s.To.IsZero() {
			after, err := l.firstAt(ctx, id, head.Seq, s.To.Add(lateness))
			if err != nil {
				return Window{}, err
			}
			if after <= head.Seq {
				last = after
			}
		}
	}
	return window(first, last), nil
}

func window(first, last uint64) Window {
	return Window{strconv.FormatUint(first, 10), strconv.FormatUint(last, 10)}
}

// firstAt is the first seq that was recorded at the moment or later, count+1 when
// none was. What is past its retention was recorded before all that is not.
func (l *Log) firstAt(ctx context.Context, id ID, count uint64, at time.Time) (uint64, error) {
	low, high := uint64(1), count+1
	for low < high {
		middle := low + (high-low)/2
		it, err := l.Table.Get(ctx, id.event(middle), table.Strong)
		if err != nil {
			return 0, err
		}
		if it == nil || it.CreatedAt.Before(at) {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low, nil
}

// Chain reads a window of one chain by seq, as it is at the moment: no seq that
// is kept is left out.
func (l *Log) Chain(id ID, w Window, how How) (Reading, error) {
	first, err := strconv.ParseUint(w.From, 10, 64)
	if err != nil || first == 0 {
		return nil, ErrBadWindow
	}
	last, err := strconv.ParseUint(w.To, 10, 64)
	if err != nil {
		return nil, ErrBadWindow
	}
	return &chainReading{log: l, id: id, how: how, first: first, last: last}, nil
}

// chainReading reads from first to last, or back.
type chainReading struct {
	log         *Log
	id          ID
	how         How
	first, last uint64 // what was not handed out yet
	page        []*table.Item
	ended       bool // nothing is stored beyond the page
}

func (r *chainReading) Next(ctx context.Context) (Record, bool, error) {
	now := r.log.Clock.Now().Unix()
	for {
		for len(r.page) > 0 {
			it := r.page[0]
			r.page = r.page[1:]
			rec, err := record(it)
			if err != nil {
				return Record{}, false, err
			}
			if r.how.Ascending {
				r.first = rec.Event.Seq + 1
			} else {
				r.last = rec.Event.Seq - 1
			}
			if it.TTL == 0 || it.TTL > now { // the store may take its time to remove it
				return rec, true, nil
			}
		}
		if r.ended || r.how.Queries == 0 || r.first > r.last {
			return Record{}, false, nil
		}
		if err := r.read(ctx); err != nil {
			return Record{}, false, err
		}
	}
}

func (r *chainReading) read(ctx context.Context) error {
	r.how.Queries--
	from, to := keys.AuditBetween(r.first, r.last)
	page, err := r.log.Table.Query(ctx, table.Query{
		PK: r.id.head().Raw().PK(), From: from, To: to, Descending: !r.how.Ascending, Limit: r.how.Page, Consistency: table.Strong,
	})
	r.page, r.ended = page.Items, page.Cursor == ""
	return err
}

func (r *chainReading) Rest() (Window, bool) {
	more := len(r.page) > 0 || !r.ended
	return window(r.first, r.last), more && r.first <= r.last
}
