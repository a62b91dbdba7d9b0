package check_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/wardenhq/warden/shared/access"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/snapshot"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

func newDefinitions() *snapshot.Cache { return snapshot.NewCache(1000) }

// broken is a table whose reads fail, or give back what corrupt makes of them.
type broken struct {
	table.Reader
	err     error
	corrupt func(*table.Item) *table.Item
	panics  bool
}

func (b broken) see(items []*table.Item, err error) ([]*table.Item, error) {
	if b.panics {
		panic("a defect")
	}
	if b.err != nil {
		return nil, b.err
	}
	for i, it := range items {
		if it != nil && b.corrupt != nil {
			items[i] = b.corrupt(it)
		}
	}
	return items, err
}

func (b broken) BatchGet(ctx context.Context, wanted []keys.Raw, c table.Consistency) ([]*table.Item, error) {
	items, err := b.Reader.BatchGet(ctx, wanted, c)
	return b.see(items, err)
}

func (b broken) TransactGet(ctx context.Context, wanted []keys.Raw) ([]*table.Item, error) {
	items, err := b.Reader.TransactGet(ctx, wanted)
	return b.see(items, err)
}

// Whatever keeps Warden from deciding is an error status.
func TestFailsClosed(t *testing.T) {
	only := func(kind string, edit func(*table.Item)) func(*table.Item) *table.Item {
		return func(it *table.Item) *table.Item {
			if it.Type != kind {
				return it
			}
			bad := *it
			edit(&bad)
			return &bad
		}
	}
	for _, c := range []struct {
		name   string
		table  broken
		status int
		code   fault.Code
	}{
		{"throttled", broken{err: table.ErrThrottled}, http.StatusServiceUnavailable, fault.Busy},
		{"conflict", broken{err: table.ErrConflict}, http.StatusServiceUnavailable, fault.Busy},
		{"deadline", broken{err: context.DeadlineExceeded}, http.StatusServiceUnavailable, fault.Busy},
		{"canceled", broken{err: context.Canceled}, http.StatusServiceUnavailable, fault.Busy},
		{"unknown outcome", broken{err: table.ErrUnknownOutcome}, http.StatusInternalServerError, fault.Internal},
		{"invalid key", broken{err: table.ErrInvalidKey}, http.StatusInternalServerError, fault.Internal},
		{"unknown format", broken{err: table.ErrFormat}, http.StatusInternalServerError, fault.Internal},
		{"limit", broken{err: &table.LimitError{Limit: "item size"}}, http.StatusInternalServerError, fault.Internal},
		{"anything", broken{err: errors.New("disk on fire")}, http.StatusInternalServerError, fault.Internal},
		{"panic", broken{panics: true}, http.StatusInternalServerError, fault.Internal},
		{"document cut off", broken{corrupt: only("Access", func(it *table.Item) { it.Blob = it.Blob[:len(it.Blob)-1] })}, http.StatusInternalServerError, fault.Internal},
		{"document empty", broken{corrupt: only("Access", func(it *table.Item) { it.Blob = nil })}, http.StatusInternalServerError, fault.Internal},
		{"document of another format", broken{corrupt: only("Access", func(it *table.Item) {
			it.Blob = append([]byte{access.Format + 1}, it.Blob[1:]...)
		})}, http.StatusInternalServerError, fault.Internal},
		{"HEAD cut off", broken{corrupt: only("Head", func(it *table.Item) { it.Blob = it.Blob[:3] })}, http.StatusInternalServerError, fault.Internal},
		{"key that is no JSON", broken{corrupt: only("APIKey", func(it *table.Item) { it.Body = []byte("{") })}, http.StatusInternalServerError, fault.Internal},
		{"key of another format", broken{corrupt: only("APIKey", func(it *table.Item) { it.Format = 99 })}, http.StatusInternalServerError, fault.Internal},
		{"item of another type", broken{corrupt: only("Access", func(it *table.Item) { it.Type = "Policy" })}, http.StatusInternalServerError, fault.Internal},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, a := acme(t)
			c.table.Reader = w.Table
			for _, q := range []question{read("reader"), read("reader").strong(), read("reader").atLeast(a.Role("nothing", []string{"*:read"}))} {
				s := serveTable(w, c.table)
				one := s.ask(a.Text, q)
				one.problem(c.status, c.code)
				many := s.askAll(a.Text, []question{q, q})
				many.problem(c.status, c.code)
				if c.status == http.StatusServiceUnavailable && one.header.Get("Retry-After") == "" {
					t.Errorf("no Retry-After: %v", one.header)
				}
				if strings.Contains(string(one.body), "disk") || strings.Contains(string(one.body), "defect") {
					t.Errorf("the cause is shown: %s", one.body)
				}
				if !strings.Contains(s.logged.String(), `"level":"ERROR"`) || !strings.Contains(s.logged.String(), one.header.Get("X-Request-Id")) {
					t.Errorf("not logged: %s", s.logged)
				}
				if strings.Contains(s.logged.String(), a.Text) {
					t.Errorf("the key is logged")
				}
			}
		})
	}
}

// A document that can't be read is one that failed, not one that is cached.
func TestFailuresAreNotCached(t *testing.T) {
	w, a := acme(t)
	b := &broken{Reader: w.Table, err: table.ErrThrottled}
	s := serveTable(w, b)
	s.ask(a.Text, read("reader")).problem(http.StatusServiceUnavailable, fault.Busy)
	b.err = nil
	if r := s.ask(a.Text, read("reader")).result(); !r.Allowed {
		t.Errorf("%+v", r)
	}
	b.err = table.ErrThrottled // what is cached needs no table
	if r := s.ask(a.Text, read("reader")).result(); !r.Allowed {
		t.Errorf("%+v", r)
	}
	w.Clock.Advance(3 * 1e9)
	s.ask(a.Text, read("reader")).problem(http.StatusServiceUnavailable, fault.Busy)
}

// A reader that was told of a write never answers from before it.
func TestOwnWritesShowAtOnce(t *testing.T) {
	w, a := acme(t)
	s := serve(w)
	w.Writer.Changed = s.checker.Cache.Drop
	for range 3 {
		if r := s.ask(a.Text, read("reader")).result(); !r.Allowed {
			t.Fatalf("%+v", r)
		}
		a.DeletePolicy("reader")
		if r := s.ask(a.Text, read("reader")).result(); r.Allowed {
			t.Fatalf("%+v", r)
		}
		a.Assign("reader", "reader")
	}
	a.Permission("invoice", "read", "deny")
	a.Role("reader", []string{"invoice:read", "!invoice:read"})
	if r := s.ask(a.Text, read("reader")).result(); r.Reason != "explicit-deny" {
		t.Errorf("%+v", r)
	}
	a.DeleteScope()
	if r := s.ask(a.Text, read("reader")).result(); r.Reason != "no-policy" {
		t.Errorf("%+v", r)
	}
}
