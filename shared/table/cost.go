package table

import (
	"bytes"
	"context"
	"math"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/wardenhq/warden/shared/table/keys"
)

// Cost is what calls spent: table operations, read request units, write
// request units, by DynamoDB's on-demand rules.
type Cost struct {
	Ops int
	RRU float64
	WRU float64
}

// Add is the sum of two costs.
func (c Cost) Add(o Cost) Cost { return Cost{c.Ops + o.Ops, c.RRU + o.RRU, c.WRU + o.WRU} }

// String is the X-Warden-Cost header's form.
func (c Cost) String() string {
	var text [64]byte
	b := strconv.AppendInt(append(text[:0], "ops="...), int64(c.Ops), 10)
	b = strconv.AppendFloat(append(b, "; rru="...), c.RRU, 'f', -1, 64)
	b = strconv.AppendFloat(append(b, "; wru="...), c.WRU, 'f', -1, 64)
	return string(b)
}

// Meter sums the cost of all calls made under one context. Units are kept in
// halves: nothing in DynamoDB's rules is smaller. Safe for concurrent use.
type Meter struct{ ops, readHalves, writeHalves atomic.Int64 }

// Add counts one call's cost.
func (m *Meter) Add(c Cost) {
	m.ops.Add(int64(c.Ops))
	m.readHalves.Add(int64(c.RRU * 2))
	m.writeHalves.Add(int64(c.WRU * 2))
}

// Cost is the sum so far.
func (m *Meter) Cost() Cost {
	return Cost{int(m.ops.Load()), float64(m.readHalves.Load()) / 2, float64(m.writeHalves.Load()) / 2}
}

type meterKey struct{}

// WithMeter returns a context whose calls are counted in m.
func WithMeter(ctx context.Context, m *Meter) context.Context {
	return context.WithValue(ctx, meterKey{}, m)
}

// Spend counts a call's cost in the context's meter, if it has one. Adapters call it.
func Spend(ctx context.Context, c Cost) {
	if m, ok := ctx.Value(meterKey{}).(*Meter); ok {
		m.Add(c)
	}
}

const (
	readUnit  = 4 << 10
	writeUnit = 1 << 10
)

// ReadUnits of one item of that size: an absent item costs as much as the smallest.
func ReadUnits(bytes int, c Consistency) float64 {
	u := float64(blocks(bytes, readUnit))
	if c == Strong {
		return u
	}
	return u / 2
}

// SnapshotUnits of one item in a TransactGet: two for each 4 KB.
func SnapshotUnits(bytes int) float64 { return 2 * float64(blocks(bytes, readUnit)) }

// QueryUnits of a page: the sizes are summed before rounding up.
func QueryUnits(totalBytes int, c Consistency) float64 { return ReadUnits(totalBytes, c) }

// OpUnits is what one operation of a transaction costs: two units for each KB
// of the larger of the item before and after, and one write for each index
// entry that is put, changed or removed (two when its key changes).
func OpUnits(op Op, before *Item) float64 {
	size := Size(before)
	if op.Action == ActionPut {
		size = max(size, Size(op.Item))
	}
	u := 2 * float64(blocks(size, writeUnit))
	if op.Action == ActionCheck {
		return u
	}
	for i := range keys.Indexes {
		u += indexUnits(keys.Index(i+1), before, op.Item)
	}
	return u
}

func indexUnits(index keys.Index, before, after *Item) float64 {
	old, now := Project(before, index), Project(after, index)
	switch {
	case old == nil && now == nil:
		return 0
	case old == nil || now == nil:
		return float64(blocks(max(Size(old), Size(now)), writeUnit))
	case old.Index[index-1] != now.Index[index-1]: // DynamoDB deletes one entry and puts another
		return float64(blocks(Size(old), writeUnit) + blocks(Size(now), writeUnit))
	case old.Version == now.Version && bytes.Equal(old.Body, now.Body):
		return 0
	}
	return float64(blocks(max(Size(old), Size(now)), writeUnit))
}

// Project is the item as an index shows it, nil when it is not in the index.
// GSI1 to GSI3 project what a list shows: type, version, format, times and
// Body. GSI4 projects type and version only.
func Project(it *Item, index keys.Index) *Item {
	if it == nil || it.Index[index-1].IsZero() {
		return nil
	}
	p := &Item{Key: it.Key, Type: it.Type, Version: it.Version}
	p.Index[index-1] = it.Index[index-1]
	if index != keys.GSI4 {
		p.Format, p.Body, p.CreatedAt, p.UpdatedAt = it.Format, it.Body, it.CreatedAt, it.UpdatedAt
	}
	return p
}

func blocks(bytes, unit int) int { return max(1, (bytes+unit-1)/unit) }

// Size is an item's size in bytes as DynamoDB counts it: each attribute's name
// and value. nil has size 0.
func Size(it *Item) int {
	if it == nil {
		return 0
	}
	n := len("PK") + len(it.Key.PK()) + len("SK") + len(it.Key.SK())
	n += len("Type") + len(it.Type)
	n += len("Version") + numberSize(it.Version)
	n += len("Format") + numberSize(uint64(it.Format))
	n += len("CreatedAt") + len("UpdatedAt") + 2*timeSize
	n += text("Actor", it.Actor) + text("RequestID", it.RequestID) + text("LastEvent", it.LastEvent)
	for _, k := range it.Index {
		if !k.IsZero() {
			n += len("GSI1PK") + len(k.PK()) + len("GSI1SK") + len(k.SK())
		}
	}
	if it.TTL != 0 {
		n += len("TTL") + numberSize(uint64(it.TTL))
	}
	return n + bytesSize("Body", it.Body) + bytesSize("Blob", it.Blob)
}

// timeSize is the length of the fixed-width time that adapters store.
var timeSize = len(time.Unix(0, 0).UTC().Format(TimeLayout))

// TimeLayout is how adapters store times: fixed width, so that they sort.
const TimeLayout = "2006-01-02T15:04:05.000000000Z"

func text(name, value string) int {
	if value == "" {
		return 0
	}
	return len(name) + len(value)
}

func bytesSize(name string, value []byte) int {
	if len(value) == 0 {
		return 0
	}
	return len(name) + len(value)
}

// numberSize: about one byte for each two significant digits, and one more
// (DynamoDB developer guide, "Item sizes and formats").
func numberSize(n uint64) int {
	digits := 1
	if n > 0 {
		digits = int(math.Log10(float64(n))) + 1
	}
	return (digits+1)/2 + 1
}
