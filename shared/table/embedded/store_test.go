package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/embedded"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/table/tabletest"
)

func TestConformance(t *testing.T) {
	for name, dir := range map[string]func(*testing.T) string{
		"file":   func(t *testing.T) string { return t.TempDir() },
		"memory": func(*testing.T) string { return embedded.Memory },
	} {
		t.Run(name, func(t *testing.T) {
			tabletest.Run(t, tabletest.Harness{New: func(t *testing.T) (table.Store, table.Feed) {
				s := open(t, embedded.Options{Dir: dir(t)})
				return s, s
			}})
		})
	}
}

func TestDirectoryIsPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	open(t, embedded.Options{Dir: dir})
	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, "warden.db"): 0o600} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: mode %v (%v), want %v", path, info.Mode().Perm(), err, want)
		}
	}
}

func TestSecondProcessIsToldWhichDirectoryIsInUse(t *testing.T) {
	dir := t.TempDir()
	open(t, embedded.Options{Dir: dir})
	_, err := embedded.Open(embedded.Options{Dir: dir, LockTimeout: time.Millisecond})
	var locked *embedded.LockedError
	if !errors.As(err, &locked) || locked.Dir != dir || !strings.Contains(err.Error(), dir) {
		t.Fatalf("open: %v, want a LockedError of %s", err, dir)
	}
}

func TestOtherFormatsAreRefused(t *testing.T) {
	rewrite := func(change func(*bbolt.Tx) error) func(*testing.T, string) {
		return func(t *testing.T, file string) {
			db, err := bbolt.Open(file, 0o600, nil)
			if err == nil {
				err = errors.Join(db.Update(change), db.Close())
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	made := func(t *testing.T, file string) {
		if err := open(t, embedded.Options{Dir: filepath.Dir(file)}).Close(); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		file func(*testing.T, string)
		got  uint64
		says string
	}{
		"newer": {func(t *testing.T, file string) {
			made(t, file)
			rewrite(func(tx *bbolt.Tx) error { return tx.Bucket([]byte("about")).Put([]byte("format"), []byte{2}) })(t, file)
		}, 2, "format 2"},
		"no number": {func(t *testing.T, file string) {
			made(t, file)
			rewrite(func(tx *bbolt.Tx) error { return tx.DeleteBucket([]byte("about")) })(t, file)
		}, 0, "another program"},
		"another program's": {rewrite(func(tx *bbolt.Tx) error {
			_, err := tx.CreateBucket([]byte("theirs"))
			return err
		}), 0, "another program"},
		"no database": {func(t *testing.T, file string) {
			if err := os.WriteFile(file, []byte(strings.Repeat("not a database\n", 1000)), 0o600); err != nil {
				t.Fatal(err)
			}
		}, 0, "another program"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c.file(t, filepath.Join(dir, "warden.db"))
			_, err := embedded.Open(embedded.Options{Dir: dir})
			var format *embedded.FormatError
			if !errors.As(err, &format) || format.Dir != dir || format.Got != c.got || !errors.Is(err, table.ErrFormat) {
				t.Fatalf("open: %v, want a FormatError with format %d", err, c.got)
			}
			if !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), dir) {
				t.Fatalf("the message %q doesn't name the directory and %q", err, c.says)
			}
		})
	}
}

func TestMemoryLeavesNoFile(t *testing.T) {
	tmp, cwd := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", tmp)
	t.Chdir(cwd)
	s := open(t, embedded.Options{Dir: embedded.Memory})
	put(t, s, item("A", 1))
	for _, dir := range []string{tmp, cwd} {
		if left, err := os.ReadDir(dir); len(left) > 0 || err != nil {
			t.Errorf("%s holds %v (%v)", dir, left, err)
		}
	}
	want(t, s, "A", 1)
}

func TestRestartKeepsEverything(t *testing.T) {
	dir := t.TempDir()
	s := open(t, embedded.Options{Dir: dir})
	for v := uint64(1); v <= 3; v++ {
		it := item("A", v)
		it.Index[0] = keys.StoredIndexKey("I", fmt.Sprint(v))
		put(t, s, it, item(fmt.Sprint("LOG#", v), 1))
	}
	changes, next, err := s.Changes(t.Context(), embedded.Shard, "", 4)
	if err != nil || len(changes) != 4 {
		t.Fatal(changes, err)
	}
	s = reopen(t, s, embedded.Options{Dir: dir})
	want(t, s, "A", 3)
	page, err := s.Query(t.Context(), table.Query{Index: keys.GSI1, PK: "I", Limit: 10})
	if err != nil || len(page.Items) != 1 || page.Items[0].Version != 3 {
		t.Fatalf("index shows %v, %v", page.Items, err)
	}
	put(t, s, item("LOG#4", 1))
	changes, _, err = s.Changes(t.Context(), embedded.Shard, next, 10)
	if err != nil {
		t.Fatal(err)
	}
	var keysOf []string
	for _, c := range changes {
		keysOf = append(keysOf, c.New.Key.SK())
	}
	if !slices.Equal(keysOf, []string{"A", "LOG#3", "LOG#4"}) {
		t.Fatalf("the feed goes on with %v", keysOf)
	}
}

func TestClosedStoreSaysSo(t *testing.T) {
	s := open(t, embedded.Options{Dir: embedded.Memory})
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	_, getErr := s.Get(t.Context(), key("A"), table.Strong)
	_, _, feedErr := s.Changes(t.Context(), embedded.Shard, "", 1)
	for _, err := range []error{getErr, feedErr, s.Transact(t.Context(), tx(item("A", 1)))} {
		if !errors.Is(err, embedded.ErrClosed) {
			t.Errorf("error %v, want ErrClosed", err)
		}
	}
}

func key(sk string) keys.Raw { return keys.Stored("P", sk) }

func item(sk string, version uint64) *table.Item {
	return &table.Item{Key: key(sk), Type: "test", Version: version, Format: 1, Body: []byte("{}")}
}

func tx(items ...*table.Item) table.Tx {
	var ops []table.Op
	for _, it := range items {
		ops = append(ops, table.Put(it, table.Any()))
	}
	return table.Tx{Ops: ops}
}

func put(t *testing.T, s *embedded.Store, items ...*table.Item) {
	t.Helper()
	if err := s.Transact(t.Context(), tx(items...)); err != nil {
		t.Fatal(err)
	}
}

// want holds the stored version against the wanted one; 0 is no item.
func want(t *testing.T, s *embedded.Store, sk string, version uint64) {
	t.Helper()
	it, err := s.Get(context.WithoutCancel(t.Context()), key(sk), table.Strong)
	if err != nil || table.VersionOf(it) != version {
		t.Fatalf("%s has version %d (%v), want %d", sk, table.VersionOf(it), err, version)
	}
}

func reopen(t *testing.T, s *embedded.Store, o embedded.Options) *embedded.Store {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return open(t, o)
}
