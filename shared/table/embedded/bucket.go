package embedded

import (
	"encoding/binary"

	"go.etcd.io/bbolt"

	"github.com/wardenhq/warden/shared/table/keys"
)

// The buckets of the file, and what their keys and values are.
var (
	bucketAbout  = []byte("about")        // "format" -> number
	bucketItems  = []byte("items")        // item key -> item
	bucketTTL    = []byte("ttl")          // Unix seconds, item key -> nothing
	bucketTokens = []byte("tokens")       // token -> expiry, digest
	bucketExpiry = []byte("token-expiry") // Unix nanoseconds, token -> nothing
	bucketFeed   = []byte("feed")         // sequence -> change
	bucketIndex  = [keys.Indexes][]byte{  // entry key -> nothing
		[]byte("gsi1"), []byte("gsi2"), []byte("gsi3"), []byte("gsi4"),
	}
	allBuckets = append([][]byte{
		bucketAbout, bucketItems, bucketTTL, bucketTokens, bucketExpiry, bucketFeed,
	}, bucketIndex[:]...)
)

// encodeNumber writes a number so that numbers sort by size.
func encodeNumber(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

const numberSize = 8

func numberOf(key []byte) uint64 { return binary.BigEndian.Uint64(key) }

// before collects up to limit keys whose number is below the bound, smallest
// first. The keys belong to the transaction.
func before(b *bbolt.Bucket, bound uint64, limit int) [][]byte {
	var found [][]byte
	c := b.Cursor()
	for k, _ := c.First(); k != nil && len(found) < limit && numberOf(k) < bound; k, _ = c.Next() {
		found = append(found, k)
	}
	return found
}
