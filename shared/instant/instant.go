// Package instant is how the contract writes a moment: RFC 3339 with offset,
// shown in UTC with the fractional digits it needs, at least three.
package instant

import (
	"errors"
	"strings"
	"time"
)

// ErrInvalid: not RFC 3339 with offset and at most nine fractional digits.
var ErrInvalid = errors.New("must be an RFC 3339 time with offset, like 2030-01-02T15:04:05Z or 2030-01-02T15:04:05.123+02:00")

// Format writes the moment.
func Format(t time.Time) string {
	s := t.UTC().Format("2006-01-02T15:04:05.000000000")
	for range 6 {
		if s[len(s)-1] != '0' {
			break
		}
		s = s[:len(s)-1]
	}
	return s + "Z"
}

// Parse reads a moment. time.Parse alone would take a comma for the point and
// more digits than it keeps.
func Parse(s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil || strings.ContainsRune(s, ',') || fraction(s) > 9 || t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}, ErrInvalid
	}
	return t.UTC(), nil
}

func fraction(s string) int {
	_, after, ok := strings.Cut(s, ".")
	if !ok {
		return 0
	}
	n := strings.IndexFunc(after, func(r rune) bool { return r < '0' || r > '9' })
	if n < 0 {
		return len(after)
	}
	return n
}

// Time is a moment in JSON, by Format and Parse.
type Time struct{ time.Time }

// At makes the JSON form of an optional moment; nil for the zero time.
func At(t time.Time) *Time {
	if t.IsZero() {
		return nil
	}
	return &Time{t}
}

// MarshalText is Format.
func (t Time) MarshalText() ([]byte, error) { return []byte(Format(t.Time)), nil }

// UnmarshalText is Parse.
func (t *Time) UnmarshalText(b []byte) (err error) {
	t.Time, err = Parse(string(b))
	return err
}

// MarshalJSON hides the embedded time's own form.
func (t Time) MarshalJSON() ([]byte, error) { return []byte(`"` + Format(t.Time) + `"`), nil }

// UnmarshalJSON hides the embedded time's own form.
func (t *Time) UnmarshalJSON(b []byte) error {
	if len(b) < 2 || b[0] != '"' || b[len(b)-1] != '"' {
		return ErrInvalid
	}
	return t.UnmarshalText(b[1 : len(b)-1])
}
