package fault_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardenhq/warden/shared/fault"
)

func TestErrorTellsAll(t *testing.T) {
	for want, err := range map[string]*fault.Error{
		"not-found":                               {Code: fault.NotFound},
		"role-cycle: a > b > a":                   fault.New(fault.RoleCycle, "%s > %s > a", "a", "b"),
		"internal: lost: unexpected EOF":          fault.Wrap(fault.Internal, io.ErrUnexpectedEOF, "%s", "lost"),
		"invalid: name: is long; name: is long":   fault.InField(fault.Invalid, "name", "is %s", "long"),
		"busy: the store is busy; try again: EOF": fault.BusyAfter(time.Second, io.EOF),
	} {
		if got := err.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestCauseIsInTheChainAndNotInTheDetail(t *testing.T) {
	err := fault.Wrap(fault.Busy, fmt.Errorf("put: %w", io.EOF), "try again")
	if !errors.Is(err, io.EOF) {
		t.Error("the cause is lost")
	}
	if strings.Contains(err.Detail, "EOF") {
		t.Errorf("the caller is told the cause: %q", err.Detail)
	}
	if errors.Unwrap(fault.New(fault.Busy, "no")) != nil {
		t.Error("a cause from nowhere")
	}
}

func TestInFieldNamesTheField(t *testing.T) {
	err := fault.InField(fault.LimitExceeded, "roles[3].name", "at most %d bytes", 256)
	want := []fault.Field{{Field: "roles[3].name", Message: "at most 256 bytes"}}
	if err.Code != fault.LimitExceeded || !slices.Equal(err.Fields, want) || err.Detail != "roles[3].name: at most 256 bytes" {
		t.Errorf("got %+v", err)
	}
}

func TestBusyAfterSaysWhen(t *testing.T) {
	if err := fault.BusyAfter(2*time.Second, nil); err.Code != fault.Busy || err.RetryAfter != 2*time.Second || err.Detail == "" {
		t.Errorf("got %+v", err)
	}
}

func TestCodeOf(t *testing.T) {
	inner := fault.New(fault.NotFound, "no")
	for name, tc := range map[string]struct {
		err  error
		want fault.Code
	}{
		"nil":            {nil, ""},
		"a fault":        {inner, fault.NotFound},
		"a wrapped one":  {fmt.Errorf("get: %w", inner), fault.NotFound},
		"a joined one":   {errors.Join(io.EOF, inner), fault.NotFound},
		"the outer wins": {fault.Wrap(fault.Busy, inner, "later"), fault.Busy},
		"anything else":  {io.EOF, fault.Internal},
	} {
		if got := fault.CodeOf(tc.err); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
