package decide

import (
	"context"

	"github.com/wardenhq/warden/shared/auth"
	"github.com/wardenhq/warden/shared/head"
	"github.com/wardenhq/warden/shared/table/keys"
)

// One answers one question as Check does, and without any of Check's bookkeeping
// when all that it needs is cached, young and current: most questions are.
func (c *Checker) One(ctx context.Context, cred auth.Credential, q *Question) (Answer, error) {
	if !q.Strong {
		if a, ok, err := c.warm(cred, q); ok || err != nil {
			return a, err
		}
	}
	as, err := c.Check(ctx, cred, []Question{*q})
	if err != nil {
		return Answer{}, err
	}
	return as[0], nil
}

// warm answers from the cache. ok is false when a read is needed for that.
func (c *Checker) warm(cred auth.Credential, q *Question) (a Answer, ok bool, err error) {
	who := c.caller(cred)
	now := c.Clock.Now()
	doc, ok1 := c.Cache.get(keys.Access(q.Scope, q.Subject).Raw())
	hd, ok2 := c.Cache.get(keys.Head(q.Scope).Raw())
	if !ok1 || !ok2 || !doc.young(now) || !hd.young(now) {
		return a, false, nil
	}
	var key entry
	if who.stored {
		var ok bool
		if key, ok = c.Cache.get(who.key); !ok || !key.young(now) {
			return a, false, nil
		}
	}
	p, err := c.verify(&who, key.value)
	if err != nil {
		return a, false, err
	}
	d, _ := doc.value.(*document)
	h, _ := hd.value.(*head.Head)
	h, d = see(p, q, h, d)
	switch {
	case q.AtLeast != nil && unproved(q, h, d):
		return a, false, nil
	case d == nil:
		return noPolicy(q, h), true, c.charge(p, 1)
	}
	if a, ok, err = fresh(q, h, d, now); !ok || err != nil {
		return a, ok, err
	}
	a.Revision = proved(q, h, d)
	return a, true, c.charge(p, 1)
}
