//go:build !race

package fuzz

const usualRuns = 10000
