package chain_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/events/chain"
)

func erase(t *testing.T, e events.Event, members ...chain.Member) events.Event {
	t.Helper()
	out, err := chain.Erase(e, members...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestErasureKeepsTheChain(t *testing.T) {
	all := []chain.Member{chain.ActorID, chain.OnBehalfOf, chain.SourceIP, chain.TargetID, chain.Before, chain.After}
	sealedEvents, head := sealed(t, acme.Scope)
	for _, m := range all {
		t.Run(string(m), func(t *testing.T) {
			var out [][]byte
			for _, e := range sealedEvents {
				out = append(out, encode(t, erase(t, e, m)))
			}
			got, err := chain.Verify(each(out), chain.Expectation{Chain: acme, Checkpoints: checkpoints(acme, head)})
			if err != nil || got != head {
				t.Errorf("%d %s, %v", got.Seq, got.Hash, err)
			}
		})
	}
	t.Run("everything", func(t *testing.T) {
		var out [][]byte
		for _, e := range sealedEvents {
			line := encode(t, erase(t, e, all...))
			for _, personal := range []string{"alice", "zo\u00eb", "192.0.2.", "2001:db8", "S\u00f6hne", "key_1", "op_1", "editor"} {
				if bytes.Contains(line, []byte(personal)) {
					t.Errorf("%s is still in %s", personal, line)
				}
			}
			out = append(out, line)
		}
		if got, err := chain.Verify(each(out), chain.Expectation{Chain: acme}); err != nil || got != head {
			t.Errorf("%d %s, %v", got.Seq, got.Hash, err)
		}
	})
}

func TestErasureInSteps(t *testing.T) {
	sealedEvents, _ := sealed(t, acme.Scope)
	e := sealedEvents[3]
	want := erase(t, e, chain.TargetID, chain.Before, chain.After)
	got := erase(t, erase(t, erase(t, e, chain.TargetID), chain.Before, chain.TargetID), chain.After)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got.Salt != "" || got.Target.ID != "" || got.Before != nil || got.After != nil || got.Actor != e.Actor {
		t.Errorf("left: %+v", got)
	}
	if hash, err := chain.HashOf(&got); err != nil || hash.String() != e.Hash {
		t.Errorf("%s, %v, want %s", hash, err, e.Hash)
	}
}

func TestNothingToErase(t *testing.T) {
	sealedEvents, _ := sealed(t, acme.Scope)
	for name, members := range map[string][]chain.Member{
		"none": nil, "null": {chain.Before}, "absent": {chain.OnBehalfOf}, "unknown": {"request_id"},
	} {
		if d := cmp.Diff(sealedEvents[0], erase(t, sealedEvents[0], members...)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestEraseRefusesWhatIsNotSealed(t *testing.T) {
	for name, e := range map[string]events.Event{
		"no salt": {}, "no JSON": {Salt: strings.Repeat("00", 16), After: []byte("{")}, "a name twice": {After: []byte(`{"a":1,"a":1}`)},
	} {
		if _, err := chain.Erase(e, chain.After); !errors.Is(err, chain.ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An erasure can't be used to change what stays, nor be changed itself.
func TestTamperingWithErasures(t *testing.T) {
	sealedEvents, _ := sealed(t, acme.Scope)
	whole := encode(t, erase(t, sealedEvents[0], chain.ActorID))
	zero := strings.Repeat("0", 64)
	key := func(m string) string { return erase(t, sealedEvents[0], chain.ActorID).Erasure.Keys[m] }
	commitment := erase(t, sealedEvents[0], chain.ActorID).Erasure.Erased["actor.id"]
	for name, c := range map[string]struct {
		old, now string
		reason   chain.Reason
	}{
		"another commitment":           {commitment, zero, chain.Changed},
		"another key":                  {key("source_ip"), zero, chain.Changed},
		"a member that stays":          {`"source_ip":"192.0.2.7"`, `"source_ip":"192.0.2.8"`, chain.Changed},
		"another member too":           {`"erased":{`, `"erased":{"before":"` + zero + `",`, chain.Changed},
		"a value back":                 {`"api_key","id":""`, `"api_key","id":"key_2"`, chain.Malformed},
		"no key":                       {`"source_ip":"` + key("source_ip") + `",`, ``, chain.Malformed},
		"a key of what is not there":   {`"keys":{`, `"keys":{"before":"` + zero + `",`, chain.Malformed},
		"a key of what was erased":     {`"keys":{`, `"keys":{"actor.id":"` + zero + `",`, chain.Malformed},
		"a member that can't be":       {`"erased":{`, `"erased":{"time":"` + zero + `",`, chain.Malformed},
		"a short commitment":           {commitment, "00", chain.Malformed},
		"a commitment, a number":       {`"` + commitment + `"`, "0", chain.Malformed},
		"more than the two":            {`"erasure":{`, `"erasure":{"note":"",`, chain.Malformed},
		"other names than the two":     {`"keys":`, `"kees":`, chain.Malformed},
		"an erasure that is no object": {`"erasure":{`, `"erasure":[],"erosion":{`, chain.Malformed},
	} {
		t.Run(name, func(t *testing.T) {
			if !bytes.Contains(whole, []byte(c.old)) {
				t.Fatalf("%s has no %s", whole, c.old)
			}
			line := bytes.Replace(whole, []byte(c.old), []byte(c.now), 1)
			_, err := chain.Verify(each([][]byte{line}), chain.Expectation{})
			var broken *chain.BrokenError
			if !errors.As(err, &broken) || broken.Reason != c.reason {
				t.Errorf("%v, want %s", err, c.reason)
			}
		})
	}
}
