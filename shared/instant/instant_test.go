package instant_test

import (
	"errors"
	"testing"
	"time"

	"github.com/wardenhq/warden/shared/instant"
)

func TestTimeForms(t *testing.T) {
	for in, want := range map[string]string{
		"2026-01-02T03:04:05Z":                "2026-01-02T03:04:05.000Z",
		"2026-01-02t03:04:05z":                "2026-01-02T03:04:05.000Z",
		"2026-01-02T03:04:05+00:00":           "2026-01-02T03:04:05.000Z",
		"2026-01-02T03:04:05-00:00":           "2026-01-02T03:04:05.000Z",
		"2026-01-02T03:04:05+05:30":           "2026-01-01T21:34:05.000Z",
		"2026-01-02T03:04:05.1Z":              "2026-01-02T03:04:05.100Z",
		"2026-01-02T03:04:05.120-08:00":       "2026-01-02T11:04:05.120Z",
		"2026-01-02T03:04:05.1234Z":           "2026-01-02T03:04:05.1234Z",
		"2026-01-02T03:04:05.123456789Z":      "2026-01-02T03:04:05.123456789Z",
		"2026-01-02T03:04:05.123450000+00:00": "2026-01-02T03:04:05.12345Z",
		"2026-01-02T03:04:05.000000001z":      "2026-01-02T03:04:05.000000001Z",
		"2024-02-29T00:00:00Z":                "2024-02-29T00:00:00.000Z",
		"0000-01-01T00:00:00Z":                "0000-01-01T00:00:00.000Z",
		"0001-01-01T00:00:00Z":                "0001-01-01T00:00:00.000Z",
		"9999-12-31T23:59:59.999999999Z":      "9999-12-31T23:59:59.999999999Z",
	} {
		var got instant.Time
		if err := got.UnmarshalText([]byte(in)); err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if got.String() != want || got.IsZero() {
			t.Errorf("%s is shown as %s, want %s", in, got, want)
		}
	}
}

func TestTimeRefuses(t *testing.T) {
	for name, in := range map[string]string{
		"nothing":                 "",
		"a date":                  "2026-01-02",
		"no offset":               "2026-01-02T03:04:05",
		"no offset, a fraction":   "2026-01-02T03:04:05.123",
		"a space for T":           "2026-01-02 03:04:05Z",
		"no seconds":              "2026-01-02T03:04Z",
		"one digit of an hour":    "2026-01-02T3:04:05Z",
		"a comma":                 "2026-01-02T03:04:05,1Z",
		"a point and no fraction": "2026-01-02T03:04:05.Z",
		"ten digits":              "2026-01-02T03:04:05.1234567890Z",
		"ten zeros":               "2026-01-02T03:04:05.0000000000+01:00",
		"a leap second":           "2016-12-31T23:59:60Z",
		"minute 60":               "2026-01-02T03:60:05Z",
		"hour 24":                 "2026-01-02T24:00:00Z",
		"day 31 of a short month": "2026-04-31T00:00:00Z",
		"a leap day that is none": "2026-02-29T00:00:00Z",
		"month 13":                "2026-13-01T00:00:00Z",
		"day 0":                   "2026-01-00T00:00:00Z",
		"offset hour 24":          "2026-01-02T03:04:05+24:00",
		"offset minute 60":        "2026-01-02T03:04:05+01:60",
		"offset without colon":    "2026-01-02T03:04:05+0100",
		"an hour of offset":       "2026-01-02T03:04:05+01",
		"a name of a zone":        "2026-01-02T03:04:05UTC",
		"a year of five digits":   "12026-01-02T03:04:05Z",
		"a year below 0 in UTC":   "0000-01-01T00:00:00+00:01",
		"a year over 9999 in UTC": "9999-12-31T23:59:59-00:01",
		"white space before":      " 2026-01-02T03:04:05Z",
		"white space after":       "2026-01-02T03:04:05Z\n",
		"seconds since 1970":      "1767323045",
	} {
		var got instant.Time
		if err := got.UnmarshalText([]byte(in)); !errors.Is(err, instant.ErrInvalid) {
			t.Errorf("%s: %q gives %s, %v", name, in, got, err)
		}
		if !got.IsZero() {
			t.Errorf("%s: %q left %s behind", name, in, got)
		}
	}
}

func TestTimeEquality(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("here", 3600))
	a, b := instant.At(at), instant.At(at.UTC())
	if a != b {
		t.Errorf("%s and %s differ", a, b)
	}
	if got, ok := a.Get(); !ok || !got.Equal(at) {
		t.Errorf("got %s, %t", got, ok)
	}
	if _, ok := (instant.Time{}).Get(); ok {
		t.Error("the zero Time is an instant")
	}
	if instant.At(time.Time{}).IsZero() {
		t.Error("the zero instant is none")
	}
	if !instant.OrNone(nil).IsZero() || instant.OrNone(&at) != a {
		t.Errorf("of pointers: %s and %s", instant.OrNone(nil), instant.OrNone(&at))
	}
	if got := a.Pointer(); got == nil || !got.Equal(at) || (instant.Time{}).Pointer() != nil {
		t.Errorf("as a pointer: %v", got)
	}
}

func FuzzTime(f *testing.F) {
	for _, s := range []string{
		"2026-01-02T03:04:05Z", "2026-01-02t03:04:05.123456789+05:30", "2016-12-31T23:59:60Z",
		"0000-01-01T00:00:00Z", "9999-12-31T23:59:59.9-23:59", "2026-01-02T03:04:05.1234567890Z", "",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var first, again instant.Time
		if err := first.UnmarshalText([]byte(s)); err != nil {
			return
		}
		shown := first.String()
		if err := again.UnmarshalText([]byte(shown)); err != nil || again != first {
			t.Fatalf("%q is shown as %q, which reads as %s, %v", s, shown, again, err)
		}
		if n := len(shown); n < len("2006-01-02T15:04:05.000Z") || n > len("2006-01-02T15:04:05.000000000Z") {
			t.Fatalf("%q is shown as %q", s, shown)
		}
	})
}
