package decide

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/wardenhq/warden/shared/table/keys"
)

// Cache is what a warm process keeps of documents, HEADs and API keys between
// checks, absent ones too. It never decides how old is too old: every entry
// tells when its read began. Safe for concurrent use.
type Cache struct {
	seed   maphash.Seed
	shards []cacheShard
	limit  int // bytes a shard
}

// A cache has a shard for each so many bytes, and no more shards than that.
const (
	shardBytes = 4 << 20
	maxShards  = 16
)

// entryBytes is about what an entry costs besides what it holds.
const entryBytes = 400

type cacheShard struct {
	mu      sync.RWMutex
	entries map[keys.Raw]entry
	bytes   int
	drops   uint64 // raised by every Drop: a read that began before must not be kept after
}

// entry is what was read under a key.
type entry struct {
	value any       // *document, *head.Head, *entity.APIKey or *entity.OperatorKey; nil: there was none
	size  int       // bytes
	begun time.Time // when the read began, by the monotonic clock
}

// young says whether a default answer may rest on it.
func (e entry) young(now time.Time) bool { return now.Sub(e.begun) <= MaxAge }

// NewCache makes a cache of about that many bytes.
func NewCache(bytes int) *Cache {
	n := min(max(1, bytes/shardBytes), maxShards)
	c := &Cache{seed: maphash.MakeSeed(), shards: make([]cacheShard, n), limit: bytes / n}
	for i := range c.shards {
		c.shards[i].entries = make(map[keys.Raw]entry)
	}
	return c
}

func (c *Cache) shard(k keys.Raw) *cacheShard {
	return &c.shards[maphash.String(c.seed, k.PK())%uint64(len(c.shards))]
}

func (c *Cache) get(k keys.Raw) (entry, bool) {
	s := c.shard(k)
	s.mu.RLock()
	e, ok := s.entries[k]
	s.mu.RUnlock()
	return e, ok
}

// ticket is taken before a read begins and shown when its result is kept.
type ticket uint64

func (c *Cache) ticket(k keys.Raw) ticket {
	s := c.shard(k)
	s.mu.RLock()
	defer s.mu.RUnlock()
	return ticket(s.drops)
}

// put keeps what was read, unless something in the shard was dropped since the
// ticket was taken: then the read may have been from before a write.
func (c *Cache) put(k keys.Raw, t ticket, e entry) {
	s := c.shard(k)
	e.size += entryBytes + len(k.PK()) + len(k.SK())
	s.mu.Lock()
	defer s.mu.Unlock()
	if uint64(t) != s.drops {
		return
	}
	s.remove(k)
	for other := range s.entries { // any other: what is too old leaves by chance as well as the rest
		if s.bytes+e.size <= c.limit {
			break
		}
		s.remove(other)
	}
	s.entries[k] = e
	s.bytes += e.size
}

func (s *cacheShard) remove(k keys.Raw) {
	if e, ok := s.entries[k]; ok {
		s.bytes -= e.size
		delete(s.entries, k)
	}
}

// Drop forgets the keys. A process that writes calls it before it answers, so
// that it is never behind its own writes.
func (c *Cache) Drop(written []keys.Raw) {
	for _, k := range written {
		s := c.shard(k)
		s.mu.Lock()
		s.drops++
		s.remove(k)
		s.mu.Unlock()
	}
}
