package memory_test

import (
	"testing"
	"time"

	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/tabletest"
	"github.com/wardenhq/warden/shared/table/weak/memory"
)

func TestConformance(t *testing.T) {
	tabletest.Run(t, tabletest.Harness{New: func(*testing.T) (table.Store, table.Feed) {
		s := memory.New(time.Now)
		return s, s
	}})
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		memory.New(time.Now)
	}
}
