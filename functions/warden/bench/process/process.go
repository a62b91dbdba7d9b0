// Package process says what another process has used of the machine.
package process

import (
	"errors"
	"time"
)

// ErrUnsupported says that this operating system is not asked.
var ErrUnsupported = errors.New("process: servers are measured on Linux only")

// Usage is what a process has used.
type Usage struct {
	CPU   time.Duration // user and system time of all its threads, since it started
	RSS   int64         // resident memory, in bytes
	Files int64         // what of it are pages of files, which the system takes back when it needs them
}
