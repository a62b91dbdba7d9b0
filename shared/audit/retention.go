package audit

import (
	"context"
	"time"

	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

const (
	// orphaned is the retention of what belongs to an org that is gone.
	orphaned = 365 * 24 * time.Hour
	// retentionAge is how long an org's retention is remembered.
	retentionAge = time.Minute
	// maxRetentions bounds how many orgs' are.
	maxRetentions = 10_000
)

type retention struct {
	keep time.Duration
	read time.Time
}

// keep is how long an org's events are kept. It may be a minute old.
func (l *Log) keep(ctx context.Context, o rbac.OrgID) (time.Duration, error) {
	now := l.Clock.Now()
	l.mu.Lock()
	known, ok := l.retention[o]
	l.mu.Unlock()
	if ok && now.Sub(known.read) < retentionAge {
		return known.keep, nil
	}
	org, it, err := stored.Get(ctx, l.Table, keys.Org(o), table.Eventual)
	if err != nil {
		return 0, err
	}
	r := retention{orphaned, now}
	if it != nil && org.AuditRetentionDays > 0 {
		r.keep = time.Duration(org.AuditRetentionDays) * 24 * time.Hour
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.retention == nil || len(l.retention) >= maxRetentions {
		l.retention = make(map[rbac.OrgID]retention)
	}
	l.retention[o] = r
	return r.keep, nil
}
