package main

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
)

var benchmarkFunc = regexp.MustCompile(`(?m)^func Benchmark(\w*)\(`)

// packagesWith are the packages of a module that have a Go benchmark of a
// wanted name, as go test takes them. All others need not even be compiled.
func packagesWith(module fs.FS, wanted *regexp.Regexp) (packages []string, err error) {
	err = fs.WalkDir(module, ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != "." && elsewhere(module, file):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(file, "_test.go"):
			return nil
		}
		text, err := fs.ReadFile(module, file)
		if err != nil {
			return err
		}
		for _, name := range benchmarkFunc.FindAllSubmatch(text, -1) {
			if wanted.Match(name[1]) {
				packages = append(packages, "./"+path.Dir(file))
			}
		}
		return nil
	})
	slices.Sort(packages)
	return slices.Compact(packages), err
}

// elsewhere says whether a folder is no part of the module: hidden, or a module
// of its own.
func elsewhere(module fs.FS, folder string) bool {
	if strings.HasPrefix(path.Base(folder), ".") || path.Base(folder) == "node_modules" {
		return true
	}
	_, err := fs.Stat(module, path.Join(folder, "go.mod"))
	return err == nil
}

// here is the module's top folder, where make runs.
func here() fs.FS { return os.DirFS(".") }
