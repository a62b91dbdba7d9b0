package embedded

import (
	"bytes"
	"slices"
	"strings"

	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// Keys in the file sort as DynamoDB sorts them: by partition, then by the bytes
// of the sort key. A part that another one follows ends in `00 01`, and a zero
// byte in it is written as `00 FF`, so no part runs into the next and a shorter
// one comes first. The last part is written as it is.

var (
	endOfPart  = []byte{0x00, 0x01}
	pastOfPart = []byte{0x00, 0x02}
	escapedNul = []byte{0x00, 0xff}
)

// appendItemKey appends the key that an item has in the file.
func appendItemKey(b []byte, k keys.Raw) []byte {
	b = slices.Grow(b, len(k.PK())+len(endOfPart)+len(k.SK()))
	b = append(appendEscaped(b, k.PK()), endOfPart...)
	return append(b, k.SK()...)
}

// appendEntryKey appends the key of an index entry: index partition and sort
// key, then the item's key, as items may share an index key.
func appendEntryKey(b []byte, at keys.IndexKey, base keys.Raw) []byte {
	b = append(appendEscaped(b, at.PK()), endOfPart...)
	b = append(appendEscaped(b, at.SK()), endOfPart...)
	return appendItemKey(b, base)
}

func appendEscaped(b []byte, part string) []byte {
	for {
		nul := strings.IndexByte(part, 0)
		if nul < 0 {
			return append(b, part...)
		}
		b = append(append(b, part[:nul]...), escapedNul...)
		part = part[nul+1:]
	}
}

// nextPart cuts the first part and its end off a key.
func nextPart(b []byte) (part string, rest []byte, ok bool) {
	var unescaped []byte
	for at := 0; ; {
		n := bytes.IndexByte(b[at:], 0)
		if n < 0 || at+n+1 >= len(b) {
			return "", nil, false
		}
		end := at + n
		if b[end+1] == endOfPart[1] {
			return string(append(unescaped, b[at:end]...)), b[end+2:], true
		}
		unescaped = append(append(unescaped, b[at:end]...), 0)
		at = end + 2
	}
}

// parseItemKey reads what appendItemKey wrote.
func parseItemKey(b []byte) (keys.Raw, bool) {
	pk, sk, ok := nextPart(b)
	return keys.Stored(pk, string(sk)), ok
}

// parseEntryKey reads the key that an index entry's item has in the file. It is
// a part of b.
func parseEntryKey(b []byte) (base []byte, ok bool) {
	if _, b, ok = nextPart(b); !ok {
		return nil, false
	}
	_, b, ok = nextPart(b)
	return b, ok
}

// span is the keys from low up to, but without, high.
type span struct{ low, high []byte }

// spanOf is the span of a query's items from its cursor on.
func spanOf(q table.Query) (span, error) {
	at, resumed, err := table.DecodeCursor(q)
	if err != nil {
		return span{}, err
	}
	partition := append(appendEscaped(nil, q.PK), endOfPart...)
	part := func(sk string) []byte { return append(bytes.Clone(partition), sk...) }
	past := []byte{0} // what follows a sort key at once
	if q.Index != keys.Table {
		part = func(sk string) []byte { return appendEscaped(bytes.Clone(partition), sk) }
		past = pastOfPart
	}
	s := span{low: part(q.Prefix), high: successor(part(q.Prefix))}
	if q.To != "" {
		s = span{low: part(q.From), high: append(part(q.To), past...)}
	}
	if !resumed {
		return s, nil
	}
	last := part(at.SK)
	if q.Index != keys.Table {
		last = appendItemKey(append(last, endOfPart...), at.Base)
	}
	if q.Descending {
		s.high = last
	} else {
		s.low = append(last, 0)
	}
	return s, nil
}

// successor is the first key after all that begin with the prefix, which holds
// at least the end of a part and so is never all ones.
func successor(prefix []byte) []byte {
	next := bytes.Clone(bytes.TrimRight(prefix, "\xff"))
	next[len(next)-1]++
	return next
}
