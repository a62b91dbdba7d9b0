package memory

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/wardenhq/warden/shared/table"
)

// shard is the only one there is.
const shard = "memory"

func sequence(n int) string { return fmt.Sprintf("%020d", n) }

// Shards implements table.Feed.
func (s *Store) Shards(ctx context.Context) ([]string, error) { return []string{shard}, ctx.Err() }

// Changes implements table.Feed. Nothing is forgotten.
func (s *Store) Changes(ctx context.Context, in, after string, limit int) ([]table.Change, string, error) {
	if err := ctx.Err(); err != nil {
		return nil, "", err
	}
	start := 0
	if after != "" {
		n, err := strconv.Atoi(after)
		if err != nil {
			return nil, "", fmt.Errorf("memory: position %q: %w", after, err)
		}
		start = n
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if in != shard || start < 0 || start > len(s.log) {
		return nil, "", fmt.Errorf("memory: no position %q in shard %q", after, in)
	}
	changes := slices.Clone(s.log[start:min(len(s.log), start+max(limit, 0))])
	if len(changes) == 0 {
		return nil, after, nil
	}
	return changes, changes[len(changes)-1].Sequence, nil
}
