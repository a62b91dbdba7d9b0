package process

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Of is what a process of this machine has used so far.
func Of(pid int) (Usage, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(cpuClock(pid), &t); err != nil {
		return Usage{}, fmt.Errorf("process: processor time of %d: %w", pid, err)
	}
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return Usage{}, fmt.Errorf("process: memory: %w", err)
	}
	resident, shared, err := pages(string(statm))
	if err != nil {
		return Usage{}, fmt.Errorf("process: memory of %d: %w", pid, err)
	}
	size := int64(os.Getpagesize())
	return Usage{CPU: time.Duration(t.Nano()), RSS: resident * size, Files: shared * size}, nil
}

// cpuClock is the clock of a process's processor time, what
// clock_getcpuclockid(3) returns: the same time as in rusage and
// /proc/PID/stat, in nanoseconds where the latter has ticks of 10 ms.
func cpuClock(pid int) int32 {
	const scheduled = 2 // CPUCLOCK_SCHED of the kernel's posix-timers.h
	return ^int32(pid)<<3 | scheduled
}

// pages are the second and the third field of /proc/PID/statm, see proc(5).
func pages(statm string) (resident, shared int64, err error) {
	if _, err := fmt.Sscan(statm, new(int64), &resident, &shared); err != nil {
		return 0, 0, fmt.Errorf("%q is no statm: %w", statm, err)
	}
	return resident, shared, nil
}
