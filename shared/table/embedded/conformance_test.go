package embedded_test

import (
	"testing"

	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/embedded"
	"github.com/wardenhq/warden/shared/table/tabletest"
)

func TestConformance(t *testing.T) {
	for name, dir := range map[string]func(*testing.T) string{
		"file":   func(t *testing.T) string { return t.TempDir() },
		"memory": func(*testing.T) string { return embedded.Memory },
	} {
		t.Run(name, func(t *testing.T) {
			tabletest.Run(t, tabletest.Harness{
				New: func(t *testing.T) (table.Store, table.Feed) {
					s := open(t, embedded.Options{Dir: dir(t)})
					return s, s
				},
				CannotProve: map[string]string{},
			})
		})
	}
}
