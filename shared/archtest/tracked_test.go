package archtest

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// root is the repository's top folder, seen from this one.
var root = filepath.Join("..", "..")

// tracked are the files that git keeps or is about to, by their paths from the top folder.
func tracked(t *testing.T) []string {
	t.Helper()
	if _, err := os.Stat(filepath.Join(root, ".git")); errors.Is(err, fs.ErrNotExist) {
		t.Skip("no git checkout: an unpacked archive has no list of tracked files")
	}
	cmd := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	var files []string
	for file := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if info, err := os.Lstat(filepath.Join(root, file)); err == nil && info.Mode().IsRegular() {
			files = append(files, file)
		}
	}
	return files
}

func TestWhatTrackedFilesDoNotSay(t *testing.T) {
	rules := []struct {
		what    string
		pattern *regexp.Regexp
	}{
		{"the path of one machine", regexp.MustCompile(`(^|[^A-Za-z0-9_.~-])/(work|farm|root|home|Users)/`)},
		{"the host of a package registry", regexp.MustCompile(`proxy\.golang\.org|registry\.npmjs\.org|deb\.debian\.org`)},
		{"work left over that names no owner", regexp.MustCompile(`\b(T[O]DO|F[I]XME|X[X]X)\b([^(]|$)`)},
	}
	for _, file := range tracked(t) {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.IndexByte(text, 0) >= 0 {
			continue // not text
		}
		n := 0
		for line := range bytes.Lines(text) {
			n++
			for _, rule := range rules {
				if rule.pattern.Match(line) {
					t.Errorf("%s:%d: %s: %.120s", file, n, rule.what, bytes.TrimSpace(line))
				}
			}
		}
	}
}
