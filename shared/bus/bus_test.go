package bus_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/wardenhq/warden/shared/bus"
	"github.com/wardenhq/warden/shared/queue"
)

type target struct {
	got []string
	err error
}

func (q *target) Send(_ context.Context, ms []queue.Message) error {
	for _, m := range ms {
		q.got = append(q.got, m.Group+"/"+string(m.Body))
	}
	return q.err
}

func TestRules(t *testing.T) {
	all, roles, other := &target{}, &target{}, &target{}
	l := bus.Local{Rules: []bus.Rule{
		{Sources: []string{"warden"}, Target: all},
		{Sources: []string{"warden"}, Types: []string{"role.*", "org.created"}, Target: roles},
		{Sources: []string{"elsewhere"}, Target: other},
	}}
	entries := []bus.Entry{
		{Source: "warden", DetailType: "role.created", Group: "a", Detail: []byte("1")},
		{Source: "warden", DetailType: "roles.created", Group: "b", Detail: []byte("2")},
		{Source: "warden", DetailType: "org.created", Group: "a", Detail: []byte("3")},
	}
	if err := l.Put(t.Context(), entries); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(all.got, []string{"a/1", "b/2", "a/3"}) || !slices.Equal(roles.got, []string{"a/1", "a/3"}) || len(other.got) != 0 {
		t.Errorf("all %v, roles %v, other %v", all.got, roles.got, other.got)
	}
}

func TestFailuresAreTold(t *testing.T) {
	broken := errors.New("no disk")
	l := bus.Local{Rules: []bus.Rule{{Sources: []string{"warden"}, Target: &target{err: broken}}}}
	if err := l.Put(t.Context(), []bus.Entry{{Source: "warden"}}); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if err := l.Put(t.Context(), []bus.Entry{{Source: "warden", Detail: make([]byte, bus.MaxEntryBytes+1)}}); err == nil {
		t.Error("an oversized entry was accepted")
	}
}
