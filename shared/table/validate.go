package table

import "github.com/wardenhq/warden/shared/table/keys"

// MaxQueryLimit is the most items a page can hold.
const MaxQueryLimit = 1000

// Validate refuses what no adapter answers.
func (q Query) Validate() error {
	between := q.From != "" || q.To != ""
	switch {
	case q.PK == "" || len(q.PK) > keys.MaxPK || len(q.Prefix) > keys.MaxSK:
		return ErrInvalidQuery
	case q.Index > keys.GSI4 || q.Limit < 1 || q.Limit > MaxQueryLimit:
		return ErrInvalidQuery
	case between && (q.Prefix != "" || q.From == "" || q.To == ""):
		return ErrInvalidQuery
	case !between && q.Prefix == "" && q.Index == keys.Table:
		return ErrInvalidQuery // never the whole partition: the tenant's audit log is in there too
	case q.Index != keys.Table && q.Consistency == Strong:
		return ErrInvalidQuery
	}
	return nil
}

// Validate refuses what DynamoDB would refuse of a transaction: *LimitError,
// ErrInvalidKey.
func (tx Tx) Validate() error {
	if n := len(tx.Ops); n == 0 || n > MaxTransactionItems {
		return &LimitError{"transaction items", n, MaxTransactionItems}
	}
	if n := len(tx.Token); n > 36 {
		return &LimitError{"token", n, 36}
	}
	total, seen := 0, make(map[keys.Raw]bool, len(tx.Ops))
	for _, op := range tx.Ops {
		if !op.Key.Valid() {
			return ErrInvalidKey
		}
		if seen[op.Key] {
			return &LimitError{"same item twice", 2, 1}
		}
		seen[op.Key] = true
		if op.Action != ActionPut {
			continue
		}
		if op.Item == nil || op.Item.Key != op.Key || !indexKeysFit(op.Item) {
			return ErrInvalidKey
		}
		size := Size(op.Item)
		if size > MaxItemBytes {
			return &LimitError{"item size", size, MaxItemBytes}
		}
		total += size
	}
	if total > MaxTransactionBytes {
		return &LimitError{"transaction size", total, MaxTransactionBytes}
	}
	return nil
}

func indexKeysFit(it *Item) bool {
	for _, k := range it.Index {
		if !k.IsZero() && !keys.Stored(k.PK(), k.SK()).Valid() {
			return false
		}
	}
	return true
}

// ValidateSnapshot refuses what no TransactGet answers: no keys, more than
// MaxSnapshotGet, an item twice (*LimitError), or an invalid key (ErrInvalidKey).
func ValidateSnapshot(wanted []keys.Raw) error {
	if n := len(wanted); n == 0 || n > MaxSnapshotGet {
		return &LimitError{"snapshot items", n, MaxSnapshotGet}
	}
	seen := make(map[keys.Raw]bool, len(wanted))
	for _, k := range wanted {
		if !k.Valid() {
			return ErrInvalidKey
		}
		if seen[k] {
			return &LimitError{"same item twice", 2, 1}
		}
		seen[k] = true
	}
	return nil
}
