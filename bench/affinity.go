//go:build linux

package bench

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// pinSelf moves every thread of this process to the given CPUs. Threads made later inherit the mask of
// the thread that makes them. No CPUs means leave it.
func pinSelf(cpus []int) error {
	if len(cpus) == 0 {
		return nil
	}
	set := cpuSet(cpus)
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return fmt.Errorf("pinning the generator: %w", err)
	}
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err != nil {
			continue
		}
		// A thread that ended since ReadDir needs no pinning.
		if err := unix.SchedSetaffinity(tid, &set); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("pinning the generator to CPU %v: %w", cpus, err)
		}
	}
	return nil
}

// withAffinity runs start on a thread that is bound to cpus, so that a child process forked by it is
// bound from its first instruction: the Go runtime sizes itself by the mask it finds.
func withAffinity(cpus []int, start func() error) error {
	if len(cpus) == 0 {
		return start()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var old unix.CPUSet
	if err := unix.SchedGetaffinity(0, &old); err != nil {
		return fmt.Errorf("reading the CPU mask: %w", err)
	}
	set := cpuSet(cpus)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("binding a child to CPU %v: %w", cpus, err)
	}
	err := start()
	if back := unix.SchedSetaffinity(0, &old); back != nil {
		return errors.Join(err, fmt.Errorf("restoring the CPU mask: %w", back))
	}
	return err
}

func cpuSet(cpus []int) unix.CPUSet {
	var set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	return set
}
