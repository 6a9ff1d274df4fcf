//go:build linux && !chaos

package fuzz

import "time"

// How much TestChaos does; with the build tag chaos it is much more.
const (
	chaosTime  = 5 * time.Second
	chaosKills = 1
)
