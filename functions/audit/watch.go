package audit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/head"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

const (
	// patience is how long a change may wait for its event: longer than an event
	// that the stream lost waits for the sweeper.
	patience = 12 * time.Minute
	// remembered is how long a suspicion is kept once it is settled, so that the
	// same change does not raise it again.
	remembered = 14 * 24 * time.Hour
)

// watch looks for the event that claims a change. In the usual case it is in the
// same batch, and costs nothing; else it is read where the change says it is; a
// change without one is noted, and judged when patience is over.
func (a *Audit) watch(ctx context.Context, c table.Change, claims claims) error {
	shown := c.New
	if shown == nil {
		shown = c.Old
	}
	kind, matters := kindOf(shown)
	if !matters {
		return nil
	}
	org, scope := keys.ParseOwner(shown.Key)
	if org.IsZero() && scope.IsZero() {
		return nil // in no tenant's partition
	}
	s := entity.Suspicion{Org: org, Scope: scope, At: c.At.UTC().Round(0), Kind: kind, ID: idOf(shown), Before: trace(c.Old), After: trace(c.New)}
	var innocent bool
	var err error
	if c.New != nil {
		s.Claim = claim(c)
		innocent, err = a.writeClaimed(ctx, c, s, claims)
	} else {
		innocent, err = a.removalClaimed(ctx, c, s, claims)
	}
	if err != nil || innocent {
		return err
	}
	return a.suspect(ctx, c, s)
}

// claim is the event that a written item names; empty when it still names the one
// of the write before.
func claim(c table.Change) string {
	if c.Old != nil && c.Old.LastEvent == c.New.LastEvent {
		return ""
	}
	return c.New.LastEvent
}

func (a *Audit) writeClaimed(ctx context.Context, c table.Change, s entity.Suspicion, claims claims) (bool, error) {
	if s.Claim == "" {
		return quiet(c.Old, c.New), nil
	}
	if claims.ids[s.Claim] {
		return true, nil
	}
	key := keys.OrgEvent(s.Org, c.New.UpdatedAt, s.Claim).Raw()
	if !s.Scope.IsZero() {
		key = keys.ScopeEvent(s.Scope, 0, c.New.UpdatedAt, s.Claim).Raw()
	}
	if !key.Valid() {
		return false, nil
	}
	it, err := a.Table.Get(ctx, key, table.Strong)
	return it != nil, err
}

func (a *Audit) removalClaimed(ctx context.Context, c table.Change, s entity.Suspicion, claims claims) (bool, error) {
	switch {
	case c.Old.TTL != 0 && c.Old.TTL <= c.At.Unix():
		return true, nil // by the store, whether it says so or not
	case claims.targets[events.Target{Type: s.Kind, ID: s.ID}], closing(c.Old):
		return true, nil
	}
	return a.beingPurged(ctx, s)
}

// beingPurged says whether the scope or org that the change was in is deleted:
// its event said that all of it goes.
func (a *Audit) beingPurged(ctx context.Context, s entity.Suspicion) (bool, error) {
	if s.Scope.IsZero() {
		org, it, err := stored.Get(ctx, a.Table, keys.Org(s.Org), table.Strong)
		return err == nil && it != nil && org.Status == entity.OrgDeleting, err
	}
	h, err := a.head(ctx, s.Scope)
	return h != nil && h.Deleted, err
}

func (a *Audit) head(ctx context.Context, s rbac.ScopeID) (*head.Head, error) {
	it, err := a.Table.Get(ctx, keys.Head(s).Raw(), table.Strong)
	if err != nil || it == nil {
		return nil, err
	}
	return head.Decode(it)
}

// suspect notes a change, once however often the stream tells it.
func (a *Audit) suspect(ctx context.Context, c table.Change, s entity.Suspicion) error {
	if s.Org.IsZero() {
		h, err := a.head(ctx, s.Scope)
		if err != nil {
			return err
		}
		if h == nil {
			a.Report.ErrorContext(ctx, "a change in no org's scope has no event", "key", itemKey(c).String())
			return nil // there is no log to show it in
		}
		s.Org = h.Org
	}
	now := a.Clock.Now().UTC().Round(0)
	s.EventID = a.EventID(now)
	it, err := suspicionItem(keys.Suspicion(c.Shard, c.Sequence).Raw(), s, nil, now)
	if err != nil {
		return err
	}
	it.Index[keys.GSI4-1] = keys.AuditWorkAt(keys.SuspicionDue, now.Add(patience), s.EventID)
	err = a.Table.Transact(ctx, table.Tx{Ops: []table.Op{table.Put(it, table.Absent())}})
	var canceled *table.CanceledError
	if errors.As(err, &canceled) {
		return nil // noted before
	}
	return err
}

func itemKey(c table.Change) keys.Raw {
	if c.New != nil {
		return c.New.Key
	}
	return c.Old.Key
}

func suspicionItem(key keys.Raw, s entity.Suspicion, old *table.Item, now time.Time) (*table.Item, error) {
	body, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("audit: suspicion: %w", err)
	}
	it := &table.Item{
		Key: key, Type: "Suspicion", Version: table.VersionOf(old) + 1, Format: entity.Format,
		CreatedAt: now, UpdatedAt: now, Actor: actor.Type + ":" + actor.ID, Body: body, TTL: now.Add(remembered).Unix(),
	}
	if old != nil {
		it.CreatedAt = old.CreatedAt
	}
	return it, nil
}

// trace is what an event shows of an item; nil for none.
func trace(it *table.Item) *entity.Trace {
	if it == nil {
		return nil
	}
	sum := sha256.New()
	sum.Write(it.Body)
	sum.Write(it.Blob)
	return &entity.Trace{
		Key: it.Key.String(), Type: it.Type, Version: it.Version, SHA256: hex.EncodeToString(sum.Sum(nil)),
		UpdatedAt: it.UpdatedAt.UTC(), Actor: it.Actor, LastEvent: it.LastEvent,
	}
}
