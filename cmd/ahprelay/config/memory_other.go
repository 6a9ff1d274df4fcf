//go:build !linux && !darwin

package config

// SystemMemory knows nothing of this system.
func SystemMemory() Memory { return Memory{} }
