package cli

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// monotonicMicros is the time by CLOCK_MONOTONIC, which systemd compares reloads by.
func monotonicMicros() string {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) != nil {
		return "0"
	}
	return strconv.FormatInt(now.Nano()/1000, 10)
}
