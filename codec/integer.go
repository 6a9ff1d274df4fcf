package codec

import (
	"bytes"
	"math"
)

// exponentMax is where the magnitude of an exponent stops being counted: no digit string in memory is
// long enough to bring a larger one back into range.
const exponentMax = math.MaxInt / 100

// Integer returns the value of the raw JSON number when it is exactly integral and fits an int64,
// whatever its spelling: 1000, 1e3, 1000.0 and 10000e-1 are the same. It takes time linear in the
// length of raw, for huge exponents too.
func Integer(raw []byte) (int64, bool) {
	if value, ok := usualInteger(raw); ok {
		return value, true
	}
	digits, point, negative, ok := significant(raw)
	if !ok || len(digits) == 0 {
		return 0, ok
	}
	return integral(digits, point, negative)
}

// usualInteger returns the value of a number without sign, fraction and exponent that has at most 18 digits.
func usualInteger(raw []byte) (value int64, ok bool) {
	if len(raw) == 0 || len(raw) > 18 || raw[0] == '0' && len(raw) > 1 {
		return 0, false
	}
	for _, c := range raw {
		if c -= '0'; c > 9 {
			return 0, false
		}
		value = value*10 + int64(c)
	}
	return value, true
}

// IsInteger reports whether the raw JSON value is a number with an exactly integral value of any size,
// and its sign: -1, 0 or 1.
func IsInteger(raw []byte) (sign int, ok bool) {
	digits, point, negative, ok := significant(raw)
	if !ok || len(digits) == 0 {
		return 0, ok
	}
	count := len(digits)
	if bytes.IndexByte(digits, '.') >= 0 {
		count--
	}
	if point < count {
		return 0, false
	}
	if negative {
		return -1, true
	}
	return 1, true
}

// significant takes a JSON number apart: its value is ± 0.digits × 10^point, where digits may hold one
// decimal point to be ignored, neither begins nor ends with a zero, and is empty for zero.
func significant(raw []byte) (digits []byte, point int, negative, ok bool) {
	if skipNumber(raw, 0) != len(raw) || len(raw) == 0 {
		return nil, 0, false, false
	}
	if negative = raw[0] == '-'; negative {
		raw = raw[1:]
	}
	first, last := -1, -1
	i, count, fraction := 0, 0, -1
	for ; i < len(raw) && raw[i]|0x20 != 'e'; i++ {
		if raw[i] == '.' {
			fraction = count
			continue
		}
		if raw[i] != '0' {
			if first < 0 {
				first = i
				point = -count
			}
			last = i
		}
		count++
	}
	if first < 0 {
		return nil, 0, negative, true
	}
	if fraction < 0 {
		fraction = count
	}
	return raw[first : last+1], point + fraction + exponent(raw[i:]), negative, true
}

// exponent returns the value of the exponent part of a number, e or E first; 0 when it is empty.
func exponent(raw []byte) int {
	value, negative := 0, false
	for _, c := range raw {
		switch {
		case c == '-':
			negative = true
		case c >= '0' && c <= '9' && value < exponentMax:
			value = value*10 + int(c-'0')
		}
	}
	if negative {
		return -value
	}
	return value
}

// integral returns 0.digits × 10^point, where digits may hold one decimal point to be ignored and
// neither begins nor ends with a zero.
func integral(digits []byte, point int, negative bool) (int64, bool) {
	if point < 1 || point > 19 {
		return 0, false
	}
	var value uint64
	for _, c := range digits {
		if c == '.' {
			continue
		}
		if point == 0 {
			return 0, false // a digit that is not 0 stands behind the decimal point
		}
		value = value*10 + uint64(c-'0') // 19 digits always fit
		point--
	}
	for ; point > 0; point-- {
		value *= 10
	}
	switch {
	case negative && value == 1<<63:
		return math.MinInt64, true
	case value > math.MaxInt64:
		return 0, false
	case negative:
		return -int64(value), true
	}
	return int64(value), true
}
