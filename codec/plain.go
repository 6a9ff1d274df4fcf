//go:build !goexperiment.simd || !amd64

package codec

import (
	"math"
	"unicode/utf8"
)

// This file has the inner loops for machines and builds without vector instructions; plain_simd.go has
// the others. Both give the same answers.

// skipPlain returns an index from i on, up to which the inside of a string needs no look.
func skipPlain(_ []byte, i int) int { return i }

// skipASCII returns the index of the first byte of b that is not ASCII, len(b) when there is none.
func skipASCII(b []byte) int { return skipASCIIWords(b, 0) }

// validFrom reports whether b is UTF-8 from b[i] on.
func validFrom(b []byte, i int) bool { return utf8.Valid(b[i:]) }

// denseBytesMin is from how many bytes on skipDense takes over a container: never.
const denseBytesMin = math.MaxInt

// skipDense is never called.
func skipDense(_ []byte, _, _ int) (end int, high bool) { return -1, false }

// skipText is never called.
func skipText(_ []byte, _ int) (end int, high bool) { return 0, false }
