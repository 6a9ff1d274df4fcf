// Package fuzz holds the fuzz targets, each with its seeds, and checks them against plain oracles. It
// has no code but tests.
package fuzz
