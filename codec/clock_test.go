package codec

import (
	"syscall"
	"time"
)

// userTime is the user time that the process has used: what counts where others use the machine too.
func userTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano())
}
