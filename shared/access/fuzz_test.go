package access_test

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/wardenhq/warden/shared/access"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/rbac/rbactest"
)

// FuzzParse reads arbitrary bytes as a document: an answer or a typed error,
// never a panic.
func FuzzParse(f *testing.F) {
	doc, _ := encode(f, sampleWorld().Resolve(rbactest.Subject))
	tombstone, _ := encode(f, &rbac.Resolution{})
	f.Add(doc, "invoice", "read")
	f.Add(doc, "*", "*")
	f.Add(tombstone, "a", "b")
	f.Add([]byte{}, "a", "b")
	f.Fuzz(func(t *testing.T, b []byte, resource, action string) {
		r, err1 := rbac.ParseResourceID(resource)
		a, err2 := rbac.ParseActionID(action)
		if err1 != nil || err2 != nil {
			return
		}
		v, err := access.Parse(b)
		if err != nil {
			if !errors.Is(err, access.ErrCorrupt) && !errors.As(err, new(*access.FormatError)) {
				t.Errorf("Parse: %v", err)
			}
			return
		}
		for _, err := range useAll(t, &v, []rbac.Question{{Resource: r, Action: a}, ask("invoice", "read")}) {
			if err != nil && !errors.Is(err, access.ErrCorrupt) && !errors.Is(err, access.ErrNoGrants) {
				t.Errorf("%v", err)
			}
		}
	})
}

// FuzzDamage changes bytes of a good document.
func FuzzDamage(f *testing.F) {
	doc, _ := encode(f, sampleWorld().Resolve(rbactest.Subject))
	f.Add(uint16(12), byte(0xff), uint16(60), byte(1))
	f.Fuzz(func(t *testing.T, at1 uint16, value1 byte, at2 uint16, value2 byte) {
		bad := slices.Clone(doc)
		bad[int(at1)%len(bad)] = value1
		bad[int(at2)%len(bad)] = value2
		if v, err := access.Parse(bad); err == nil {
			useAll(t, &v, sampleQuestions())
		}
	})
}

// FuzzAgreement is TestThreeWayAgreement with the fuzzer's draws.
func FuzzAgreement(f *testing.F) { f.Fuzz(rapid.MakeFuzz(checkAgreement)) }

// FuzzRoundTrip is TestRoundTrip with the fuzzer's draws.
func FuzzRoundTrip(f *testing.F) { f.Fuzz(rapid.MakeFuzz(checkRoundTrip)) }
