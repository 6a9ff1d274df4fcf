//go:build linux

package bench

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// decades marks 1, 2 and 5 of every power of ten with a label, and the rest without.
type decades struct{}

// Ticks implements plot.Ticker.
func (decades) Ticks(least, most float64) []plot.Tick {
	var all []plot.Tick
	for power := math.Floor(math.Log10(least)); power <= math.Log10(most); power++ {
		for digit := 1.0; digit < 10; digit++ {
			v := digit * math.Pow(10, power)
			if v < least || v > most {
				continue
			}
			tick := plot.Tick{Value: v}
			if digit == 1 || digit == 2 || digit == 5 {
				tick.Label = brief(v)
			}
			all = append(all, tick)
		}
	}
	return all
}

// brief writes thousands as k and millions as M.
func brief(v float64) string {
	switch {
	case v >= 1e6:
		return strconv.FormatFloat(v/1e6, 'g', 3, 64) + "M"
	case v >= 1e3:
		return strconv.FormatFloat(v/1e3, 'g', 3, 64) + "k"
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
