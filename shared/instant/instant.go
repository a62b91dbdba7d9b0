// Package instant is how the contract writes a moment: RFC 3339 with an offset
// and up to nine fractional digits, shown in UTC with the digits it needs, at
// least three.
package instant

import (
	"bytes"
	"errors"
	"regexp"
	"time"
)

// Time is a moment in bodies, answers and events. The zero value is none;
// members that may lack one say omitzero. Two equal moments are equal under ==.
type Time struct {
	t   time.Time
	set bool // apart from t, whose zero value is a moment too
}

// At is the Time of a moment; it drops the zone and the monotonic clock.
func At(t time.Time) Time { return Time{t.Round(0).UTC(), true} }

// OrNone is the Time of a moment that may lack: nil is none.
func OrNone(t *time.Time) Time {
	if t == nil {
		return Time{}
	}
	return At(*t)
}

// Get is the moment in UTC, and whether there is one.
func (t Time) Get() (time.Time, bool) { return t.t, t.set }

// Pointer is the moment in UTC, nil for none.
func (t Time) Pointer() *time.Time {
	if !t.set {
		return nil
	}
	return &t.t
}

// IsZero says whether there is no moment.
func (t Time) IsZero() bool { return !t.set }

func (t Time) String() string { return t.t.Format(shownMilli) + string(t.moreDigits()) + "Z" }

const shownMilli = "2006-01-02T15:04:05.000"

// moreDigits are the fourth to ninth fractional digits without trailing zeros.
func (t Time) moreDigits() []byte {
	nine := t.t.AppendFormat(nil, ".000000000")
	return bytes.TrimRight(nine[len(".000"):], "0")
}

// ErrInvalid is the error of a text that is no Time.
var ErrInvalid = errors.New(`must be a time as RFC 3339 has it, with an offset and at most nine fractional digits, like "2026-01-31T09:30:00Z"`)

// MarshalText is the form that answers show.
func (t Time) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// form is RFC 3339's grammar (section 5.6, T and Z in either case) with at most
// nine fractional digits. time.Parse alone is laxer: it takes commas, hours of
// one digit and offsets beyond a day, and drops further digits without a word.
var form = regexp.MustCompile(`^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// UnmarshalText reads a time; the error is ErrInvalid. Leap seconds, and moments
// that fall out of the years 0 to 9999 in UTC, are refused.
func (t *Time) UnmarshalText(text []byte) error {
	if !form.Match(text) {
		return ErrInvalid
	}
	parsed, err := time.Parse(time.RFC3339, string(bytes.ToUpper(text)))
	if err != nil {
		return ErrInvalid
	}
	utc := parsed.UTC()
	if y := utc.Year(); y < 0 || y > 9999 {
		return ErrInvalid
	}
	*t = At(utc)
	return nil
}
