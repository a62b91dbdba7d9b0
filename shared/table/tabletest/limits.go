package tabletest

import (
	"strings"
	"time"

	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

var limitPromises = []promise{
	{"ItemSize", itemSize},
	{"KeyLimits", keyLimits},
	{"TTLReadRule", ttlReadRule},
}

func itemSize(w *world) {
	largest := sized(key("A"), 1, table.MaxItemBytes)
	w.write(put(largest))
	w.wantStored(largest.Key, largest)
	over := sized(key("B"), 1, table.MaxItemBytes+1)
	w.wantLimit(w.store.Transact(w.Context(), table.Tx{Ops: []table.Op{put(item(key("C"), 1)), put(over)}}), "item size")
	w.wantStored(over.Key, nil)
	w.wantStored(key("C"), nil)

	binary := item(key("BLOB"), 1)
	binary.Blob = make([]byte, 390<<10)
	for i := range binary.Blob {
		binary.Blob[i] = byte(i)
	}
	w.write(put(binary))
	w.wantStored(binary.Key, binary)
}

func keyLimits(w *world) {
	long := func(c string, n int) string { return strings.Repeat(c, n) }
	for _, k := range []keys.Raw{
		keys.Stored(long("p", keys.MaxPK), long("s", keys.MaxSK)),
		keys.Stored(long("é", keys.MaxPK/2), long("é", keys.MaxSK/2)),
		keys.Stored("\x00", "\x00"),
		keys.Stored("\x00\x00", "\x00"),
		keys.Stored("\x00", "\x00\x00"),
		keys.Stored(`:v #pk "'\`, "\n\r\t%0%1#/../$(x){}"),
		keys.Stored("ORG#\u202e", "\U0010ffff"),
	} {
		it := item(k, 1)
		w.write(put(it))
		w.wantStored(k, it)
		w.wantSame(w.all(table.Query{PK: k.PK(), Prefix: k.SK(), Limit: 1, Consistency: table.Strong})[0], it)
		w.wantSame(w.snapshot([]keys.Raw{k}), []*table.Item{it})
	}
	for _, k := range []keys.Raw{
		{},
		keys.Stored("", "s"),
		keys.Stored("p", ""),
		keys.Stored(long("p", keys.MaxPK+1), "s"),
		keys.Stored("p", long("s", keys.MaxSK+1)),
		keys.Stored("p", long("é", keys.MaxSK/2)+"s"),
	} {
		w.wantErr(w.store.Transact(w.Context(), table.Tx{Ops: []table.Op{put(item(key("A"), 1)), put(item(k, 1))}}), table.ErrInvalidKey)
		w.wantErr(w.store.Transact(w.Context(), table.Tx{Ops: []table.Op{table.Delete(k, table.Any())}}), table.ErrInvalidKey)
		w.wantErr(w.store.Transact(w.Context(), table.Tx{Ops: []table.Op{table.Check(k, table.Absent())}}), table.ErrInvalidKey)
		_, err := w.store.Get(w.Context(), k, table.Strong)
		w.wantErr(err, table.ErrInvalidKey)
		_, err = w.store.BatchGet(w.Context(), []keys.Raw{key("A"), k}, table.Strong)
		w.wantErr(err, table.ErrInvalidKey)
		_, err = w.store.TransactGet(w.Context(), []keys.Raw{key("A"), k})
		w.wantErr(err, table.ErrInvalidKey)
	}
	w.wantStored(key("A"), nil)

	longest := indexed(item(key("A"), 1), keys.GSI1, long("p", keys.MaxPK), long("s", keys.MaxSK))
	w.write(put(longest))
	w.wantStored(key("A"), longest)
	for _, ik := range []keys.IndexKey{
		keys.StoredIndexKey("", "s"),
		keys.StoredIndexKey("p", ""),
		keys.StoredIndexKey(long("p", keys.MaxPK+1), "s"),
		keys.StoredIndexKey("p", long("s", keys.MaxSK+1)),
	} {
		w.wantErr(w.store.Transact(w.Context(), table.Tx{Ops: []table.Op{
			put(indexed(item(key("B"), 1), keys.GSI4, ik.PK(), ik.SK())),
		}}), table.ErrInvalidKey)
	}
	w.wantStored(key("B"), nil)
}

// ttlReadRule: whether an item past its TTL still shows is the store's choice;
// every way to look must agree on it, and an item not past it is there.
func ttlReadRule(w *world) {
	past, future := item(key("PAST"), 1), item(key("FUTURE"), 1)
	past.TTL = time.Now().Add(-time.Hour).Unix()
	future.TTL = time.Now().Add(time.Hour).Unix()
	w.write(put(past), put(future))
	w.wantStored(future.Key, future)

	again := item(past.Key, 2)
	again.TTL = past.TTL
	err := w.store.Transact(w.Context(), table.Tx{Ops: []table.Op{table.Put(again, table.VersionIs(1))}})
	seen := w.get(past.Key)
	if err == nil { // still there when the condition was tested
		if seen != nil {
			w.wantSame(seen, again)
		}
		return
	}
	w.wantSame(w.reasons(err), []table.Reason{{Failed: true}})
	w.wantSame(seen, (*table.Item)(nil))
}
