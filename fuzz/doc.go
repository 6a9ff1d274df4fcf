// Package fuzz holds the fuzz targets, each with its seeds and a plain oracle, and the tests that take the
// core or the program as a whole: the simulation (package sim), faults and soak (package town). It
// has no code but tests.
package fuzz
