//go:build !linux

package cli

// monotonicMicros is for systemd, which there is none of here.
func monotonicMicros() string { return "0" }
