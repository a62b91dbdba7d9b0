package access

import (
	"math/bits"

	"github.com/cespare/xxhash/v2"

	"github.com/wardenhq/warden/shared/rbac"
)

// The hashes are part of the layout: another function is another Format.

var wildcardHash = xxhash.Sum64String(rbac.Wildcard)

// pairHash mixes the hashes of a resource and an action so that (a, b) and
// (b, a) differ; bucket takes its high bits and a cell's mark its low ones.
func pairHash(resource, action uint64) uint64 {
	const odd1, odd2 = 0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9 // of splitmix64
	h := (resource + bits.RotateLeft64(action, 29)*odd1)
	h ^= h >> 32
	h *= odd2
	return h ^ h>>29
}

// bucket spreads a hash evenly over n buckets.
func bucket(h uint64, n int) int {
	hi, _ := bits.Mul64(h, uint64(n))
	return int(hi)
}
