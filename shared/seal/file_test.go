package seal

import (
	"bytes"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestKeyFileIsMadeOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret.key")
	first, err := ReadOrCreateKey(path, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 || info.Size() != KeySize {
		t.Errorf("mode %v, %d bytes", info.Mode(), info.Size())
	}
	again, err := ReadOrCreateKey(path, strings.NewReader("")) // needs no randomness now
	if err != nil || again.ID() != first.ID() {
		t.Errorf("read again: %v, %v; want %v", again, err, first)
	}
	assertOnly(t, path)
}

func TestKeyFileIsMadeByOneOfMany(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret.key")
	var found [16]Key
	var errs [16]error
	var all sync.WaitGroup
	for i := range found {
		all.Go(func() { found[i], errs[i] = ReadOrCreateKey(path, rand.Reader) })
	}
	all.Wait()
	for i := range found {
		if errs[i] != nil || found[i].ID() != found[0].ID() {
			t.Errorf("%d: %v, %v; want %v", i, found[i], errs[i], found[0])
		}
	}
	assertOnly(t, path)
}

func TestKeyFilesThatAreRefused(t *testing.T) {
	secret := bytes.Repeat([]byte("s"), KeySize)
	for name, prepare := range map[string]func(path string) error{
		"readable by the group": func(p string) error { return write(p, secret, 0o640) },
		"readable by all":       func(p string) error { return write(p, secret, 0o604) },
		"writable by all":       func(p string) error { return write(p, secret, 0o602) },
		"empty":                 func(p string) error { return write(p, nil, 0o600) },
		"short":                 func(p string) error { return write(p, secret[1:], 0o600) },
		"long":                  func(p string) error { return write(p, append(secret, '\n'), 0o600) },
		"a directory":           func(p string) error { return os.Mkdir(p, 0o700) },
		"a link": func(p string) error {
			return errors.Join(write(p+".real", secret, 0o600), os.Symlink(p+".real", p))
		},
		"a link to nowhere": func(p string) error { return os.Symlink(p+".real", p) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "secret.key")
			if err := prepare(path); err != nil {
				t.Fatal(err)
			}
			before, _ := os.ReadFile(path)
			key, err := ReadOrCreateKey(path, rand.Reader)
			var refused *KeyFileError
			if !errors.As(err, &refused) || key.ID() != "" {
				t.Fatalf("got %v, %v", key, err)
			}
			if strings.Contains(err.Error(), "sss") {
				t.Errorf("the key shows in %q", err)
			}
			if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
				t.Errorf("the file was changed from %q to %q", before, after)
			}
		})
	}
}

func TestKeyFileThatCannotBeMade(t *testing.T) {
	dir := t.TempDir()
	if _, err := ReadOrCreateKey(filepath.Join(dir, "absent", "secret.key"), rand.Reader); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("in no directory: %v", err)
	}
	if _, err := ReadOrCreateKey(filepath.Join(dir, "secret.key"), strings.NewReader("short")); err == nil {
		t.Error("a key was made of five bytes")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// assertOnly says that nothing else was left beside the file.
func assertOnly(t *testing.T, path string) {
	t.Helper()
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(files) != 1 || files[0].Name() != filepath.Base(path) {
		t.Errorf("left in the directory: %v, %v", files, err)
	}
}

// write makes a file of exactly that mode, whatever the umask.
func write(path string, b []byte, mode os.FileMode) error {
	return errors.Join(os.WriteFile(path, b, 0o600), os.Chmod(path, mode))
}
