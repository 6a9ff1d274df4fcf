//go:build !linux

package cli

import "runtime/debug"

// shrink gives back the heap that starting took and running does not need.
func shrink() { debug.FreeOSMemory() }
