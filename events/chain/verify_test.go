package chain_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"iter"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/wardenhq/warden/events/chain"
	"github.com/wardenhq/warden/events/jcs"
)

func each(lines [][]byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for _, line := range lines {
			if !yield(line, nil) {
				return
			}
		}
	}
}

func TestVerify(t *testing.T) {
	events, head := sealed(t, acme.Scope)
	whole := lines(t, vectorsOut)
	early := chain.Head{Seq: 2, Hash: hashOf(t, events[1].Hash)}
	other := chain.CheckpointOf(chain.ID{Org: "acme"}, chain.Head{Seq: 99}, "2026-01-31T11:00:00Z")
	for name, c := range map[string]struct {
		lines [][]byte
		want  chain.Expectation
		head  chain.Head
	}{
		"whole":                          {whole, chain.Expectation{Chain: acme}, head},
		"of the first line's chain":      {whole, chain.Expectation{}, head},
		"nothing":                        {nil, chain.Expectation{Chain: acme}, chain.Head{}},
		"nothing, after a head":          {nil, chain.Expectation{Chain: acme, After: early}, early},
		"a later part":                   {whole[2:], chain.Expectation{Chain: acme, After: early}, head},
		"a later part, on trust":         {whole[2:], chain.Expectation{Chain: acme, Partial: true}, head},
		"an earlier part":                {whole[:2], chain.Expectation{Chain: acme}, early},
		"with a checkpoint at the head":  {whole, chain.Expectation{Chain: acme, Checkpoints: checkpoints(acme, head)}, head},
		"with one in the middle":         {whole, chain.Expectation{Chain: acme, Checkpoints: checkpoints(acme, early, head)}, head},
		"with one of an empty chain":     {whole, chain.Expectation{Checkpoints: checkpoints(acme, chain.Head{})}, head},
		"with one before the part":       {whole[3:], chain.Expectation{Partial: true, Checkpoints: checkpoints(acme, early)}, head},
		"with one of what it follows":    {whole[2:], chain.Expectation{Partial: true, Checkpoints: checkpoints(acme, early)}, head},
		"with one of another chain":      {whole, chain.Expectation{Chain: acme, Checkpoints: []chain.Checkpoint{other}}, head},
		"in another form of JSON":        {reformatted(t, whole), chain.Expectation{Chain: acme}, head},
		"with members of a later format": {resealed(t, whole), chain.Expectation{Chain: acme}, lastOf(t, resealed(t, whole))},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := chain.Verify(each(c.lines), c.want)
			if err != nil || got != c.head {
				t.Errorf("%d %s, %v", got.Seq, got.Hash, err)
			}
		})
	}
}

// Each way to tamper with an export is found at the line where it is.
func TestVerifyFindsTampering(t *testing.T) {
	_, head := sealed(t, acme.Scope)
	whole := lines(t, vectorsOut)
	var foreign [][]byte
	otherEvents, otherHead := sealed(t, "other")
	for _, e := range otherEvents {
		foreign = append(foreign, encode(t, e))
	}
	with := func(i int, ls ...[]byte) [][]byte { return slices.Concat(whole[:i], ls, whole[i+1:]) }
	edit := func(i int, old, now string) [][]byte {
		if !bytes.Contains(whole[i], []byte(old)) {
			t.Fatalf("line %d has no %s", i+1, old)
		}
		return with(i, bytes.Replace(whole[i], []byte(old), []byte(now), 1))
	}
	signed := chain.Expectation{Checkpoints: checkpoints(acme, head)}
	for name, c := range map[string]struct {
		lines  [][]byte
		want   chain.Expectation
		line   int
		seq    uint64
		reason chain.Reason
	}{
		"a resource changed":         {edit(1, `"doc:read"`, `"doc:rEad"`), signed, 2, 2, chain.Changed},
		"an actor changed":           {edit(2, `"member","id":"zoë`, `"member","id":"bob`), signed, 3, 3, chain.Changed},
		"a kind of actor changed":    {edit(2, `"type":"member"`, `"type":"system"`), signed, 3, 3, chain.Changed},
		"a time changed":             {edit(0, `"time":"2026-01-31T09:30:00.000Z"`, `"time":"2026-01-31T09:30:00.001Z"`), signed, 1, 1, chain.Changed},
		"a member added":             {edit(0, `{`, `{"more":1,`), signed, 1, 1, chain.Changed},
		"a member removed":           {edit(1, `"on_behalf_of":"zoë@example.com",`, ``), signed, 2, 2, chain.Changed},
		"a null filled":              {edit(0, `"before":null`, `"before":{}`), signed, 1, 1, chain.Changed},
		"a value made null":          {edit(4, `"source_ip":"192.0.2.9"`, `"source_ip":null`), signed, 5, 5, chain.Changed},
		"a salt changed":             {edit(4, `05050505`, `05050506`), signed, 5, 5, chain.Changed},
		"a seq changed":              {edit(2, `"seq":3`, `"seq":4`), signed, 3, 4, chain.Changed},
		"a hash changed":             {edit(2, `"hash":"`+string(member(t, whole[2], "hash"))[:1], `"hash":"f`), signed, 3, 3, chain.Changed},
		"the first line missing":     {whole[1:], signed, 1, 1, chain.Missing},
		"a line missing":             {slices.Concat(whole[:1], whole[2:]), signed, 2, 2, chain.Missing},
		"two lines missing":          {slices.Concat(whole[:1], whole[3:]), signed, 2, 2, chain.Missing},
		"the last line missing":      {whole[:4], signed, 5, 5, chain.Cut},
		"all lines missing":          {nil, signed, 1, 1, chain.Cut},
		"two lines swapped":          {[][]byte{whole[0], whole[2], whole[1], whole[3], whole[4]}, signed, 2, 3, chain.Swapped},
		"the first line moved away":  {[][]byte{whole[1], whole[2], whole[0], whole[3], whole[4]}, signed, 1, 2, chain.Swapped},
		"the last line moved ahead":  {[][]byte{whole[0], whole[4], whole[1], whole[2], whole[3]}, signed, 2, 5, chain.Swapped},
		"a line moved, one unread":   {[][]byte{whole[0], whole[2], []byte("?"), foreign[1], whole[1]}, signed, 2, 3, chain.Swapped},
		"an earlier line at the end": {slices.Concat(whole[2:], whole[:1]), chain.Expectation{Partial: true}, 4, 1, chain.Swapped},
		"a line twice":               {slices.Concat(whole[:2], whole[1:]), signed, 3, 2, chain.Duplicated},
		"a line again at the end":    {slices.Concat(whole, whole[:1]), signed, 6, 1, chain.Duplicated},
		"a line of another scope":    {with(2, foreign[2]), signed, 3, 3, chain.Foreign},
		"the tail of another scope":  {slices.Concat(whole[:3], foreign[3:]), signed, 4, 4, chain.Foreign},
		"another chain":              {foreign, chain.Expectation{Chain: acme}, 1, 1, chain.Foreign},
		"after another head":         {whole[2:], chain.Expectation{After: chain.Head{Seq: 2, Hash: otherHead.Hash}}, 1, 3, chain.Foreign},
		"a line replaced and sealed": {with(2, sealedAs(t, whole[2], `"role":"editor"`, `"role":"admin"`)), signed, 4, 4, chain.Foreign},
		"another event of a seq":     {slices.Concat(whole[:3], [][]byte{sealedAs(t, whole[2], `alice`, `mallory`)}), signed, 4, 3, chain.Foreign},
		"the last replaced and sealed": {
			with(4, sealedAs(t, whole[4], `"operator"`, `"system"`)), signed, 5, 5, chain.Rewritten,
		},
		"all written anew": {resealed(t, whole), signed, 5, 5, chain.Rewritten},
		"what it follows written anew": {
			whole[2:], chain.Expectation{Partial: true, Checkpoints: checkpoints(acme, chain.Head{Seq: 2, Hash: head.Hash})}, 1, 2, chain.Rewritten,
		},
		"no JSON":             {with(1, []byte("?")), signed, 2, 0, chain.Malformed},
		"an empty line":       {with(1, nil), signed, 2, 0, chain.Malformed},
		"a list":              {with(1, []byte("[]")), signed, 2, 0, chain.Malformed},
		"a member twice":      {edit(1, `{`, `{"seq":2,`), signed, 2, 0, chain.Malformed},
		"a seq that is text":  {edit(1, `"seq":2`, `"seq":"2"`), signed, 2, 0, chain.Malformed},
		"seq 0":               {edit(1, `"seq":2`, `"seq":0`), signed, 2, 0, chain.Malformed},
		"half a seq":          {edit(1, `"seq":2`, `"seq":2.5`), signed, 2, 0, chain.Malformed},
		"no org":              {edit(1, `"org":"acme",`, ``), signed, 2, 2, chain.Malformed},
		"a scope, a number":   {edit(1, `"scope":"acme-corp"`, `"scope":1`), signed, 2, 2, chain.Malformed},
		"no hash":             {edit(1, `"hash":`, `"hush":`), signed, 2, 2, chain.Malformed},
		"a hash in capitals":  {with(1, bytes.Replace(whole[1], member(t, whole[1], "hash"), bytes.ToUpper(member(t, whole[1], "hash")), 1)), signed, 2, 2, chain.Malformed},
		"no previous hash":    {edit(1, `"previous_hash":`, `"previous":`), signed, 2, 2, chain.Malformed},
		"no salt":             {edit(1, `,"salt":"02020202020202020202020202020202"`, ``), signed, 2, 2, chain.Malformed},
		"half a salt":         {edit(1, `"0202020202020202`, `"`), signed, 2, 2, chain.Malformed},
		"a salt, a number":    {edit(1, `"02020202020202020202020202020202"`, `2`), signed, 2, 2, chain.Malformed},
		"an actor, a string":  {edit(1, `{"type":"api_key","id":"key_1"}`, `"key_1"`), signed, 2, 2, chain.Malformed},
		"a salt and erasures": {edit(1, `{`, `{"erasure":{"erased":{},"keys":{}},`), signed, 2, 2, chain.Malformed},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := chain.Verify(each(c.lines), c.want)
			var broken *chain.BrokenError
			if !errors.As(err, &broken) {
				t.Fatalf("not found: %v", err)
			}
			if broken.Line != c.line || broken.Seq != c.seq || broken.Reason != c.reason {
				t.Errorf("line %d, seq %d: %s; want line %d, seq %d: %s", broken.Line, broken.Seq, broken.Reason, c.line, c.seq, c.reason)
			}
			if text := err.Error(); !strings.Contains(text, string(c.reason)) || broken.Detail == "" {
				t.Errorf("it says %s", text)
			}
		})
	}
}

func TestVerifyPassesOnReadErrors(t *testing.T) {
	failed := errors.New("disk")
	head, err := chain.Verify(func(yield func([]byte, error) bool) {
		_ = yield(lines(t, vectorsOut)[0], nil) && yield(nil, failed)
	}, chain.Expectation{})
	if !errors.Is(err, failed) || head.Seq != 1 {
		t.Errorf("%d, %v", head.Seq, err)
	}
}

func checkpoints(id chain.ID, heads ...chain.Head) []chain.Checkpoint {
	out := make([]chain.Checkpoint, len(heads))
	for i, h := range heads {
		out[i] = chain.CheckpointOf(id, h, "2026-01-31T11:00:00.000Z")
	}
	return out
}

func hashOf(t *testing.T, text string) (h chain.Hash) {
	t.Helper()
	if err := h.UnmarshalText([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return h
}

// member is a string of a line without its quotes.
func member(t *testing.T, line []byte, name string) []byte {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(line, &members); err != nil {
		t.Fatal(err)
	}
	return bytes.Trim(members[name], `"`)
}

// sealedAs is a line changed by who can compute hashes.
func sealedAs(t *testing.T, line []byte, old, now string) []byte {
	t.Helper()
	e := decode(t, bytes.ReplaceAll(line, []byte(old), []byte(now)))
	hash, err := chain.HashOf(&e)
	if err != nil {
		t.Fatal(err)
	}
	e.Hash = hash.String()
	return encode(t, e)
}

// reformatted is the same JSON with names in another order, white space and
// other escapes.
func reformatted(t *testing.T, from [][]byte) (out [][]byte) {
	t.Helper()
	for _, line := range from {
		var members map[string]any
		if err := json.Unmarshal(line, &members); err != nil {
			t.Fatal(err)
		}
		text, err := json.MarshalIndent(members, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, text)
	}
	return out
}

// resealed is the whole log written anew, consistent in itself, each event with
// one more request behind it.
func resealed(t *testing.T, from [][]byte) (out [][]byte) {
	t.Helper()
	var head chain.Head
	for i, line := range from {
		e := decode(t, line)
		e.RequestID += "-again"
		var err error
		if e, head, err = chain.Seal(e, head, saltOf(i+1)); err != nil {
			t.Fatal(err)
		}
		out = append(out, encode(t, e))
	}
	return out
}

func lastOf(t *testing.T, from [][]byte) chain.Head {
	t.Helper()
	e := decode(t, from[len(from)-1])
	return chain.Head{Seq: e.Seq, Hash: hashOf(t, e.Hash)}
}

// Whatever an export holds, verifying it ends in an answer, and no line that was
// changed in more than its form is taken.
func FuzzVerify(f *testing.F) {
	sealedText, err := os.ReadFile(vectorsOut)
	if err != nil {
		f.Fatal(err)
	}
	first, _, _ := bytes.Cut(sealedText, []byte("\n"))
	f.Add(first)
	f.Add([]byte(`{"seq":1,"org":"a","scope":null,"actor":{},"target":{},"erasure":{"erased":{},"keys":{}}}`))
	want, err := jcs.Canonical(first)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		head, err := chain.Verify(each([][]byte{line}), chain.Expectation{Chain: acme})
		var broken *chain.BrokenError
		if err != nil && !errors.As(err, &broken) {
			t.Fatal(err)
		}
		if err == nil && head.Hash.String() == string(member(t, first, "hash")) {
			if got, err := jcs.Canonical(line); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%s is taken for %s", line, first)
			}
		}
	})
}
