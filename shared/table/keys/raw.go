// Package keys is the only place where a key of the table is made.
//
// A typed Key carries the entity it leads to, and its parts are typed ids, so
// reading a role key into a policy, swapping a scope id and a role id, or using
// a prefix as a key does not compile. The separator `#` can't occur in an
// escaped id, so no id reaches into another item's key: building is injective,
// and a prefix covers exactly its own items.
package keys

import "strings"

// DynamoDB's limits for key attributes in bytes.
const (
	MaxPK = 2048
	MaxSK = 1024
)

// Raw is a key without its entity: what adapters work with. It is comparable.
// Only this package and the adapters (through Stored) make one.
type Raw struct{ pk, sk string }

// Stored rebuilds a key from the texts an adapter stored; nothing else may call it.
func Stored(pk, sk string) Raw { return Raw{pk, sk} }

// PK is the partition key as stored.
func (r Raw) PK() string { return r.pk }

// SK is the sort key as stored.
func (r Raw) SK() string { return r.sk }

// Valid says whether the key was built from ids that are all set, and fits
// DynamoDB's limits. Every adapter refuses an invalid key.
func (r Raw) Valid() bool {
	return r.pk != "" && r.sk != "" && len(r.pk) <= MaxPK && len(r.sk) <= MaxSK
}

func (r Raw) String() string { return r.pk + " / " + r.sk }

// Key leads to one item that holds an E.
type Key[E any] struct {
	_   [0]*E // keeps Key[Role] and Key[Policy] from converting into each other
	raw Raw
}

// Raw is the key for the port's untyped calls.
func (k Key[E]) Raw() Raw { return k.raw }

// Index names the table itself or one of its four global secondary indexes.
type Index uint8

// The table and its indexes; what each serves is in DOMAIN_MODELS.md.
const (
	Table Index = iota
	GSI1
	GSI2
	GSI3
	GSI4
)

// Indexes is the number of global secondary indexes.
const Indexes = 4

func (i Index) String() string {
	return [...]string{"table", "GSI1", "GSI2", "GSI3", "GSI4"}[i]
}

// Range is a part of one partition, in the table or an index, that holds only
// items of entity E: those whose sort key begins with its prefix.
type Range[E any] struct {
	_      [0]*E
	index  Index
	pk     string
	prefix string
}

// Index is the index the range is in.
func (r Range[E]) Index() Index { return r.index }

// PK is the partition key (of the index, where there is one).
func (r Range[E]) PK() string { return r.pk }

// Prefix is what every sort key of the range begins with.
func (r Range[E]) Prefix() string { return r.prefix }

// IndexKey is an item's place in one index. The zero value: not in the index.
type IndexKey struct{ pk, sk string }

// StoredIndexKey rebuilds an index key from the texts an adapter stored.
func StoredIndexKey(pk, sk string) IndexKey { return IndexKey{pk, sk} }

// PK is the index's partition key.
func (k IndexKey) PK() string { return k.pk }

// SK is the index's sort key.
func (k IndexKey) SK() string { return k.sk }

// IsZero says whether the item is not in the index.
func (k IndexKey) IsZero() bool { return k == IndexKey{} }

var escaper = strings.NewReplacer("%", "%0", "#", "%1")

// escape makes an id safe between separators, at a cost of at most one byte a byte.
func escape(s string) string {
	if strings.IndexByte(s, '#') < 0 && strings.IndexByte(s, '%') < 0 { // nearly all; three times as fast
		return s
	}
	return escaper.Replace(s)
}

// join puts a fixed name and escaped parts together; an empty part gives "",
// which no adapter accepts.
func join(name string, parts ...string) string {
	for _, p := range parts {
		if p == "" {
			return ""
		}
	}
	switch len(parts) { // one allocation instead of several, on the path of every check
	case 1:
		return name + "#" + escape(parts[0])
	case 2:
		return name + "#" + escape(parts[0]) + "#" + escape(parts[1])
	}
	for _, p := range parts {
		name += "#" + escape(p)
	}
	return name
}

// prefix is join with the closing separator: `ROLE_MEMBER#r#` and never `ROLE_MEMBER#rb`.
func prefix(name string, parts ...string) string {
	j := join(name, parts...)
	if j == "" {
		return ""
	}
	return j + "#"
}

func key[E any](pk, sk string) Key[E] { return Key[E]{raw: Raw{pk, sk}} }
