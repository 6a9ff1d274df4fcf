package sim

import (
	"math/rand/v2"
	"runtime/debug"
)

// Choices decides everything about a run that is not given.
type Choices interface {
	// Pick returns a number in [0, n), for n of at least 1.
	Pick(n int) int
}

// FromSeed makes choices from a number: the same number, the same run.
func FromSeed(seed uint64) Choices {
	return &seeded{rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))}
}

type seeded struct{ *rand.Rand }

func (s *seeded) Pick(n int) int { return s.IntN(n) }

// FromBytes makes choices from bytes, as a fuzzer has them; when they are used up every choice is 0.
func FromBytes(data []byte) Choices { return &bytesLeft{data} }

type bytesLeft struct{ data []byte }

func (b *bytesLeft) Pick(n int) int {
	if len(b.data) == 0 {
		return 0
	}
	value := int(b.data[0])
	b.data = b.data[1:]
	if n > 256 && len(b.data) > 0 {
		value = value<<8 | int(b.data[0])
		b.data = b.data[1:]
	}
	return value % n
}

// one returns one of several values.
func one[T any](c Choices, values ...T) T { return values[c.Pick(len(values))] }

// chance reports true once in n times.
func chance(c Choices, n int) bool { return c.Pick(n) == n-1 }

func trace() string { return string(debug.Stack()) }
