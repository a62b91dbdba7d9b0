package webhook

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

const link = "https://warden.example.com/v1/scopes/acme/audit?from_seq=7&to_seq=7"

func event(after string) string {
	return `{"id":"evt_1","type":"role.updated","time":"2026-03-01T12:00:00.000Z","seq":18446744073709551615,"org":"o","scope":"acme",` +
		`"actor":{"type":"api_key","id":"k<1>"},"request_id":"r","source_ip":"192.0.2.1","target":{"type":"role","id":"é"},` +
		`"before":null,"after":` + after + `,"previous_hash":"p","hash":"h"}`
}

func TestBodyHoldsTheEventByteForByte(t *testing.T) {
	for _, after := range []string{
		`null`, `{"n":1.10e+05,"big":12345678901234567890}`, `"<b>&\u0026\/\ud83d\ude00"`, `[ 1 ,  2 ]`,
	} {
		e := event(after)
		want := `{"type":"role.updated","timestamp":"2026-03-01T12:00:00.000Z","data":` + e + `}`
		got, err := Body([]byte(e), link)
		if err != nil || string(got) != want {
			t.Errorf("got %s, %v; want %s", got, err, want)
		}
	}
}

func TestBodyIsThinAboveItsLimit(t *testing.T) {
	room := MaxBody - len(`{"type":"role.updated","timestamp":"2026-03-01T12:00:00.000Z","data":`+event(`""`)+`}`)
	fits, err := Body([]byte(event(`"`+strings.Repeat("x", room)+`"`)), link)
	if err != nil || len(fits) != MaxBody {
		t.Fatalf("at the limit: %d bytes, %v; want the whole event in %d", len(fits), err, MaxBody)
	}
	reduced, err := Body([]byte(event(`"`+strings.Repeat("x", room+1)+`"`)), link)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"type":"role.updated","timestamp":"2026-03-01T12:00:00.000Z","data":` +
		`{"id":"evt_1","type":"role.updated","time":"2026-03-01T12:00:00.000Z","seq":18446744073709551615,"org":"o","scope":"acme",` +
		`"actor":{"type":"api_key","id":"k<1>"},"request_id":"r","target":{"type":"role","id":"é"},"hash":"h","link":"` + link + `"}}`
	if string(reduced) != want {
		t.Errorf("got %s\nwant %s", reduced, want)
	}
}

func TestBodyOfWhatIsNoEvent(t *testing.T) {
	for _, e := range []string{
		``, `null`, `[]`, `"x"`, `{}`, `{"type":"t"}`, `{"type":1,"time":"x"}`, `{"type":"t","time":"x"`,
		`{"type":"t","time":"x"} {}`, `{"type":"t","type":"u","time":"x"}`, "{\"type\":\"\xff\",\"time\":\"x\"}",
	} {
		if got, err := Body([]byte(e), link); !errors.Is(err, ErrBadEvent) {
			t.Errorf("%q: %s, %v", e, got, err)
		}
	}
	huge := fmt.Sprintf(`{"type":"t","time":"x","target":%q}`, strings.Repeat("x", MaxBody))
	if got, err := Body([]byte(huge), link); !errors.Is(err, ErrTooLarge) {
		t.Errorf("ids alone too large: %d bytes, %v", len(got), err)
	}
}

func FuzzBody(f *testing.F) {
	f.Add([]byte(event(`null`)))
	f.Add([]byte(event(`"` + strings.Repeat("x", MaxBody) + `"`)))
	f.Add([]byte(`{"type":"t","time":"x"}`))
	f.Fuzz(func(t *testing.T, e []byte) {
		b, err := Body(e, link)
		if err != nil {
			return
		}
		if len(b) > MaxBody || !json.Valid(b) {
			t.Errorf("%q became %q", e, b)
		}
	})
}
