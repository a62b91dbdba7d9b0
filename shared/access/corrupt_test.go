package access_test

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/wardenhq/warden/shared/access"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/rbac/rbactest"
)

// useAll calls everything that reads a document, and returns the errors.
func useAll(t testing.TB, v *access.View, questions []rbac.Question) (errs []error) {
	t.Helper()
	for _, q := range questions {
		reason, err := v.Decide(q, rbactest.Now)
		if (err != nil) != (reason == rbac.ReasonUndecided) {
			t.Errorf("Decide = %q, %v: an answer with an error, or neither", reason, err)
		}
		d, err2 := v.Explain(q, rbactest.Now)
		if (err2 != nil) != (d.Reason == rbac.ReasonUndecided) {
			t.Errorf("Explain = %v, %v: an answer with an error, or neither", d, err2)
		}
		errs = append(errs, err, err2)
	}
	_, err := v.Assignments()
	v.Names(1 << 63)
	v.Of(header.Org, header.Incarnation)
	return append(errs, err)
}

func TestTruncatedDocuments(t *testing.T) {
	doc, _ := encode(t, sampleWorld().Resolve(rbactest.Subject))
	for n := range doc {
		if _, err := access.Parse(doc[:n:n]); !errors.Is(err, access.ErrCorrupt) {
			t.Errorf("the first %d of %d bytes: %v, want ErrCorrupt", n, len(doc), err)
		}
	}
	if _, err := access.Parse(append(slices.Clone(doc), 0)); !errors.Is(err, access.ErrCorrupt) {
		t.Errorf("a byte more: %v, want ErrCorrupt", err)
	}
}

func TestUnknownFormat(t *testing.T) {
	doc, _ := encode(t, sampleWorld().Resolve(rbactest.Subject))
	for _, format := range []byte{0, 2, 255} {
		doc[0] = format
		_, err := access.Parse(doc)
		var e *access.FormatError
		if !errors.As(err, &e) || e.Format != format || errors.Is(err, access.ErrCorrupt) {
			t.Errorf("format %d: %v", format, err)
		}
	}
	if got, want := (&access.FormatError{Format: 7}).Error(), "access: document of unknown format 7"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestDamagedBytes sets each byte of a document to other values: whatever is
// said then, nothing panics, and errors are ErrCorrupt or as documented.
func TestDamagedBytes(t *testing.T) {
	doc, _ := encode(t, sampleWorld().Resolve(rbactest.Subject))
	corrupt := 0
	for i := range doc {
		for _, value := range []byte{0, 1, 0x7f, 0x80, 0xff, doc[i] + 1, doc[i] - 1} {
			bad := slices.Clone(doc)
			bad[i] = value
			v, err := access.Parse(bad)
			if err != nil {
				continue
			}
			for _, err := range useAll(t, &v, sampleQuestions()) {
				if errors.Is(err, access.ErrCorrupt) {
					corrupt++
				} else if err != nil && !errors.Is(err, access.ErrNoGrants) {
					t.Errorf("byte %d set to %d: %v", i, value, err)
				}
			}
		}
	}
	if corrupt == 0 {
		t.Error("no damage was noticed")
	}
}

// TestDamageIsNoticed fills one section after the other with ones: every number
// in it leads nowhere.
func TestDamageIsNoticed(t *testing.T) {
	doc, _ := encode(t, sampleWorld().Resolve(rbactest.Subject))
	count := func(at int) int { return int(binary.LittleEndian.Uint16(doc[at:])) }
	cells := count(12)
	sections := []struct {
		name    string
		bytes   int
		noticed bool
	}{
		{"names", 8 * count(6), false},
		{"instants", 12 * count(8), false},
		{"assignments", 36 * count(4), true},
		{"reaches", 6 * count(10), true},
		{"cells", 12 * cells, false}, // marks that are no pair's are no damage
		{"buckets", 2 * (cells + 1), true},
		{"entries", 4 * count(14), true},
		{"org", count(2), false},
		{"heap", count(16), true},
	}
	at := 48
	for _, s := range sections {
		bad := slices.Clone(doc)
		for i := range s.bytes {
			bad[at+i] = 0xff
		}
		at += s.bytes
		v, err := access.Parse(bad)
		if err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		noticed := slices.ContainsFunc(useAll(t, &v, sampleQuestions()), func(err error) bool { return errors.Is(err, access.ErrCorrupt) })
		if noticed != s.noticed {
			t.Errorf("%s full of ones: noticed %v, want %v", s.name, noticed, s.noticed)
		}
	}
	if at != len(doc) {
		t.Fatalf("the sections end at %d of %d bytes", at, len(doc))
	}
}

// TestRolesInACircle makes a role inherit itself in the bytes: explaining has to end.
func TestRolesInACircle(t *testing.T) {
	doc, _ := encode(t, sampleWorld().Resolve(rbactest.Subject))
	count := func(at int) int { return int(binary.LittleEndian.Uint16(doc[at:])) }
	reaches := 48 + 8*count(6) + 12*count(8) + 36*count(4)
	const viewer = 1 // the second role reached, inherited by the first
	binary.LittleEndian.PutUint16(doc[reaches+6*viewer+2:], viewer)
	v, err := access.Parse(doc)
	if err != nil {
		t.Fatal(err)
	}
	if d, err := v.Explain(ask("invoice", "read"), rbactest.Now); !errors.Is(err, access.ErrCorrupt) {
		t.Errorf("Explain = %v, %v; want ErrCorrupt", d, err)
	}
}
