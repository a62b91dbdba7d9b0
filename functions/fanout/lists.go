package fanout

import (
	"context"
	"sync"
	"time"

	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table/keys"
)

// maxLists and maxListed bound how many lists are remembered, and how long ones.
const (
	maxLists  = 1000
	maxListed = 1000
)

// owner is whose webhooks a list has: a scope's, or all of an org's.
type owner struct {
	org   rbac.OrgID
	scope rbac.ScopeID // zero: of all scopes
}

// hook is a webhook and since when it is there.
type hook struct {
	entity.Webhook
	created time.Time
}

// list is webhooks as they were read.
type list struct {
	mu    sync.Mutex
	began time.Time // when the read began
	hooks []hook
}

// lists remembers lists.
type lists struct {
	mu  sync.Mutex
	all map[owner]*list
}

func (l *lists) of(o owner) *list {
	l.mu.Lock()
	defer l.mu.Unlock()
	if found := l.all[o]; found != nil {
		return found
	}
	if l.all == nil || len(l.all) >= maxLists {
		l.all = make(map[owner]*list)
	}
	made := new(list)
	l.all[o] = made
	return made
}

// wanted are the webhooks that are sent an event. Only a list that was read since
// the event arrived has every webhook that was there before it: the event's own
// time, and the webhook's, is when its request began, not when it was written.
func (f *Fanout) wanted(ctx context.Context, e happened, arrived time.Time) (out []entity.Webhook, err error) {
	o := owner{e.org, e.scope}
	l := f.hooks.of(o)
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := f.Clock.Now(); l.began.IsZero() || l.began.Before(arrived) {
		hooks, err := f.list(ctx, o)
		if err != nil {
			return nil, err
		}
		l.began, l.hooks = now, hooks
	}
	for _, h := range l.hooks {
		if wants(h.Webhook, h.created, e) {
			out = append(out, h.Webhook)
		}
	}
	if len(l.hooks) > maxListed {
		l.began, l.hooks = time.Time{}, nil
	}
	return out, nil
}

func (f *Fanout) list(ctx context.Context, o owner) (hooks []hook, err error) {
	in := keys.OrgWebhooks(o.org)
	if !o.scope.IsZero() {
		in = keys.Webhooks(o.org, o.scope)
	}
	err = stored.All(ctx, f.Table, in, func(r stored.Row[entity.Webhook]) bool {
		hooks = append(hooks, hook{r.Entity, r.Item.CreatedAt})
		return true
	})
	return hooks, err
}
