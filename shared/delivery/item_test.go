package delivery_test

import (
	"encoding/json"
	"testing"

	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/table/weak/memory"
)

func item(t *testing.T, k keys.Raw, version uint64, content any) *table.Item {
	t.Helper()
	body, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	return &table.Item{Key: k, Type: "Test", Version: version, Format: entity.Format, CreatedAt: at, UpdatedAt: at, Body: body}
}

// shard is the one shard of an in-memory table.
func shard(t *testing.T, s *memory.Store) string {
	t.Helper()
	shards, err := s.Shards(t.Context())
	if err != nil || len(shards) != 1 {
		t.Fatalf("shards %v, %v", shards, err)
	}
	return shards[0]
}
