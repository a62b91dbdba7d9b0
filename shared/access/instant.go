package access

import (
	"cmp"
	"math"
	"time"

	"github.com/wardenhq/warden/shared/rbac"
)

// instant is a point in time to the nanosecond, in every year that RFC 3339 can
// write; 64 bits of nanoseconds would end in 2262. As stored: seconds since
// 1970, 8 bytes, and nanoseconds within the second, 4.
type instant struct {
	seconds int64
	nanos   uint32
}

var (
	never   = instant{seconds: math.MaxInt64} // the end of what has none; every clock is before it
	notEver = instant{seconds: math.MinInt64} // the end of what there is none of; no clock is before it
)

func instantOf(t time.Time) instant { return instant{t.Unix(), uint32(t.Nanosecond())} }

func endOf(e rbac.Expiry) instant {
	if e.Never() {
		return never
	}
	return instantOf(e.Time())
}

func (i instant) before(o instant) bool {
	return i.seconds < o.seconds || (i.seconds == o.seconds && i.nanos < o.nanos)
}

func (i instant) compare(o instant) int {
	return cmp.Or(cmp.Compare(i.seconds, o.seconds), cmp.Compare(i.nanos, o.nanos))
}

func later(a, b instant) instant {
	if a.before(b) {
		return b
	}
	return a
}
