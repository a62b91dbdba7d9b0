package process_test

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/wardenhq/warden/functions/warden/bench/process"
)

// What is said of this process lies between what getrusage says before and after.
func TestOfAgreesWithRusage(t *testing.T) {
	spend(20 * time.Millisecond)
	before := rusage(t)
	got, err := process.Of(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	after := rusage(t)
	const grain = 20 * time.Millisecond // rusage scales by ticks
	if got.CPU < before-grain || got.CPU > after+grain {
		t.Errorf("CPU %v, by rusage %v to %v", got.CPU, before, after)
	}
	if got.RSS < 1<<20 || got.Files <= 0 || got.Files >= got.RSS {
		t.Errorf("a Go program is resident with %d bytes, %d of them of files", got.RSS, got.Files)
	}
}

func TestOfNoProcess(t *testing.T) {
	if u, err := process.Of(1<<22 + 1); err == nil { // above the kernel's highest pid
		t.Errorf("%+v", u)
	}
}

// spend uses the processor for about a time.
func spend(d time.Duration) {
	for began := time.Now(); time.Since(began) < d; {
	}
}

func rusage(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
