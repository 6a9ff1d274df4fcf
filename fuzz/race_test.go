//go:build race

package fuzz

// usualRuns is how many seeds TestSim runs; the race detector makes each ten times slower.
const usualRuns = 1000
