package embedded

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// Memory as Options.Dir keeps nothing: an unlinked temporary file, never synced.
const Memory = ":memory:"

const (
	fileName = "warden.db"
	// format is the number of the file's layout: buckets, keys and values.
	format = 1
	// mapped is reserved of the address space at once: growing the map later
	// would have to wait for every reader.
	mapped = 1 << 30
)

var formatKey = []byte("format")

// openFile opens or makes the file of a data directory, locked.
func openFile(dir string, lockTimeout time.Duration) (*bbolt.DB, error) {
	opts := bbolt.Options{
		Timeout:         lockTimeout,
		FreelistType:    bbolt.FreelistMapType,
		InitialMmapSize: mapped,
		NoStatistics:    true,
	}
	path := filepath.Join(dir, fileName)
	if dir == Memory {
		opts.NoSync, opts.NoGrowSync, opts.OpenFile = true, true, unlinked
	} else if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("embedded: %w", err)
	}
	db, err := bbolt.Open(path, 0o600, &opts)
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return nil, &LockedError{Dir: dir}
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrVersionMismatch):
		return nil, &FormatError{Dir: dir, Want: format}
	case err != nil:
		return nil, fmt.Errorf("embedded: open %s: %w", dir, err)
	}
	if err := prepare(db, dir); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

func unlinked(string, int, fs.FileMode) (*os.File, error) {
	f, err := os.CreateTemp("", "warden-*.db")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// prepare refuses a file of another format and fills a new one.
func prepare(db *bbolt.DB, dir string) error {
	fresh := false
	err := db.View(func(tx *bbolt.Tx) error {
		if first, _ := tx.Cursor().First(); first == nil {
			fresh = true
			return nil
		}
		var got uint64
		if about := tx.Bucket(bucketAbout); about != nil {
			got, _ = binary.Uvarint(about.Get(formatKey))
		}
		if got != format {
			return &FormatError{Dir: dir, Got: got, Want: format}
		}
		return nil
	})
	if err != nil || !fresh {
		return err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, name := range allBuckets {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		return tx.Bucket(bucketAbout).Put(formatKey, binary.AppendUvarint(nil, format))
	})
	if err != nil {
		return fmt.Errorf("embedded: prepare %s: %w", dir, err)
	}
	if dir == Memory {
		return nil
	}
	return syncDirs(dir)
}

// syncDirs makes the names of a new file and its directory durable: syncing the
// file alone doesn't (fsync(2)).
func syncDirs(dir string) error {
	for _, name := range []string{dir, filepath.Dir(dir)} {
		d, err := os.Open(filepath.Clean(name))
		if err != nil {
			return fmt.Errorf("embedded: %w", err)
		}
		if err := errors.Join(d.Sync(), d.Close()); err != nil {
			return fmt.Errorf("embedded: sync %s: %w", name, err)
		}
	}
	return nil
}
