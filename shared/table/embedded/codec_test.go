package embedded

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

var (
	// parts are rich in the bytes that keys in the file are made of.
	parts   = rapid.StringOfN(rapid.RuneFrom([]rune("\x00\x01\x02a#b\u00ffé🦊")), 1, 8, -1)
	rawKeys = rapid.Custom(func(t *rapid.T) keys.Raw { return keys.Stored(parts.Draw(t, "pk"), parts.Draw(t, "sk")) })
	times   = rapid.Custom(func(t *rapid.T) time.Time {
		return time.Unix(rapid.Int64Range(-62135596800, 253402300799).Draw(t, "sec"), rapid.Int64Range(0, 999999999).Draw(t, "nsec")).UTC()
	})
	binaries = rapid.SliceOfN(rapid.Byte(), 0, 40)
	items    = rapid.Custom(func(t *rapid.T) *table.Item {
		it := &table.Item{
			Key: rawKeys.Draw(t, "key"), Type: rapid.String().Draw(t, "type"), Version: rapid.Uint64().Draw(t, "version"),
			Format: rapid.Int().Draw(t, "format"), CreatedAt: times.Draw(t, "created"), UpdatedAt: times.Draw(t, "updated"),
			Actor: rapid.String().Draw(t, "actor"), RequestID: rapid.String().Draw(t, "request"), LastEvent: rapid.String().Draw(t, "event"),
			TTL: rapid.Int64().Draw(t, "ttl"), Body: binaries.Draw(t, "body"), Blob: binaries.Draw(t, "blob"),
		}
		for i := range it.Index {
			if rapid.Bool().Draw(t, "indexed") {
				it.Index[i] = keys.StoredIndexKey(parts.Draw(t, "pk"), parts.Draw(t, "sk"))
			}
		}
		return it
	})
)

func same(a, b any) string {
	return cmp.Diff(a, b, cmpopts.EquateEmpty(), cmpopts.EquateComparable(keys.Raw{}, keys.IndexKey{}))
}

func TestItemsReadAsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		it := items.Draw(t, "item")
		stored := encodeItem(it)
		got, err := decodeItem(it.Key, stored)
		if err != nil || same(it, got) != "" {
			t.Fatalf("%v\n%s", err, same(it, got))
		}
		clear(stored) // the file's memory is not the item's
		if d := same(it, got); d != "" {
			t.Fatal(d)
		}
	})
	zero := &table.Item{Key: keys.Stored("P", "S"), Version: math.MaxUint64}
	if got, err := decodeItem(zero.Key, encodeItem(zero)); err != nil || same(zero, got) != "" || !got.CreatedAt.IsZero() {
		t.Fatalf("%v\n%s", err, same(zero, got))
	}
}

func TestChangesReadAsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old, now, at := items.Draw(t, "old"), items.Draw(t, "now"), times.Draw(t, "at")
		now.Key = old.Key
		for _, images := range [][2]*table.Item{{old, now}, {nil, now}, {old, nil}} {
			var stored [2][]byte
			for i, it := range images {
				if it != nil {
					stored[i] = encodeItem(it)
				}
			}
			got, err := decodeChange(7, encodeChange(at, old.Key, stored[0], stored[1]))
			want := table.Change{Shard: "0", Sequence: "00000000000000000007", At: at, Old: images[0], New: images[1]}
			if err != nil || same(want, got) != "" {
				t.Fatalf("%v\n%s", err, same(want, got))
			}
		}
	})
}

func TestUnknownAndDamagedRecordsAreErrors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		it := items.Draw(t, "item")
		item := encodeItem(it)
		change := encodeChange(it.CreatedAt, it.Key, nil, item)
		for _, n := range []int{0, 1, len(item) - 1, rapid.IntRange(0, len(item)-1).Draw(t, "cut")} {
			_, itemErr := decodeItem(it.Key, item[:n])
			if !errors.Is(itemErr, table.ErrFormat) {
				t.Fatalf("item cut to %d of %d bytes: %v", n, len(item), itemErr)
			}
		}
		// A change cut right before its new image reads as one without.
		for _, n := range []int{0, 1, len(change) - 1} {
			if _, err := decodeChange(1, change[:n]); !errors.Is(err, table.ErrFormat) {
				t.Fatalf("change cut to %d of %d bytes: %v", n, len(change), err)
			}
		}
		item[0], change[0] = layout+1, layout+1
		_, itemErr := decodeItem(it.Key, item)
		_, changeErr := decodeChange(1, change)
		if !errors.Is(itemErr, table.ErrFormat) || !errors.Is(changeErr, table.ErrFormat) {
			t.Fatalf("unknown layout: item %v, change %v", itemErr, changeErr)
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add(encodeItem(&table.Item{Type: "t", Body: []byte("{}"), Blob: []byte{1}}))
	f.Add(encodeChange(time.Unix(1, 2), keys.Stored("P", "S"), nil, []byte{layout}))
	f.Fuzz(func(t *testing.T, stored []byte) {
		k := keys.Stored("P", "S")
		if it, err := decodeItem(k, stored); err == nil {
			again, err := decodeItem(k, encodeItem(it))
			if err != nil || same(it, again) != "" {
				t.Fatalf("%v\n%s", err, same(it, again))
			}
		} else if !errors.Is(err, table.ErrFormat) {
			t.Fatal(err)
		}
		if _, err := decodeChange(1, stored); err != nil && !errors.Is(err, table.ErrFormat) {
			t.Fatal(err)
		}
	})
}

func TestKeysSortLikeTheirParts(t *testing.T) {
	compare := func(pairs ...string) int {
		for i := 0; i < len(pairs); i += 2 {
			if c := strings.Compare(pairs[i], pairs[i+1]); c != 0 {
				return c
			}
		}
		return 0
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := rawKeys.Draw(t, "a"), rawKeys.Draw(t, "b")
		if got, want := bytes.Compare(appendItemKey(nil, a), appendItemKey(nil, b)), compare(a.PK(), b.PK(), a.SK(), b.SK()); got != want {
			t.Fatalf("%q and %q: %d, want %d", a, b, got, want)
		}
		x, y := rawKeys.Draw(t, "x"), rawKeys.Draw(t, "y")
		ax, by := appendEntryKey(nil, keys.StoredIndexKey(x.PK(), x.SK()), a), appendEntryKey(nil, keys.StoredIndexKey(y.PK(), y.SK()), b)
		want := compare(x.PK(), y.PK(), x.SK(), y.SK(), a.PK(), b.PK(), a.SK(), b.SK())
		if got := bytes.Compare(ax, by); got != want {
			t.Fatalf("%q %q and %q %q: %d, want %d", x, a, y, b, got, want)
		}
		base, ok := parseEntryKey(ax)
		if k, whole := parseItemKey(base); !ok || !whole || k != a {
			t.Fatalf("read %q, want %q", k, a)
		}
	})
}
