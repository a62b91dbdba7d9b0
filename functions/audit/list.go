package audit

import (
	"context"
	"errors"
	"math"
	"net/url"

	"github.com/wardenhq/warden/events"
	trail "github.com/wardenhq/warden/shared/audit"
	"github.com/wardenhq/warden/shared/httpapi"
	"github.com/wardenhq/warden/shared/httpapi/segment"
	"github.com/wardenhq/warden/shared/table"
)

const (
	// queriesOfChain and queriesOfOrg bound the work of one request, so that a
	// filter that matches little gives a short page and a cursor.
	queriesOfChain = 10
	queriesOfOrg   = 40
	// exportBytes is where a part of an export ends, at a whole line.
	exportBytes = 4_000_000
	// exportPage is how many events an export reads at once.
	exportPage = 1000
)

// source is a log that a call reads.
type source struct {
	id      trail.ID
	path    string
	queries int
	window  func(context.Context, trail.Span) (trail.Window, error)
	read    func(trail.Window, trail.How) (trail.Reading, error)
}

func (a *Audit) scopeSource(ctx context.Context, c *httpapi.Call) (source, error) {
	id, err := a.scopeOf(ctx, c)
	return source{
		id: id, path: "/v1/scopes/" + segment.Encode(id.Scope.String()) + "/audit", queries: queriesOfChain,
		window: func(ctx context.Context, s trail.Span) (trail.Window, error) { return a.Log.ChainWindow(ctx, id, s) },
		read:   func(w trail.Window, how trail.How) (trail.Reading, error) { return a.Log.Chain(id, w, how) },
	}, err
}

func (a *Audit) orgSource(ctx context.Context, c *httpapi.Call) (source, error) {
	org, it, err := a.orgOf(ctx, c)
	if err != nil {
		return source{}, err
	}
	return source{
		id: trail.ID{Org: org.ID}, path: "/v1/orgs/" + segment.Encode(org.ID.String()) + "/audit", queries: queriesOfOrg,
		window: func(_ context.Context, s trail.Span) (trail.Window, error) {
			return a.Log.OrgWindow(it.CreatedAt, s), nil
		},
		read: func(w trail.Window, how trail.How) (trail.Reading, error) { return a.Log.Org(org.ID, w, how) },
	}, nil
}

type reply = httpapi.Reply[httpapi.Page[events.Event]]

// list answers a call to a log.
func (a *Audit) list(of func(context.Context, *httpapi.Call) (source, error)) func(context.Context, *httpapi.Call, httpapi.None) (reply, error) {
	return func(ctx context.Context, c *httpapi.Call, _ httpapi.None) (reply, error) {
		s, err := of(ctx, c)
		if err != nil {
			return reply{}, err
		}
		f, err := readFilter(c)
		if err != nil {
			return reply{}, err
		}
		switch media := c.Accepts(); media {
		case mediaNDJSON:
			return s.export(ctx, c, &f, ndjson{})
		case mediaCSV:
			return s.export(ctx, c, &f, newTable(c.Cursor() == ""))
		default:
			return s.page(ctx, c, &f)
		}
	}
}

// open begins to read where the call's cursor says.
func (s *source) open(ctx context.Context, c *httpapi.Call, f *filter, page int) (trail.Reading, error) {
	var w trail.Window
	var err error
	if at := c.Cursor(); at != "" {
		w, err = readCursor(s.id, f, at)
	} else {
		w, err = s.window(ctx, f.span)
	}
	if err != nil {
		return nil, err
	}
	reading, err := s.read(w, trail.How{Ascending: f.order == oldestFirst, Page: page, Queries: s.queries})
	if errors.Is(err, trail.ErrBadWindow) {
		return nil, table.ErrBadCursor
	}
	return reading, err
}

// page answers with JSON.
func (s *source) page(ctx context.Context, c *httpapi.Call, f *filter) (reply, error) {
	page := httpapi.Page[events.Event]{Items: []events.Event{}}
	size := c.Limit()
	if f.narrow() {
		size = exportPage
	}
	reading, err := s.open(ctx, c, f, size)
	if err != nil {
		return reply{}, err
	}
	bytes := 0
	rest, more, err := walk(ctx, reading, f, c.Limit(), func(r trail.Record) (bool, error) {
		if bytes += len(r.Text); bytes > httpapi.MaxPageBytes && len(page.Items) > 0 {
			return false, nil
		}
		page.Items = append(page.Items, r.Event)
		return true, nil
	})
	if err != nil {
		return reply{}, err
	}
	if more {
		page.NextCursor = cursor(s.id, f, rest)
	}
	return reply{Body: page}, nil
}

// lines is a form of exports.
type lines interface {
	media() string
	// add appends a record's line to the part.
	add(part []byte, r trail.Record) ([]byte, error)
	// head is what the part begins with.
	head() []byte
}

// export answers with whole lines up to the bound, and a link to what follows.
func (s *source) export(ctx context.Context, c *httpapi.Call, f *filter, form lines) (reply, error) {
	reading, err := s.open(ctx, c, f, exportPage)
	if err != nil {
		return reply{}, err
	}
	limit := math.MaxInt
	if _, given := c.Query("limit"); given {
		limit = c.Limit()
	}
	part := form.head()
	rest, more, err := walk(ctx, reading, f, limit, func(r trail.Record) (bool, error) {
		longer, err := form.add(part, r)
		if err != nil || len(longer) > exportBytes && len(part) > 0 {
			return false, err
		}
		part = longer
		return true, nil
	})
	if err != nil {
		return reply{}, err
	}
	answer := reply{Raw: &httpapi.Raw{MediaType: form.media(), Body: part}}
	if more {
		answer.Next = s.path + "?" + s.next(c, cursor(s.id, f, rest))
	}
	return answer, nil
}

// next is the query of what follows: the call's own, from the cursor on.
func (s *source) next(c *httpapi.Call, at string) string {
	q := url.Values{"cursor": {at}}
	for _, p := range c.Route().QueryParams() {
		if v, given := c.Query(p.Name); given && p.Name != "cursor" {
			q.Set(p.Name, v)
		}
	}
	return q.Encode()
}

// walk hands records that match to take, up to a limit and as long as it takes
// them; rest is what was not taken.
func walk(ctx context.Context, reading trail.Reading, f *filter, limit int, take func(trail.Record) (bool, error)) (rest trail.Window, more bool, err error) {
	for n := 0; n < limit; {
		rest, _ = reading.Rest()
		rec, ok, err := reading.Next(ctx)
		if err != nil {
			return rest, false, err
		}
		if !ok {
			break
		}
		if !f.matches(&rec.Event) {
			continue
		}
		taken, err := take(rec)
		if err != nil || !taken {
			return rest, true, err
		}
		n++
	}
	rest, more = reading.Rest()
	return rest, more, nil
}
