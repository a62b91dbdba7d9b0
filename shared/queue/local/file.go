package local

import (
	"fmt"
	"os"
	"time"

	"go.etcd.io/bbolt"
)

const (
	fileMode    = 0o600
	lockTimeout = time.Second
)

// openFile opens the file. In memory it is a file that has no name any more.
func openFile(path string) (*bbolt.DB, error) {
	o := &bbolt.Options{Timeout: lockTimeout, FreelistType: bbolt.FreelistMapType}
	if path != Memory {
		db, err := bbolt.Open(path, fileMode, o)
		if err != nil {
			return nil, fmt.Errorf("queue: %s: %w", path, err)
		}
		return db, nil
	}
	f, err := os.CreateTemp("", "warden-queues-")
	if err != nil {
		return nil, fmt.Errorf("queue: %w", err)
	}
	name := f.Name()
	defer func() { _ = os.Remove(name) }()
	if err := f.Close(); err != nil {
		return nil, fmt.Errorf("queue: %w", err)
	}
	o.NoSync, o.NoFreelistSync = true, true
	db, err := bbolt.Open(name, fileMode, o)
	if err != nil {
		return nil, fmt.Errorf("queue: %w", err)
	}
	return db, nil
}
