package chain_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/events/chain"
)

// The vectors are for every implementation: a file of events as they are before
// the audit log has them, and what it makes of them with salts of one byte
// repeated, 01 for the first event. They never change.
const (
	vectorsIn  = "testdata/events.ndjson"
	vectorsOut = "testdata/sealed.ndjson"
)

var acme = chain.ID{Org: "acme", Scope: "acme-corp"}

func lines(t testing.TB, file string) [][]byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
}

func saltOf(n int) chain.Salt { return chain.Salt(bytes.Repeat([]byte{byte(n)}, len(chain.Salt{}))) }

func decode(t testing.TB, line []byte) events.Event {
	t.Helper()
	var e events.Event
	if err := json.Unmarshal(line, &e); err != nil {
		t.Fatal(err)
	}
	return e
}

func encode(t *testing.T, e any) []byte {
	t.Helper()
	line, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return line
}

// sealed is the vectors' chain, or that of the same events in another scope.
func sealed(t *testing.T, scope string) ([]events.Event, chain.Head) {
	t.Helper()
	var out []events.Event
	var head chain.Head
	for i, line := range lines(t, vectorsIn) {
		e := decode(t, line)
		e.Scope = &scope
		var err error
		if e, head, err = chain.Seal(e, head, saltOf(i+1)); err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out, head
}

func TestVectors(t *testing.T) {
	want := lines(t, vectorsOut)
	got, head := sealed(t, acme.Scope)
	if len(got) != len(want) || head.Seq != uint64(len(want)) {
		t.Fatalf("%d events, head %d, want %d", len(got), head.Seq, len(want))
	}
	for i, e := range got {
		if d := cmp.Diff(decode(t, want[i]), e); d != "" {
			t.Errorf("line %d: %s", i+1, d)
		}
		if chain.Of(&e) != acme {
			t.Errorf("line %d is of %s", i+1, chain.Of(&e))
		}
	}
	if head.Hash.String() != got[len(got)-1].Hash {
		t.Errorf("the head is %s", head.Hash)
	}
}

func TestOrgChain(t *testing.T) {
	e := events.Event{Org: "acme"}
	if got := chain.Of(&e); got != (chain.ID{Org: "acme"}) || !strings.HasPrefix(got.String(), "org ") {
		t.Errorf("an event without a scope is of %s", got)
	}
}

func TestHashText(t *testing.T) {
	_, head := sealed(t, acme.Scope)
	var got chain.Hash
	if err := got.UnmarshalText([]byte(head.Hash.String())); err != nil || got != head.Hash {
		t.Errorf("%s, %v", got, err)
	}
	for name, text := range map[string]string{
		"empty": "", "short": "ab", "capitals": strings.Repeat("AB", 32), "no hex": strings.Repeat("xy", 32), "long": strings.Repeat("ab", 33),
		"odd": strings.Repeat("a", 65),
	} {
		if err := got.UnmarshalText([]byte(text)); !errors.Is(err, chain.ErrHash) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSealRefusesWhatIsNoJSON(t *testing.T) {
	for name, after := range map[string]string{"a name twice": `{"a":1,"a":2}`, "no JSON": `{`} {
		_, _, err := chain.Seal(events.Event{After: json.RawMessage(after)}, chain.Head{}, chain.Salt{})
		if !errors.Is(err, chain.ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
