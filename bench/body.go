//go:build linux

package bench

import (
	"math/rand/v2"
	"strconv"
)

// Kind is the shape of a message body, which decides what parsing it costs.
type Kind string

const (
	Dense  Kind = "dense"  // many short JSON tokens: the worst case for who parses
	String Kind = "string" // one long ASCII string: close to a plain copy
)

// A body begins with a ten-digit number that names its sender and its place in the ring, so that no
// two bodies of a run are alike: {"n":1SSSSIIIII.
const (
	numberOff  = len(`{"n":`)
	numberLen  = 10
	bodyMin    = numberOff + numberLen + 1
	senderMax  = 9999
	placeMax   = 99999
	numberBase = 1_000_000_000
)

// makeBodies returns count distinct bodies of exactly size bytes, valid JSON objects, the same ones in
// every run. size is at least 16; below 40 there is room for the number only.
func makeBodies(kind Kind, size, count int) [][]byte {
	if size < bodyMin {
		panic("bench: a body holds at least " + strconv.Itoa(bodyMin) + " bytes")
	}
	rng := rand.New(rand.NewPCG(uint64(size), uint64(len(kind))))
	bodies := make([][]byte, count)
	for i := range bodies {
		bodies[i] = makeBody(rng, kind, size)
	}
	return bodies
}

func makeBody(rng *rand.Rand, kind Kind, size int) []byte {
	b := make([]byte, 0, size)
	b = append(b, `{"n":1000000000`...)
	switch {
	case size < 40:
		for len(b) < size-1 {
			b = append(b, ' ')
		}
		return append(b, '}')
	case kind == String:
		b = append(b, `,"s":"`...)
		b = appendText(b, rng, size-len(b)-2)
		return append(b, `"}`...)
	}
	b = append(b, `,"a":[`...)
	for size-len(b) > 64 {
		b = append(appendValue(b, rng, 3), ',')
	}
	b = append(b, '"')
	b = appendText(b, rng, size-len(b)-3)
	return append(b, `"]}`...)
}

// appendValue appends one JSON value of at most about 60 bytes, most of them far shorter.
func appendValue(b []byte, rng *rand.Rand, depth int) []byte {
	pick := rng.IntN(100)
	switch {
	case pick < 30:
		return strconv.AppendInt(b, rng.Int64N(1<<uint(1+rng.IntN(22))), 10)
	case pick < 40:
		return strconv.AppendFloat(b, float64(rng.IntN(20000)-10000)/100, 'f', 2, 64)
	case pick < 65:
		b = append(b, '"')
		b = appendText(b, rng, 2+rng.IntN(7))
		return append(b, '"')
	case pick < 72:
		return append(b, "true"...)
	case pick < 76:
		return append(b, "false"...)
	case pick < 80 || depth == 0:
		return append(b, "null"...)
	case pick < 90:
		b = append(b, `{"`...)
		b = appendText(b, rng, 1+rng.IntN(4))
		b = append(b, `":`...)
		return append(appendValue(b, rng, depth-1), '}')
	}
	b = append(b, '[')
	b = append(appendValue(b, rng, depth-1), ',')
	return append(appendValue(b, rng, 0), ']')
}

// appendText appends n letters and spaces: nothing that JSON escapes.
func appendText(b []byte, rng *rand.Rand, n int) []byte {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ."
	for range n {
		b = append(b, letters[rng.Uint32()%uint32(len(letters))])
	}
	return b
}

// stamp writes the number of sender's message at place into body.
func stamp(body []byte, sender, place int) {
	if sender > senderMax || place > placeMax {
		panic("bench: too many senders or messages for a ten-digit number")
	}
	n := numberBase + sender*(placeMax+1) + place
	strconv.AppendInt(body[numberOff:numberOff], int64(n), 10)
}
