//go:build linux

package bench

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// processCPU returns the CPU time that every thread of the process has used, dead ones included, in
// nanoseconds as the scheduler counts them. A pid of 0 is this process.
func processCPU(pid int) (time.Duration, error) {
	const schedClock = 2 // CPUCLOCK_SCHED of the kernel's posix-timers.h
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|schedClock), &ts); err != nil {
		return 0, fmt.Errorf("reading the CPU clock of process %d: %w", pid, err)
	}
	return time.Duration(ts.Nano()), nil
}

// threadCPU returns the CPU time of the calling thread.
func threadCPU() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		panic("bench: the kernel has no thread CPU clock: " + err.Error())
	}
	return time.Duration(ts.Nano())
}

// userShare returns which part of the process's CPU time was spent in user mode since boot of the
// process: a pair of counters in clock ticks, to be subtracted from a later pair.
func userShare(pid int) (user, system int64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, fmt.Errorf("reading the CPU split of process %d: %w", pid, err)
	}
	// The name in parentheses may hold spaces; what follows it does not.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 13 {
		return 0, 0, fmt.Errorf("reading the CPU split of process %d: %d fields", pid, len(fields))
	}
	if user, err = strconv.ParseInt(string(fields[11]), 10, 64); err != nil {
		return 0, 0, fmt.Errorf("reading the CPU split of process %d: %w", pid, err)
	}
	if system, err = strconv.ParseInt(string(fields[12]), 10, 64); err != nil {
		return 0, 0, fmt.Errorf("reading the CPU split of process %d: %w", pid, err)
	}
	return user, system, nil
}

// residentBytes returns the resident set of a process: what it occupies now, shared pages included.
func residentBytes(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, fmt.Errorf("reading the memory of process %d: %w", pid, err)
	}
	fields := bytes.Fields(text)
	if len(fields) < 2 {
		return 0, fmt.Errorf("reading the memory of process %d: %q", pid, text)
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("reading the memory of process %d: %w", pid, err)
	}
	return pages * int64(os.Getpagesize()), nil
}
