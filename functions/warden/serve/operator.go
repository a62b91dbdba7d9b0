package serve

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/wardenhq/warden/shared/auth"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// ensureOperatorKey makes an operator key when none is stored, and returns its
// text then. Only its hash is stored.
func ensureOperatorKey(ctx context.Context, store table.Store, now time.Time) (text string, err error) {
	has, err := hasOperatorKey(ctx, store)
	if err != nil || has {
		return "", err
	}
	key := entity.OperatorKey{ID: auth.NewKeyID()}
	text, key.Hash = auth.NewOperatorKey(key.ID)
	body, err := json.Marshal(key)
	if err != nil {
		return "", fmt.Errorf("serve: operator key: %w", err)
	}
	now = now.UTC().Round(0)
	err = store.Transact(ctx, table.Tx{Ops: []table.Op{table.Put(&table.Item{
		Key: keys.OperatorKey(key.ID).Raw(), Type: "OperatorKey", Version: 1, Format: entity.Format,
		CreatedAt: now, UpdatedAt: now, Actor: "system:serve", Body: body,
	}, table.Absent())}})
	if err != nil {
		return "", fmt.Errorf("serve: operator key: %w", err)
	}
	return text, nil
}

func hasOperatorKey(ctx context.Context, store table.Reader) (bool, error) {
	stored := keys.OperatorKeys()
	page, err := store.Query(ctx, table.Query{PK: stored.PK(), Prefix: stored.Prefix(), Limit: 1, Consistency: table.Strong})
	if err != nil {
		return false, fmt.Errorf("serve: operator keys: %w", err)
	}
	return len(page.Items) > 0, nil
}
