//go:build linux && chaos

package fuzz

import "time"

const (
	chaosTime  = 90 * time.Second
	chaosKills = 10
)
