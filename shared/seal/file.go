package seal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// KeyFileError says why a key file is not used. It never holds the key.
type KeyFileError struct {
	Path    string
	Problem string
}

func (e *KeyFileError) Error() string { return fmt.Sprintf("seal: key file %s: %s", e.Path, e.Problem) }

// ReadOrCreateKey is the key in the file: 32 raw bytes that only their owner can
// read. Where there is no file it makes one with mode 0600, complete and on disk
// before it has its name; a file that is there is never written. Of several
// processes that make it at once all get the same key. Errors: *KeyFileError for
// a file that others may read, or that is not a plain file of 32 bytes.
func ReadOrCreateKey(path string, random io.Reader) (Key, error) {
	secret, err := ReadOrCreateSecret(path, random)
	if err != nil {
		return Key{}, err
	}
	return KeyOf(secret), nil
}

// ReadOrCreateSecret is ReadOrCreateKey for the file of another kind of key: its
// bytes as they are.
func ReadOrCreateSecret(path string, random io.Reader) ([KeySize]byte, error) {
	secret, err := readSecret(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return secret, err
	}
	if err := createSecret(path, random); err != nil && !errors.Is(err, fs.ErrExist) {
		return secret, fmt.Errorf("seal: creating a key file: %w", err)
	}
	return readSecret(path)
}

func readSecret(path string) (secret [KeySize]byte, err error) {
	// A link could lead out of the data directory, and a pipe would hang.
	info, err := os.Lstat(path)
	if err != nil {
		return secret, fmt.Errorf("seal: key file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return secret, &KeyFileError{path, "is not a plain file"}
	}
	f, err := os.Open(path) //nolint:gosec // the operator says where the data is
	if err != nil {
		return secret, fmt.Errorf("seal: key file: %w", err)
	}
	defer func() { _ = f.Close() }() // only read from
	if info, err = f.Stat(); err != nil {
		return secret, fmt.Errorf("seal: key file: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return secret, &KeyFileError{path, fmt.Sprintf("mode %04o lets others at it; it must be 0600", mode)}
	}
	raw, err := io.ReadAll(io.LimitReader(f, KeySize+1))
	if err != nil {
		return secret, fmt.Errorf("seal: key file: %w", err)
	}
	if len(raw) != KeySize {
		return secret, &KeyFileError{path, fmt.Sprintf("must have exactly %d bytes", KeySize)}
	}
	return [KeySize]byte(raw), nil
}

// createSecret fails with fs.ErrExist when the file is there. Linking a finished
// file to its name is atomic and, unlike renaming, never replaces one.
func createSecret(path string, random io.Reader) (err error) {
	var secret [KeySize]byte
	if _, err := io.ReadFull(random, secret[:]); err != nil {
		return fmt.Errorf("seal: reading random bytes: %w", err)
	}
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*") // with mode 0600
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	if err := writeAll(f, secret[:]); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil {
		return err
	}
	return syncDir(dir)
}

func writeAll(f *os.File, b []byte) error {
	_, err := f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// syncDir makes a new name in the directory last.
func syncDir(dir string) error {
	d, err := os.Open(dir) //nolint:gosec // as for the key file in it
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
