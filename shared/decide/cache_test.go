package decide

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/table/keys"
)

func accessKey(i int) keys.Raw {
	return keys.Access(rbac.Must(rbac.ParseScopeID("acme")), rbac.Must(rbac.ParseSubjectID(fmt.Sprint("s", i)))).Raw()
}

func TestCacheKeepsAbsence(t *testing.T) {
	c, k, begun := NewCache(1<<20), accessKey(1), time.Unix(100, 0)
	if _, ok := c.get(k); ok {
		t.Error("something before anything")
	}
	c.put(k, c.ticket(k), entry{begun: begun})
	if e, ok := c.get(k); !ok || e.value != nil || !e.begun.Equal(begun) {
		t.Errorf("%+v %v", e, ok)
	}
	if e, _ := c.get(k); !e.young(begun.Add(MaxAge)) || e.young(begun.Add(MaxAge+1)) {
		t.Error("young is at most MaxAge old")
	}
}

// A read that began before a write must not be kept after it: it may have seen
// what was before.
func TestDropDiscardsReadsUnderWay(t *testing.T) {
	c, k := NewCache(1<<20), accessKey(1)
	before := c.ticket(k)
	c.Drop([]keys.Raw{k})
	c.put(k, before, entry{value: "old"})
	if e, ok := c.get(k); ok {
		t.Errorf("kept %v, read before the write", e.value)
	}
	c.put(k, c.ticket(k), entry{value: "new"})
	c.Drop([]keys.Raw{k})
	if e, ok := c.get(k); ok {
		t.Errorf("kept %v over the write", e.value)
	}
}

func TestCacheIsBounded(t *testing.T) {
	const limit = 64 << 10
	c := NewCache(limit)
	for i := range 5000 {
		k := accessKey(i)
		c.put(k, c.ticket(k), entry{value: i, size: i % 500})
	}
	total, kept := 0, 0
	for i := range c.shards {
		s := &c.shards[i]
		bytes := 0
		for k, e := range s.entries {
			bytes += e.size
			kept++
			if e.size < entryBytes+len(k.PK()) {
				t.Errorf("an entry counts %d bytes", e.size)
			}
		}
		if bytes != s.bytes {
			t.Errorf("shard %d counts %d bytes, holds %d", i, s.bytes, bytes)
		}
		total += bytes
	}
	if total > limit || kept < limit/2000 {
		t.Errorf("%d entries of %d bytes within %d", kept, total, limit)
	}
	// The same key again replaces its entry.
	k := accessKey(4999)
	for range 100 {
		c.put(k, c.ticket(k), entry{value: "again", size: 100})
	}
	if e, ok := c.get(k); !ok || e.value != "again" {
		t.Errorf("%v %v", e.value, ok)
	}
}

func TestCacheIsSafeTogether(t *testing.T) {
	c := NewCache(16 << 10)
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := range 500 {
				k := accessKey((i * (worker + 1)) % 50)
				c.put(k, c.ticket(k), entry{value: k})
				if e, ok := c.get(k); ok && e.value != k {
					t.Errorf("under %v stands %v", k, e.value)
				}
				c.Drop([]keys.Raw{k})
			}
		})
	}
	wg.Wait()
}
