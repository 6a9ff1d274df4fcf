package codec

import (
	"math"
	"strings"
	"testing"
)

func TestInteger(t *testing.T) {
	zeros := strings.Repeat("0", 1<<20)
	for _, test := range []struct {
		raw  string
		want int64
		ok   bool
	}{
		{"0", 0, true}, {"-0", 0, true}, {"0.0", 0, true}, {"-0.00e5", 0, true}, {"0e999999999999", 0, true}, {"0e-999999999999", 0, true},
		{"1", 1, true}, {"-1", -1, true}, {"10", 10, true}, {"1000", 1000, true}, {"1e3", 1000, true}, {"1E+3", 1000, true}, {"1000.0", 1000, true},
		{"1.0", 1, true}, {"10000e-1", 1000, true}, {"1.5e1", 15, true}, {"1.50e1", 15, true}, {"1.25e1", 0, false}, {"1.25e2", 125, true}, {"0.001e3", 1, true}, {"0.001e2", 0, false},
		{"1.5", 0, false}, {"0.1", 0, false}, {"1e-1", 0, false}, {"100e-2", 1, true}, {"100e-3", 0, false}, {"-12.30e1", -123, true},
		{"9223372036854775807", math.MaxInt64, true}, {"-9223372036854775808", math.MinInt64, true}, {"9223372036854775808", 0, false}, {"-9223372036854775809", 0, false},
		{"9.223372036854775807e18", math.MaxInt64, true}, {"92233720368547758070e-1", math.MaxInt64, true}, {"9999999999999999999", 0, false}, {"10000000000000000000", 0, false},
		{"18446744073709551616", 0, false}, {"18446744073709551617", 0, false}, {"1e18", 1e18, true}, {"1e19", 0, false}, {"9e18", 9e18, true}, {"9007199254740993", 9007199254740993, true},
		{"1e999999999", 0, false}, {"1e-999999999", 0, false}, {"1e99999999999999999999999999999999", 0, false}, {"-1e-99999999999999999999999999999999", 0, false}, {"0e99999999999999999999999999999", 0, true},
		{"1" + zeros, 0, false}, {"1" + zeros + "e-1048576", 1, true}, {"0." + zeros + "7e1048577", 7, true}, {"0." + zeros + "7e1048576", 0, false}, {"0." + zeros, 0, true}, {"5." + zeros, 5, true},
		{"5." + zeros + "1", 0, false}, {"1e" + zeros + "2", 100, true}, {"123" + zeros + ".000e-1048576", 123, true},
		{"", 0, false}, {"-", 0, false}, {"x", 0, false}, {`"1"`, 0, false}, {"null", 0, false}, {"[]", 0, false}, {"01", 0, false}, {"1 ", 0, false}, {"1.", 0, false},
	} {
		if got, ok := Integer([]byte(test.raw)); got != test.want || ok != test.ok {
			t.Errorf("Integer(%.40s) = %d, %v; want %d, %v", test.raw, got, ok, test.want, test.ok)
		}
	}
}

func TestIsInteger(t *testing.T) {
	for raw, want := range map[string]struct {
		sign int
		ok   bool
	}{
		"0": {0, true}, "-0": {0, true}, "0.0": {0, true}, "0e999999999999": {0, true}, "1": {1, true}, "-1": {-1, true},
		"1.0": {1, true}, "10e-1": {1, true}, "1e-1": {0, false}, "1.5": {0, false}, "1.5e1": {1, true}, "15e-1": {0, false},
		"9223372036854775808": {1, true}, "-123456789012345678901234567890": {-1, true}, "1e400": {1, true}, "1e999999999999": {1, true},
		"1e-999999999999": {0, false}, "123456789012345678901234567890.5": {0, false}, "123.4560e3": {1, true}, "123.4560e2": {0, false},
		"": {}, "01": {}, "1.": {}, "x": {}, `"1"`: {}, "null": {}, "-": {},
	} {
		if sign, ok := IsInteger([]byte(raw)); sign != want.sign || ok != want.ok {
			t.Errorf("%s: got %d, %v, want %v", raw, sign, ok, want)
		}
	}
}
