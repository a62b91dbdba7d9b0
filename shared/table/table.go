// Package table is the storage port: one table, shaped like DynamoDB, with two
// adapters (dynamo, embedded). Nothing here knows AWS or bbolt.
//
// # What the port promises
//
// Each line is the name of a test in package tabletest, which every adapter passes.
//
//   - GetStrong: a consistent get shows every write acknowledged before it
//   - GetEventual: an eventual get shows some committed state of the item, never a mixture
//   - GetAbsent: a missing item is nil without an error
//   - BatchGetDedupe: a key named twice is read and counted once
//   - BatchGetOver100: more than 100 keys are read in calls of at most 100
//   - BatchGetUnprocessed: keys that the store left out are asked for again, with a bound
//   - SnapshotGet: up to 100 items as they were at one moment; absent ones are nil
//   - SnapshotGetLimit: more than 100 keys, none, or a key twice are refused
//   - QueryPrefix: exactly the items whose sort key begins with the prefix, in byte order
//   - QueryBetween: sort keys from and to are both included
//   - QueryDescending: the same items in reverse
//   - QueryLimit: at most limit items a page, and a cursor when more may follow
//   - QueryCursor: pages put together are the whole, without gaps or doubles
//   - QueryCursorBound: a cursor of another query, or a damaged one, is ErrBadCursor
//   - QueryPageSize: a page ends at 1 MB of items
//   - QueryIndex: an index shows the items that have its key, with what it projects
//   - QueryNamesPrefix: a query of a whole partition of the table is refused
//   - TransactAtomic: all items of a transaction or none
//   - TransactLimits: 100 items, 4 MB, no item twice, no empty transaction
//   - TransactAbsent, TransactPresent, TransactVersionIs, TransactCheckOnly: the conditions
//   - TransactReasons: a refused transaction names the reason for each item and shows the item found
//   - TransactToken: the same token again changes nothing; with other content it is refused
//   - ItemSize: an item over 400 KB is refused
//   - KeyLimits: keys that are empty or over DynamoDB's lengths are refused
//   - TTLReadRule: an item past its TTL may still be seen; truth never depends on removal
//   - FeedImages: every change once it is acknowledged, with old and new image
//   - FeedOrder: an item's changes in the order they were made
//   - FeedResume: from any position read before, at least once
//   - Units: operations and units counted by DynamoDB's rules
package table

import (
	"context"
	"time"

	"github.com/wardenhq/warden/shared/table/keys"
)

// DynamoDB's limits that both adapters hold to.
const (
	MaxItemBytes        = 400 << 10
	MaxTransactionItems = 100
	MaxTransactionBytes = 4 << 20
	MaxPageBytes        = 1 << 20
	MaxBatchGet         = 100
	MaxSnapshotGet      = 100
	TokenLifetime       = 10 * time.Minute
)

// Item is one row of the table. An Item that was read or handed to a
// transaction is never changed afterwards, by either side.
type Item struct {
	Key       keys.Raw
	Type      string // the entity's name in the catalogue
	Version   uint64 // counts the item's writes from 1; never restarts for documents
	Format    int    // layout of Body and Blob; an unknown one is an error, never guessed
	CreatedAt time.Time
	UpdatedAt time.Time
	Actor     string // who wrote it last, TYPE:ID
	RequestID string // the request that wrote it last
	LastEvent string // id of the event that the last write carried; empty for bookkeeping
	Index     [keys.Indexes]keys.IndexKey
	TTL       int64  // Unix seconds after which the store may remove it; 0: never
	Body      []byte // JSON; projected into GSI1 to GSI3
	Blob      []byte // binary; in no index
}

// VersionOf is the version of an item that may be absent: 0 then.
func VersionOf(it *Item) uint64 {
	if it == nil {
		return 0
	}
	return it.Version
}

// Consistency of a read.
type Consistency bool

// The two consistencies of a read; a strong one costs twice the units.
const (
	Eventual Consistency = false
	Strong   Consistency = true
)

// Query asks for a range of one partition, of the table or of an index.
type Query struct {
	Index       keys.Index
	PK          string
	Prefix      string // sort keys begin with it; the table needs one, an index may go without
	From, To    string // with both set instead of Prefix: sort keys between them, both included
	Descending  bool
	Limit       int    // items a page, 1 to 1000
	Cursor      string // of the page before
	Consistency Consistency
}

// Page is one answer to a Query.
type Page struct {
	Items  []*Item
	Cursor string // empty: nothing follows
}

// Reader reads. Every call adds to the Meter in its context.
type Reader interface {
	// Get returns the item, or nil when there is none.
	Get(ctx context.Context, key keys.Raw, c Consistency) (*Item, error)
	// BatchGet returns an answer for each key, in their order, nil for absent
	// ones. It is no snapshot. Operations: one for each 100 distinct keys.
	BatchGet(ctx context.Context, wanted []keys.Raw, c Consistency) ([]*Item, error)
	// TransactGet returns up to 100 items as they were at one moment, in the
	// order of the keys. ErrConflict when a transaction is at work on one of them.
	TransactGet(ctx context.Context, wanted []keys.Raw) ([]*Item, error)
	// Query returns one page. Indexes are read eventually only.
	Query(ctx context.Context, q Query) (Page, error)
}

// Writer writes.
type Writer interface {
	// Transact carries out all operations or none. Errors: *CanceledError,
	// ErrConflict, ErrThrottled, ErrUnknownOutcome, ErrTokenReused, *LimitError.
	Transact(ctx context.Context, tx Tx) error
}

// Store is the whole of the data plane.
type Store interface {
	Reader
	Writer
}

// Tx is one transaction.
type Tx struct {
	// Token makes the transaction idempotent for 10 minutes; at most 36 bytes,
	// empty for none.
	Token string
	Ops   []Op
}

// Action is what an operation does.
type Action uint8

// The actions of an operation.
const (
	ActionPut Action = iota + 1
	ActionDelete
	ActionCheck
)

// Op is one operation of a transaction; made by Put, Delete and Check.
type Op struct {
	Action Action
	Key    keys.Raw
	Item   *Item // for ActionPut
	If     Condition
}

// Put writes the whole item, given the condition on what stands there.
func Put(it *Item, c Condition) Op { return Op{Action: ActionPut, Key: it.Key, Item: it, If: c} }

// Delete removes the item; removing an absent one is no error.
func Delete(k keys.Raw, c Condition) Op { return Op{Action: ActionDelete, Key: k, If: c} }

// Check only tests the condition.
func Check(k keys.Raw, c Condition) Op { return Op{Action: ActionCheck, Key: k, If: c} }

// ConditionKind is the class of a condition.
type ConditionKind uint8

// The classes of conditions.
const (
	Unconditional ConditionKind = iota
	IsAbsent
	IsPresent
	HasVersion
)

// Condition is what an operation demands of the item that stands there.
// The zero value demands nothing.
type Condition struct {
	Kind    ConditionKind
	Version uint64
}

// Any demands nothing.
func Any() Condition { return Condition{} }

// Absent demands that there is no such item.
func Absent() Condition { return Condition{Kind: IsAbsent} }

// Present demands that there is one.
func Present() Condition { return Condition{Kind: IsPresent} }

// VersionIs demands an item of that version; version 0 is an absent item.
func VersionIs(v uint64) Condition {
	if v == 0 {
		return Absent()
	}
	return Condition{Kind: HasVersion, Version: v}
}

// Holds says whether the condition holds for what was found.
func (c Condition) Holds(found *Item) bool {
	switch c.Kind {
	case IsAbsent:
		return found == nil
	case IsPresent:
		return found != nil
	case HasVersion:
		return found != nil && found.Version == c.Version
	case Unconditional:
		return true
	}
	return false
}

// Change is one change of one item, as the feed tells it.
type Change struct {
	Shard    string
	Sequence string // the change's own position in its shard
	At       time.Time
	Old, New *Item // nil: absent before, absent after
}

// Feed is the table's change stream: old and new images, in order for each
// item, at least once, kept for at least 24 hours.
type Feed interface {
	// Shards names the shards that can be read now; an item's changes are all in
	// one, or in a shard and its successors.
	Shards(ctx context.Context) ([]string, error)
	// Changes returns up to limit changes of a shard after a sequence (empty:
	// from the oldest kept), and the sequence to go on after. No changes means
	// none yet.
	Changes(ctx context.Context, shard, after string, limit int) (changes []Change, next string, err error)
}
