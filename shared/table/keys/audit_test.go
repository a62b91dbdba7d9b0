package keys_test

import (
	"strings"
	"testing"
	"time"

	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/table/keys"
)

func TestAuditKeysSortBySeqAndTime(t *testing.T) {
	from, to := keys.AuditBetween(9, 1<<63)
	if sk := keys.ScopeAudit(scope, 10).Raw().SK(); sk < from || sk > to || from != keys.OrgAudit(org, 9).Raw().SK() {
		t.Errorf("%s is not between %s and %s", sk, from, to)
	}
	from, to = keys.CheckpointsBetween(0, 9)
	for count, in := range map[uint64]bool{0: true, 9: true, 10: false} {
		if sk := keys.ScopeCheckpoint(scope, count, at).Raw().SK(); (sk >= from && sk <= to) != in {
			t.Errorf("%s between %s and %s: %v", sk, from, to, !in)
		}
	}
	from, to = keys.EventsBetween(at, at.Add(time.Second))
	for after, in := range map[time.Duration]bool{0: true, time.Second: true, -1: false, time.Second + 1: false} {
		k := keys.ScopeEvent(scope, 0, at.Add(after), "evt_1").Raw()
		if (k.SK() >= from && k.SK() <= to) != in || k.PK() != keys.ScopeEvents(scope, 0).PK() {
			t.Errorf("%s between %s and %s: %v", k, from, to, !in)
		}
	}
	if k := keys.OrgEvent(org, at, "evt_1").Raw(); k.PK() != keys.OrgEvents(org).PK() || !strings.HasPrefix(k.SK(), keys.OrgEvents(org).Prefix()) {
		t.Errorf("%s is not in the org's outbox", k)
	}
}

func TestAuditIndexKeys(t *testing.T) {
	in := keys.OrgAuditAt(org, at, 7, "evt_1")
	if in.PK() != keys.OrgAuditMonth(org, at, keys.AuditShard("evt_1")) || !strings.HasPrefix(in.SK(), keys.OrgAuditSK(at)) {
		t.Errorf("%+v", in)
	}
	if later := keys.OrgAuditAt(org, at, 8, "evt_0"); later.SK() <= in.SK() {
		t.Errorf("%s does not sort after %s", later.SK(), in.SK())
	}
	if keys.OrgAuditMonth(rbac.OrgID{}, at, 0) != "" {
		t.Error("no org has a log")
	}
	seen := map[int]bool{}
	for _, id := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		seen[keys.AuditShard(id)] = true
	}
	if len(seen) < 2 {
		t.Error("every event is in one shard")
	}
	due := keys.AuditWorkAt(keys.CheckpointDue, at, "x")
	found := 0
	for shard := range keys.DueShards {
		if pk, from, to := keys.AuditWorkUntil(keys.CheckpointDue, shard, at); due.PK() == pk && due.SK() >= from && due.SK() <= to {
			found++
		}
		if pk, _, to := keys.AuditWorkUntil(keys.CheckpointDue, shard, at.Add(-1)); due.PK() == pk && due.SK() <= to {
			t.Error("due too early")
		}
	}
	if found != 1 {
		t.Errorf("due in %d shards", found)
	}
}

func TestParseOwner(t *testing.T) {
	for name, c := range map[string]struct {
		key   keys.Raw
		org   rbac.OrgID
		scope rbac.ScopeID
	}{
		"in a scope":   {keys.Policy(scope, subject).Raw(), rbac.OrgID{}, scope},
		"in an org":    {keys.Scope(org, scope).Raw(), org, rbac.ScopeID{}},
		"in neither":   {keys.Access(scope, subject).Raw(), rbac.OrgID{}, rbac.ScopeID{}},
		"not anywhere": {keys.Raw{}, rbac.OrgID{}, rbac.ScopeID{}},
	} {
		if o, s := keys.ParseOwner(c.key); o != c.org || s != c.scope {
			t.Errorf("%s: %q %q", name, o, s)
		}
	}
}
