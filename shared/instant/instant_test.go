package instant_test

import (
	"testing"
	"time"

	"github.com/wardenhq/warden/shared/instant"
)

func TestFormat(t *testing.T) {
	for want, in := range map[string]time.Time{
		"2026-11-30T01:02:03.000Z":               time.Date(2026, 11, 30, 1, 2, 3, 0, time.UTC),
		"2026-11-30T01:02:03.120Z":               time.Date(2026, 11, 30, 1, 2, 3, 120e6, time.UTC),
		"2026-11-30T01:02:03.123400Z"[:24] + "Z": time.Date(2026, 11, 30, 1, 2, 3, 123400e3, time.UTC),
		"2026-11-30T01:02:03.000000001Z":         time.Date(2026, 11, 30, 1, 2, 3, 1, time.UTC),
		"2026-11-29T23:02:03.000Z":               time.Date(2026, 11, 30, 1, 2, 3, 0, time.FixedZone("", 7200)),
		"9999-12-31T23:59:59.999999999Z":         time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC),
		"0001-01-01T00:00:00.000Z":               {},
	} {
		if got := instant.Format(in); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestParse(t *testing.T) {
	good := map[string]time.Time{
		"2026-11-30T01:02:03Z":                time.Date(2026, 11, 30, 1, 2, 3, 0, time.UTC),
		"2026-11-30T01:02:03.5+02:00":         time.Date(2026, 11, 29, 23, 2, 3, 5e8, time.UTC),
		"2026-11-30T01:02:03.123456789-00:30": time.Date(2026, 11, 30, 1, 32, 3, 123456789, time.UTC),
	}
	for in, want := range good {
		if got, err := instant.Parse(in); err != nil || !got.Equal(want) {
			t.Errorf("%s: got %s, %v", in, got, err)
		}
	}
	for _, in := range []string{
		"", "2026-11-30", "2026-11-30T01:02:03", "2026-11-30T01:02:03,5Z", "2026-11-30T01:02:03.1234567890Z", "2026-11-30T24:00:00Z",
		"2026-02-30T00:00:00Z", "2026-11-30T23:59:60Z", "2026-11-30t01:02:03z", "2026-11-30 01:02:03Z", "0000-01-01T00:00:00Z", "1764460923",
	} {
		if got, err := instant.Parse(in); err == nil {
			t.Errorf("%s: read as %s", in, got)
		}
	}
}

func TestJSON(t *testing.T) {
	var got instant.Time
	if err := got.UnmarshalJSON([]byte(`"2026-11-30T01:02:03Z"`)); err != nil {
		t.Fatal(err)
	}
	if b, err := got.MarshalJSON(); err != nil || string(b) != `"2026-11-30T01:02:03.000Z"` {
		t.Errorf("got %s, %v", b, err)
	}
	for _, in := range []string{`1`, `null`, `""`, `"x"`, `"`} {
		if err := got.UnmarshalJSON([]byte(in)); err == nil {
			t.Errorf("%s was read", in)
		}
	}
	if instant.At(time.Time{}) != nil {
		t.Error("the zero time has a form")
	}
}
