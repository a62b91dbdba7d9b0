package admin

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// duration is a span of time in a body: "24h", "1h30m", "7d".
type duration struct{ time.Duration }

var errDuration = errors.New(`must be a duration like "24h", "90m" or "7d"`)

// day is what `d` stands for: 24 hours, whatever the calendar says.
const day = 24 * time.Hour

// UnmarshalText reads hours, minutes and seconds as Go writes them, or whole days.
func (d *duration) UnmarshalText(text []byte) error {
	s := string(text)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return errDuration
		}
		d.Duration = time.Duration(n) * day
		return nil
	}
	parsed, err := time.ParseDuration(s)
	if err != nil || parsed < 0 || s[0] == '+' || s[0] == '-' {
		return errDuration
	}
	d.Duration = parsed
	return nil
}
