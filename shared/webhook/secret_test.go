package webhook

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func TestGeneratedSecrets(t *testing.T) {
	s, err := NewSecret(strings.NewReader("0123456789abcdef0123456789abcdef and more"))
	if err != nil {
		t.Fatal(err)
	}
	want := "whsec_" + base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdef"))
	if s.Reveal() != want {
		t.Errorf("got %q, want %q", s.Reveal(), want)
	}
	if mustParse(t, want).Reveal() != want {
		t.Error("read again it is another")
	}
	if _, err := NewSecret(strings.NewReader("short")); err == nil {
		t.Error("a secret was made of five bytes")
	}
}

func TestSuppliedSecrets(t *testing.T) {
	of := func(n int) string { return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{0xfb}, n)) }
	for _, text := range []string{
		"whsec_" + of(24),
		"whsec_" + of(64),
		of(24),
		of(25),
		"whsec_" + strings.TrimRight(of(25), "="),
	} {
		if _, err := ParseSecret(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{
		"whsec_" + of(23),
		"whsec_" + of(65),
		"",
		"whsec_",
		"whpk_" + of(32),
		"whsec_" + of(32)[:20] + "\n" + of(32)[20:],
		"whsec_" + strings.ReplaceAll(of(32), "+", "-"),
		"whsec_ " + of(32),
	} {
		if s, err := ParseSecret(text); !errors.Is(err, ErrBadSecret) || s.Reveal() != "" {
			t.Errorf("%q: got %q, %v", text, s.Reveal(), err)
		}
	}
}

func TestSecretsDoNotPrint(t *testing.T) {
	const key = "this-is-the-secret-this-is-it-32"
	s, err := NewSecret(strings.NewReader(key))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&b, verb+" ", s)
		fmt.Fprintf(&b, verb+" ", []Secret{s})
		fmt.Fprintf(&b, verb+" ", Verifier{Secrets: []Secret{s}})
		fmt.Fprintf(&b, verb+" ", struct{ hidden Secret }{s}) // fmt can't call its methods
	}
	slog.New(slog.NewJSONHandler(&b, nil)).Info("secret", "secret", s, "all", []Secret{s})
	slog.New(slog.NewTextHandler(&b, nil)).Info("secret", "secret", s, "all", []Secret{s})
	document, err := json.Marshal(map[string]any{"secret": s})
	if err != nil {
		t.Fatal(err)
	}
	b.Write(document)
	for _, leak := range []string{"this-is", s.Reveal()[6:16], "74686973", "116 104 105 115", "0x74, 0x68"} {
		if strings.Contains(b.String(), leak) {
			t.Errorf("%q shows in %s", leak, b.String())
		}
	}
}
