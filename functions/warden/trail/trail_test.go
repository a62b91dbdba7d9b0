package trail_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/events/chain"
	"github.com/wardenhq/warden/functions/warden/trail"
	"github.com/wardenhq/warden/shared/retry"
)

var signing = ed25519.NewKeyFromSeed([]byte("a seed of tests, thirty-two long"))

func public() ed25519.PublicKey { return ed25519.PublicKey(signing[ed25519.SeedSize:]) }

// links seals n events of a chain.
func links(t testing.TB, id chain.ID, n int) []string {
	t.Helper()
	var lines []string
	grow(t, id, n, `["a","b"]`, func(line []byte) { lines = append(lines, string(line)) })
	return lines
}

func grow(t testing.TB, id chain.ID, n int, permissions string, take func([]byte)) {
	t.Helper()
	var head chain.Head
	for i := range n {
		e := events.Event{
			ID: fmt.Sprintf("evt_%d", i), Type: events.RoleCreated, Time: "2026-03-01T12:00:00.000Z", Org: id.Org, Actor: events.Actor{Type: "api_key", ID: "k"},
			RequestID: "req_1", Target: events.Target{Type: "role", ID: fmt.Sprint(i)}, After: json.RawMessage(fmt.Sprintf(`{"id":"%d","permissions":%s}`, i, permissions)),
		}
		if id.Scope != "" {
			e.Scope = &id.Scope
		}
		var err error
		if e, head, err = chain.Seal(e, head, chain.Salt{byte(i), 1}); err != nil {
			t.Fatal(err)
		}
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		take(line)
	}
}

// checkpoint signs how far a chain was at a line.
func checkpoint(t *testing.T, line string, key ed25519.PrivateKey) chain.Checkpoint {
	t.Helper()
	var e events.Event
	if err := json.Unmarshal([]byte(line), &e); err != nil {
		t.Fatal(err)
	}
	head := chain.Head{Seq: e.Seq}
	if err := head.Hash.UnmarshalText([]byte(e.Hash)); err != nil {
		t.Fatal(err)
	}
	return chain.CheckpointOf(chain.Of(&e), head, "2026-03-01T13:00:00.000Z").Sign(key)
}

var (
	acme   = chain.ID{Org: "acme", Scope: "main"}
	second = chain.ID{Org: "acme", Scope: "second"}
	own    = chain.ID{Org: "acme"}
	other  = chain.ID{Org: "other", Scope: "main"}
)

func TestWhatIsWhole(t *testing.T) {
	lines := links(t, acme, 6)
	r := trail.Record{Log: trail.Log{Scope: "main"}, Checkpoints: []chain.Checkpoint{checkpoint(t, lines[1], signing), checkpoint(t, lines[3], signing)}}
	for name, c := range map[string]struct {
		lines  []string
		record trail.Record
		want   []trail.Chain
	}{
		"a scope's":          {lines, r, []trail.Chain{{ID: acme, First: 1, Last: 6, Proven: 4}}},
		"past its retention": {lines[2:], r, []trail.Chain{{ID: acme, First: 3, Last: 6, Proven: 4}}},
		"without record":     {lines, trail.Record{}, []trail.Chain{{ID: acme, First: 1, Last: 6}}},
		"nothing":            {nil, trail.Record{}, nil},
		"an org's": {interleave(links(t, own, 2), lines, links(t, second, 3)), trail.Record{Log: trail.Log{Org: "acme"}, Checkpoints: r.Checkpoints}, []trail.Chain{
			{ID: own, First: 1, Last: 2}, {ID: acme, First: 1, Last: 6, Proven: 4}, {ID: second, First: 1, Last: 3},
		}},
	} {
		got, err := trail.Verify(strings.NewReader(join(c.lines)), c.record, public())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i := range got {
			if got[i].Head == (chain.Hash{}) {
				t.Errorf("%s: no head", name)
			}
			got[i].Head = chain.Hash{}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func join(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// interleave takes lines of all chains in turn.
func interleave(chains ...[]string) (all []string) {
	for i := 0; ; i++ {
		n := len(all)
		for _, c := range chains {
			if i < len(c) {
				all = append(all, c[i])
			}
		}
		if len(all) == n {
			return all
		}
	}
}

// Whatever is done to an export is found, at its first line.
func TestMutations(t *testing.T) {
	lines := links(t, acme, 8)
	of := func(edit func(l []string) []string) []string { return edit(slices.Clone(lines)) }
	for name, c := range map[string]struct {
		lines  []string
		line   int
		reason chain.Reason
	}{
		"changed":                 {of(func(l []string) []string { l[3] = strings.Replace(l[3], `"a"`, `"c"`, 1); return l }), 4, chain.Changed},
		"an actor changed":        {of(func(l []string) []string { l[0] = strings.Replace(l[0], `"k"`, `"l"`, 1); return l }), 1, chain.Changed},
		"replaced by the next":    {of(func(l []string) []string { l[3] = l[4]; return l }), 4, chain.Missing},
		"deleted":                 {of(func(l []string) []string { return slices.Delete(l, 3, 4) }), 4, chain.Missing},
		"swapped":                 {of(func(l []string) []string { l[3], l[4] = l[4], l[3]; return l }), 4, chain.Swapped},
		"duplicated":              {of(func(l []string) []string { return slices.Insert(l, 4, l[3]) }), 5, chain.Duplicated},
		"tail cut":                {lines[:5], 6, chain.Cut},
		"all cut":                 {nil, 1, chain.Cut},
		"another tenant's line":   {of(func(l []string) []string { return slices.Insert(l, 2, links(t, other, 1)[0]) }), 3, chain.Foreign},
		"another scope's line":    {of(func(l []string) []string { return slices.Insert(l, 2, links(t, second, 1)[0]) }), 3, chain.Foreign},
		"a line moved to a scope": {of(func(l []string) []string { l[2] = strings.Replace(l[2], "main", "second", 1); return l }), 3, chain.Foreign},
		"no JSON":                 {of(func(l []string) []string { l[2] = l[2][:40]; return l }), 3, chain.Malformed},
		"half of the last line":   {of(func(l []string) []string { l[7] = l[7][:40]; return l }), 8, chain.Malformed},
		"an empty line":           {of(func(l []string) []string { l[2] = ""; return l }), 3, chain.Malformed},
		"a name twice":            {of(func(l []string) []string { l[2] = strings.Replace(l[2], `{"id"`, `{"type":"x","id"`, 1); return l }), 3, chain.Malformed},
		"endless":                 {of(func(l []string) []string { l[2] = strings.Repeat("x", 2<<20); return l }), 3, chain.Malformed},
		"two wrongs":              {of(func(l []string) []string { l[6] = "x"; return slices.Delete(l, 2, 3) }), 3, chain.Missing},
	} {
		r := trail.Record{Log: trail.Log{Scope: "main"}, Checkpoints: []chain.Checkpoint{checkpoint(t, lines[6], signing)}}
		_, err := trail.Verify(strings.NewReader(join(c.lines)), r, public())
		var broken *trail.BrokenError
		if !errors.As(err, &broken) || broken.Line != c.line || broken.Reason != c.reason {
			t.Errorf("%s: %v, want line %d %s", name, err, c.line, c.reason)
		}
	}
}

// In an org's export the lines are counted over all chains.
func TestMutationsOfAnOrgsExport(t *testing.T) {
	a, b := links(t, acme, 5), links(t, own, 5)
	whole := interleave(a, b)
	for name, c := range map[string]struct {
		lines  []string
		line   int
		id     chain.ID
		reason chain.Reason
	}{
		"changed": {slices.Concat(whole[:4], []string{strings.Replace(whole[4], `"a"`, `"c"`, 1)}, whole[5:]), 5, acme, chain.Changed},
		"deleted": {slices.Delete(slices.Clone(whole), 3, 4), 5, own, chain.Missing},
		"swapped": {append(slices.Concat(whole[:2], whole[4:5], whole[3:4], whole[2:3]), whole[5:]...), 3, acme, chain.Swapped},
		"cut":     {whole[:7], 8, own, chain.Cut},
	} {
		r := trail.Record{Log: trail.Log{Org: "acme"}, Checkpoints: []chain.Checkpoint{checkpoint(t, a[3], signing), checkpoint(t, b[3], signing)}}
		_, err := trail.Verify(strings.NewReader(join(c.lines)), r, nil)
		if !errors.Is(err, chain.ErrForeignKey) {
			t.Errorf("%s: checkpoints of an unknown key: %v", name, err)
		}
		_, err = trail.Verify(strings.NewReader(join(c.lines)), r, public())
		var broken *trail.BrokenError
		if !errors.As(err, &broken) || broken.Line != c.line || broken.Reason != c.reason || broken.Chain != c.id {
			t.Errorf("%s: %v, want line %d %s of %s", name, err, c.line, c.reason, c.id)
		}
	}
}

// A log that was written anew, hashes and all, does not have the old checkpoint.
func TestRewritten(t *testing.T) {
	before, after := links(t, acme, 4), []string{}
	var head chain.Head
	for _, line := range before {
		var e events.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		e.Actor.ID = "someone else"
		var err error
		if e, head, err = chain.Seal(e, head, chain.Salt{9}); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		after = append(after, string(text))
	}
	r := trail.Record{Checkpoints: []chain.Checkpoint{checkpoint(t, before[2], signing)}}
	var broken *trail.BrokenError
	if _, err := trail.Verify(strings.NewReader(join(after)), r, public()); !errors.As(err, &broken) || broken.Line != 3 || broken.Reason != chain.Rewritten {
		t.Errorf("got %v", err)
	}
}

func TestCheckpointsThatProveNothing(t *testing.T) {
	lines := links(t, acme, 3)
	foreign := ed25519.NewKeyFromSeed([]byte("another seed, of someone else!!!"))
	forged := checkpoint(t, lines[1], signing)
	forged.Count = 3
	key := trail.Key{ID: chain.KeyID(public()), PublicKey: base64.StdEncoding.EncodeToString(public())}
	for name, c := range map[string]struct {
		record trail.Record
		pinned ed25519.PublicKey
		want   error
	}{
		"of another key":          {trail.Record{Checkpoints: []chain.Checkpoint{checkpoint(t, lines[1], foreign)}}, public(), chain.ErrForeignKey},
		"pinned, not the named":   {trail.Record{Keys: []trail.Key{key}, Checkpoints: []chain.Checkpoint{checkpoint(t, lines[1], signing)}}, ed25519.PublicKey(foreign[32:]), chain.ErrForeignKey},
		"changed":                 {trail.Record{Keys: []trail.Key{key}, Checkpoints: []chain.Checkpoint{forged}}, nil, chain.ErrSignature},
		"of the key that's named": {trail.Record{Keys: []trail.Key{key}, Checkpoints: []chain.Checkpoint{checkpoint(t, lines[1], signing)}}, nil, nil},
	} {
		_, err := trail.Verify(strings.NewReader(join(lines)), c.record, c.pinned)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// immediate is a clock that does not wait.
type immediate struct{ waited time.Duration }

func (*immediate) Now() time.Time { return time.Time{} }
func (c *immediate) Sleep(ctx context.Context, d time.Duration) error {
	c.waited += d
	return ctx.Err()
}

func exporter(t *testing.T, h http.Handler) (*trail.Exporter, *immediate) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	c := &immediate{}
	return &trail.Exporter{Client: trail.Client{
		URL: at, Key: "the key", HTTP: server.Client(),
		Backoff: retry.Backoff{Clock: c, Jitter: func() float64 { return 0 }, Base: time.Second, Max: time.Second, Tries: 3},
	}}, c
}

// A log of any length is exported and verified with flat memory.
func TestMemoryDoesNotGrowWithTheLog(t *testing.T) {
	const n, part = 4_000, 200
	lines, tail := make(chan []byte, part), make(chan string, 1)
	go func() {
		last := ""
		grow(t, acme, n, `["`+strings.Repeat("x", 8<<10)+`"]`, func(line []byte) {
			last = string(line)
			lines <- line
		})
		tail <- last
	}()
	e, _ := exporter(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/proof") {
			_, _ = w.Write([]byte(`{}`))
			return
		}
		at, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
		if at+part < n {
			w.Header().Set("Link", fmt.Sprintf(`</v1/scopes/main/audit?cursor=%d>; rel="next"`, at+part))
		}
		for range part {
			_, _ = w.Write(append(<-lines, '\n'))
		}
	}))
	var base, now runtime.MemStats
	peak := uint64(0)
	runtime.GC()
	runtime.ReadMemStats(&base)
	e.Tell = func(trail.Progress) {
		runtime.GC()
		runtime.ReadMemStats(&now)
		peak = max(peak, now.HeapAlloc)
	}
	file, err := os.CreateTemp(t.TempDir(), "export")
	if err != nil {
		t.Fatal(err)
	}
	r, err := e.Export(t.Context(), trail.Log{Scope: "main"}, trail.NDJSON, file)
	if err != nil {
		t.Fatal(err)
	}
	r.Checkpoints = append(r.Checkpoints, checkpoint(t, <-tail, signing))
	if _, err := file.Seek(0, 0); err != nil {
		t.Fatal(err)
	}
	chains, err := trail.Verify(file, r, public())
	if err != nil || len(chains) != 1 || chains[0].Proven != n {
		t.Fatalf("%+v, %v", chains, err)
	}
	e.Tell(trail.Progress{})
	if grown := int64(peak) - int64(base.HeapAlloc); grown > 16<<20 { // the log has more than 30 MB, a part 1.6
		t.Errorf("the heap grows by %d bytes", grown)
	}
}

func TestABusyServerIsAskedAgain(t *testing.T) {
	asked := 0
	e, c := exporter(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer the key" {
			t.Errorf("headers %v", r.Header)
		}
		if asked++; asked < 3 {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte{})
	}))
	var out bytes.Buffer
	if _, err := e.Export(t.Context(), trail.Log{Org: "acme"}, trail.NDJSON, &out); err != nil || c.waited != 14*time.Second {
		t.Errorf("%v after %s", err, c.waited)
	}
}

func TestWhatEndsAnExport(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter)
		asked  int
		want   func(error) bool
	}{
		"refused": {func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"code":"forbidden","detail":"the key lacks audit:read"}`))
		}, 1, func(err error) bool {
			var s *trail.StatusError
			return errors.As(err, &s) && s.Status == 403 && s.Code == "forbidden" && strings.Contains(err.Error(), "lacks audit:read")
		}},
		"redirected": {func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusFound)
		}, 1, func(err error) bool { return err != nil }},
		"busy for good": {func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusTooManyRequests)
		}, 3, func(err error) bool { return err != nil }},
		"led elsewhere": {func(w http.ResponseWriter) {
			w.Header().Set("Link", `<http://elsewhere.example/x>; rel="next"`)
		}, 1, func(err error) bool { return errors.Is(err, trail.ErrForeignLink) }},
		"too much": {func(w http.ResponseWriter) {
			_, _ = w.Write(make([]byte, 9<<20))
		}, 1, func(err error) bool { return err != nil }},
		"no events": {func(w http.ResponseWriter) {
			_, _ = w.Write([]byte("<html>\n"))
		}, 1, func(err error) bool { return err != nil }},
	} {
		asked := 0
		e, _ := exporter(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked++
			c.answer(w)
		}))
		var out bytes.Buffer
		if _, err := e.Export(t.Context(), trail.Log{Scope: "a/b"}, trail.NDJSON, &out); !c.want(err) || asked != c.asked {
			t.Errorf("%s: asked %d times: %v", name, asked, err)
		}
	}
}
