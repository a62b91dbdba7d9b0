package admin

import (
	"context"
	"net/http"

	"github.com/wardenhq/warden/shared/httpapi"
	"github.com/wardenhq/warden/shared/httpapi/segment"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/write"
)

// show is how an entity is shown with its item.
type show[E, T any] func(*table.Item, E) T

// one answers a GET with the entity under a key; alive false, or no item, is the
// fault missing.
func one[E, T any](ctx context.Context, a *api, k keys.Key[E], missing error, alive func(E) bool, as show[E, T]) (httpapi.Reply[T], error) {
	e, it, err := stored.Get(ctx, a.table, k, table.Strong)
	switch {
	case err != nil:
		return httpapi.Reply[T]{}, err
	case it == nil || !alive(e):
		return httpapi.Reply[T]{}, missing
	}
	body := as(it, e)
	return httpapi.Reply[T]{Body: body, Version: versionOf(body)}, nil
}

func always[E any](E) bool { return true }

// list answers a GET with a page of the entities of a range, those that are
// not alive left out.
func list[E, T any](ctx context.Context, a *api, c *httpapi.Call, in keys.Range[E], alive func(E) bool, as show[E, T]) (httpapi.Reply[httpapi.Page[T]], error) {
	q := table.Query{Index: in.Index(), PK: in.PK(), Prefix: in.Prefix(), Consistency: in.Index() == keys.Table}
	page, err := httpapi.ReadPage(ctx, c, a.table, q, func(it *table.Item) (shown T, ok bool, err error) {
		e, err := stored.Decode[E](it)
		if err != nil || !alive(e) {
			return shown, false, err
		}
		return as(it, e), true, nil
	})
	return httpapi.Reply[httpapi.Page[T]]{Body: page}, err
}

// changed answers a write with the resource as it is now: 201 when it was made.
func changed[E, T any](out write.Outcome, as show[E, T]) (httpapi.Reply[T], error) {
	e, err := stored.Decode[E](out.Item)
	if err != nil {
		return httpapi.Reply[T]{}, err
	}
	r := httpapi.Reply[T]{Status: http.StatusOK, Body: as(out.Item, e), Revision: out.Revision}
	r.Version = versionOf(r.Body)
	if out.Created {
		r.Status = http.StatusCreated
	}
	return r, nil
}

// versionOf is the version that a resource shows, and its ETag with it.
func versionOf(shown any) uint64 {
	if s, ok := shown.(interface{ At() uint64 }); ok {
		return s.At()
	}
	return 0
}

// deleted answers a write that left nothing to show.
func deleted(out write.Outcome) httpapi.Reply[httpapi.None] {
	return httpapi.Reply[httpapi.None]{Revision: out.Revision}
}

// path is the path of a resource: literals and ids in turn.
func path(parts ...string) string {
	p := "/v1"
	for i, s := range parts {
		if i%2 == 1 {
			s = segment.Encode(s)
		}
		p += "/" + s
	}
	return p
}
