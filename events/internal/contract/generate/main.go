// Command generate writes the files of package contract below the working
// directory, which is the folder of events.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/wardenhq/warden/events/internal/contract"
)

func main() {
	if err := run("."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:forbidigo // package main
	}
}

func run(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	files, err := contract.Files(root.FS())
	if err != nil {
		return errors.Join(err, root.Close())
	}
	for name, content := range files {
		err = errors.Join(err, root.WriteFile(name, content, 0o644))
	}
	return errors.Join(err, root.Close())
}
