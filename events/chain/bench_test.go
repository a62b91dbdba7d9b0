package chain_test

import (
	"testing"

	"github.com/wardenhq/warden/events/chain"
)

// An export is verified line by line, so a line's cost and memory are all.
func BenchmarkVerify(b *testing.B) {
	b.ReportAllocs()
	line := lines(b, vectorsOut)[1]
	for b.Loop() {
		if _, err := chain.Verify(each([][]byte{line}), chain.Expectation{Partial: true}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSeal(b *testing.B) {
	b.ReportAllocs()
	e := decode(b, lines(b, vectorsIn)[1])
	for b.Loop() {
		if _, _, err := chain.Seal(e, chain.Head{}, chain.Salt{}); err != nil {
			b.Fatal(err)
		}
	}
}
