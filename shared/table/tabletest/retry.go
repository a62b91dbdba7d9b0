package tabletest

import (
	"errors"

	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// tries is how often a call that met a conflict is made again.
const tries = 2_000

// retry carries a transaction through conflicts.
func (w *world) retry(tx table.Tx) error {
	var err error
	for range tries {
		if err = w.store.Transact(w.Context(), tx); !errors.Is(err, table.ErrConflict) {
			return err
		}
	}
	return err
}

// snapshot is TransactGet through conflicts.
func (w *world) snapshot(wanted []keys.Raw) []*table.Item {
	w.Helper()
	var got []*table.Item
	var err error
	for range tries {
		if got, err = w.store.TransactGet(w.Context(), wanted); !errors.Is(err, table.ErrConflict) {
			break
		}
	}
	w.must(err)
	return got
}
