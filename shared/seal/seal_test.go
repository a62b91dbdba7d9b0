package seal

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func mustKey(t testing.TB) Key {
	t.Helper()
	k, err := NewKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func mustSeal(t testing.TB, s Sealer, plaintext []byte, at Place) []byte {
	t.Helper()
	sealed, err := s.Seal(t.Context(), plaintext, at)
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

var parts = rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "b", "ab", "\x01", "\x01a", "WEBHOOK", "é#%"}), 0, 4)

func TestSealedOpensAtItsPlaceOnly(t *testing.T) {
	s := Sealer{Ring{mustKey(t)}, rand.Reader}
	rapid.Check(t, func(r *rapid.T) {
		plaintext := rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(r, "plaintext")
		at, other := Place(parts.Draw(r, "at")), Place(parts.Draw(r, "other"))
		sealed, err := s.Seal(context.Background(), plaintext, at)
		if err != nil {
			r.Fatal(err)
		}
		opened, err := s.Open(context.Background(), sealed, at)
		if err != nil || !bytes.Equal(opened, plaintext) {
			r.Fatalf("opened %x, %v; want %x", opened, err, plaintext)
		}
		if fmt.Sprintf("%q", at) == fmt.Sprintf("%q", other) {
			return
		}
		if _, err := s.Open(context.Background(), sealed, other); !errors.Is(err, ErrOpen) {
			r.Fatalf("sealed for %q, opened for %q: %v", at, other, err)
		}
	})
}

func TestEveryAlteredByteIsNoticed(t *testing.T) {
	s := Sealer{Ring{mustKey(t)}, rand.Reader}
	at := Place{"WEBHOOK", "s", "w"}
	sealed := mustSeal(t, s, []byte("whsec_secret"), at)
	for i := range sealed {
		for bit := range 8 {
			altered := bytes.Clone(sealed)
			altered[i] ^= 1 << bit
			if got, err := s.Open(t.Context(), altered, at); err == nil {
				t.Fatalf("byte %d, bit %d: opened as %q", i, bit, got)
			}
		}
		if got, err := s.Open(t.Context(), sealed[:i], at); err == nil {
			t.Fatalf("cut at %d: opened as %q", i, got)
		}
	}
	if _, err := s.Open(t.Context(), append(sealed, 0), at); !errors.Is(err, ErrOpen) {
		t.Errorf("a byte more: %v", err)
	}
}

func TestSameValueSealedTwiceDiffers(t *testing.T) {
	s := Sealer{Ring{mustKey(t)}, rand.Reader}
	a, b := mustSeal(t, s, []byte("same"), nil), mustSeal(t, s, []byte("same"), nil)
	if bytes.Equal(a, b) {
		t.Error("two seals of one value are equal: the nonce repeats")
	}
}

func TestOldKeysStillOpen(t *testing.T) {
	older, newer := mustKey(t), mustKey(t)
	sealed := mustSeal(t, Sealer{Ring{older}, rand.Reader}, []byte("v"), nil)
	if id, err := KeyID(sealed); err != nil || id != older.ID() {
		t.Errorf("key id %q, %v; want %q", id, err, older.ID())
	}
	both := Sealer{Ring{newer, older}, rand.Reader}
	if got, err := both.Open(t.Context(), sealed, nil); err != nil || string(got) != "v" {
		t.Errorf("opened %q, %v", got, err)
	}
	if id, err := KeyID(mustSeal(t, both, nil, nil)); err != nil || id != newer.ID() {
		t.Errorf("sealed under %q, %v; want the current key %q", id, err, newer.ID())
	}
	if _, err := (Sealer{Ring{newer}, rand.Reader}).Open(t.Context(), sealed, nil); !errors.Is(err, ErrUnknownKey) {
		t.Errorf("without the old key: %v", err)
	}
}

func TestAnotherKeyUnderTheSameID(t *testing.T) {
	impostor, err := mustKey(t).Named("data-key-1")
	if err != nil {
		t.Fatal(err)
	}
	owner, err := mustKey(t).Named("data-key-1")
	if err != nil {
		t.Fatal(err)
	}
	sealed := mustSeal(t, Sealer{Ring{owner}, rand.Reader}, []byte("v"), nil)
	if _, err := (Sealer{Ring{impostor}, rand.Reader}).Open(t.Context(), sealed, nil); !errors.Is(err, ErrOpen) {
		t.Errorf("got %v", err)
	}
}

func TestWhatIsNoSealedValue(t *testing.T) {
	s := Sealer{Ring{mustKey(t)}, rand.Reader}
	future := mustSeal(t, s, []byte("v"), nil)
	future[0] = version + 1
	for name, b := range map[string][]byte{
		"nothing":            nil,
		"a byte":             {version},
		"no key id":          append([]byte{version, 0}, make([]byte, 100)...),
		"id past the end":    {version, 200, 'a', 'b'},
		"shorter than a tag": append([]byte{version, 1, 'k'}, make([]byte, nonceSize+tagSize-1)...),
		"version of another": future,
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := s.Open(t.Context(), b, nil); !errors.Is(err, ErrFormat) {
				t.Errorf("open: %v", err)
			}
			if _, err := KeyID(b); !errors.Is(err, ErrFormat) {
				t.Errorf("key id: %v", err)
			}
		})
	}
}

// The layout is what a later build must still read.
func TestLayoutOfVersion1(t *testing.T) {
	key, err := KeyOf([KeySize]byte([]byte("0123456789abcdef0123456789abcdef"))).Named("k1")
	if err != nil {
		t.Fatal(err)
	}
	s := Sealer{Ring{key}, strings.NewReader("twelve bytes")}
	sealed := mustSeal(t, s, []byte("whsec"), Place{"WEBHOOK", "acme", "w1"})
	const want = "01026b31" + "7477656c7665206279746573" + "36d17114bc" + "6a656d6058a803fefda7e9e5d925247b"
	if got := fmt.Sprintf("%x", sealed); got != want {
		t.Errorf("sealed as\n%s, want\n%s", got, want)
	}
	if _, err := s.Seal(t.Context(), nil, nil); err == nil {
		t.Error("sealed without a nonce: randomness had run out")
	}
}

func TestKeyIDs(t *testing.T) {
	k := KeyOf([KeySize]byte{1})
	if k.ID() != KeyOf([KeySize]byte{1}).ID() || k.ID() == KeyOf([KeySize]byte{2}).ID() || len(k.ID()) != 16 {
		t.Errorf("id %q must follow from the key", k.ID())
	}
	for _, id := range []string{"", strings.Repeat("x", MaxKeyID+1)} {
		if _, err := k.Named(id); err == nil {
			t.Errorf("an id of %d bytes was taken", len(id))
		}
	}
	longest, err := k.Named(strings.Repeat("x", MaxKeyID))
	if err != nil {
		t.Fatal(err)
	}
	s := Sealer{Ring{longest}, rand.Reader}
	if got, err := s.Open(t.Context(), mustSeal(t, s, []byte("v"), nil), nil); err != nil || string(got) != "v" {
		t.Errorf("under the longest id: %q, %v", got, err)
	}
	for _, none := range []Ring{{}, {Key{}}} {
		if _, err := (Sealer{none, rand.Reader}).Seal(t.Context(), nil, nil); !errors.Is(err, ErrUnknownKey) {
			t.Errorf("a ring without a key: %v", err)
		}
	}
	if _, err := NewKey(strings.NewReader("short")); err == nil {
		t.Error("a key was made of five bytes")
	}
}

func TestKeysDoNotPrint(t *testing.T) {
	k := KeyOf([KeySize]byte([]byte("this-is-the-secret-this-is-it-32")))
	var b strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&b, verb+" ", k)
		fmt.Fprintf(&b, verb+" ", &k)
		fmt.Fprintf(&b, verb+" ", Ring{k})
		fmt.Fprintf(&b, verb+" ", Sealer{Keys: Ring{k}})
		fmt.Fprintf(&b, verb+" ", struct{ hidden Key }{k}) // fmt can't call its methods
	}
	slog.New(slog.NewJSONHandler(&b, nil)).Info("key", "key", k, "ring", Ring{k})
	slog.New(slog.NewTextHandler(&b, nil)).Info("key", "key", k, "ring", Ring{k})
	document, err := json.Marshal(map[string]any{"key": k})
	if err != nil {
		t.Fatal(err)
	}
	b.Write(document)
	for _, leak := range []string{"this-is", "746869732d", "74686973", "116 104 105 115", "0x74, 0x68"} {
		if strings.Contains(b.String(), leak) {
			t.Errorf("%q shows in %s", leak, b.String())
		}
	}
	if !strings.Contains(b.String(), k.ID()) {
		t.Error("the id does not show")
	}
}

func FuzzOpen(f *testing.F) {
	key, err := KeyOf([KeySize]byte{}).Named("k")
	if err != nil {
		f.Fatal(err)
	}
	s := Sealer{Ring{key}, rand.Reader}
	f.Add([]byte{})
	f.Add(mustSeal(f, s, []byte("value"), Place{"p"}))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, err := s.Open(t.Context(), b, Place{"q"})
		if !errors.Is(err, ErrFormat) && !errors.Is(err, ErrUnknownKey) && !errors.Is(err, ErrOpen) {
			t.Errorf("%x: %v", b, err)
		}
	})
}
