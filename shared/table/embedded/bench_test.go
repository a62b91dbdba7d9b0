package embedded_test

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/embedded"
	"github.com/wardenhq/warden/shared/table/keys"
)

func BenchmarkGet4KB(b *testing.B) {
	s := open(b, embedded.Options{Dir: embedded.Memory})
	fill(b, s, 1_000, 4<<10)
	key := policyKey(500)
	b.ReportAllocs()
	for b.Loop() {
		if it, err := s.Get(b.Context(), key, table.Eventual); it == nil || err != nil {
			b.Fatal(it, err)
		}
	}
}

func BenchmarkQuery100(b *testing.B) {
	s := open(b, embedded.Options{Dir: embedded.Memory})
	fill(b, s, 1_000, 300)
	for name, q := range map[string]table.Query{
		"table": {PK: "SCOPE#s", Prefix: "POLICY#", Limit: 100},
		"index": {Index: keys.GSI2, PK: "BY-TIME", Limit: 100},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if page, err := s.Query(b.Context(), q); len(page.Items) != 100 || err != nil {
					b.Fatal(len(page.Items), err)
				}
			}
		})
	}
}

// BenchmarkTransact is a policy write's transaction: six items, an index entry, a token.
func BenchmarkTransact(b *testing.B) {
	const filled = 10_000
	for _, writers := range []int{1, 32} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			s := open(b, embedded.Options{Dir: b.TempDir()})
			fill(b, s, filled, 300)
			var next atomic.Int64
			var all sync.WaitGroup
			before := s.Commits(b)
			b.ReportAllocs()
			b.ResetTimer()
			for range writers {
				all.Go(func() {
					for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
						if err := s.Transact(context.Background(), policyTx(filled+int(n), 300)); err != nil {
							b.Error(err)
						}
					}
				})
			}
			all.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tx/s")
			b.ReportMetric(float64(b.N)/float64(s.Commits(b)-before), "tx/commit")
		})
	}
}

// BenchmarkOpen opens 100,000 policies of six items each, and reads the first.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	s := open(b, embedded.Options{Dir: dir})
	fill(b, s, 100_000, 300)
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	for b.Loop() { // fills once, whatever the runs
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		s = open(b, embedded.Options{Dir: dir})
		if it, err := s.Get(b.Context(), policyKey(7), table.Strong); it == nil || err != nil {
			b.Fatal(it, err)
		}
	}
	b.ReportMetric(float64(m.HeapInuse)/(1<<20), "heap-MB")
}

func policyKey(n int) keys.Raw { return keys.Stored("SCOPE#s", fmt.Sprintf("POLICY#user-%06d", n)) }

func policyTx(n, size int) table.Tx {
	at := time.Unix(int64(n), 0).UTC()
	user := fmt.Sprintf("user-%06d", n)
	make := func(pk, sk string) *table.Item {
		return &table.Item{
			Key: keys.Stored(pk, sk), Type: "policy", Version: 1, Format: 1, CreatedAt: at, UpdatedAt: at,
			Actor: "api_key:key_1", RequestID: "req_01J8", LastEvent: "01J8ZQ", Body: bytes.Repeat([]byte("b"), size),
		}
	}
	policy := make("SCOPE#s", "POLICY#"+user)
	policy.Index[1] = keys.StoredIndexKey("BY-TIME", fmt.Sprintf("%09d", n))
	event := make("EVENT#s#0", fmt.Sprintf("%09d", n))
	event.TTL = time.Now().Add(time.Hour).Unix()
	var ops []table.Op
	for _, it := range []*table.Item{
		policy, event,
		make("ACCESS#s#"+user, "ACCESS"),
		make("SCOPE#s", "ROLE_MEMBER#viewer#"+user),
		make("SCOPE#s", "ROLE_MEMBER#editor#"+user),
		make("SUBJECT#o#"+user, "SCOPE#s"),
	} {
		ops = append(ops, table.Put(it, table.Any()))
	}
	return table.Tx{Token: user, Ops: ops}
}

// fill writes policies, many in a transaction and many transactions in a commit.
func fill(tb testing.TB, s *embedded.Store, policies, size int) {
	tb.Helper()
	const together = 16 // of six items each: a transaction takes 100
	var next atomic.Int64
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for {
				upTo := int(next.Add(together))
				if upTo-together >= policies {
					return
				}
				var tx table.Tx
				for n := upTo - together; n < min(upTo, policies); n++ {
					tx.Ops = append(tx.Ops, policyTx(n, size).Ops...)
				}
				if err := s.Transact(tb.Context(), tx); err != nil {
					tb.Error(err)
				}
			}
		})
	}
	all.Wait()
}

func open(tb testing.TB, o embedded.Options) *embedded.Store {
	tb.Helper()
	s, err := embedded.Open(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}
