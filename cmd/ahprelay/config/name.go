package config

import "strings"

// EnvPrefix starts the name of every environment variable that sets a key.
const EnvPrefix = "AHPRELAY_"

// Env returns the environment variable of k: AHPRELAY_LIMITS_FRAME_BYTES_MAX.
func (k Key) Env() string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(k.Name, ".", "_"))
}

// Flag returns the flag of k without dashes. Limits go without their table, being unique and many:
// frame-bytes-max, but auth-required.
func (k Key) Flag() string {
	return flagName(k.Name)
}

func flagName(name string) string {
	name = strings.NewReplacer(".", "-", "_", "-").Replace(name)
	return strings.TrimPrefix(name, "limits-")
}

// split returns the table of k, "" at the top level, and its name inside.
func (k Key) split() (table, name string) {
	if table, name, ok := strings.Cut(k.Name, "."); ok {
		return table, name
	}
	return "", k.Name
}

// Nearest returns the member of known that name was most likely meant to be: the smallest edit
// distance, whole or without the table in front.
func Nearest(name string, known []string) string {
	best, least := "", int(^uint(0)>>1)
	for _, k := range known {
		d := distance(name, k)
		if i := strings.LastIndexByte(k, '.'); i >= 0 {
			d = min(d, distance(name[strings.LastIndexByte(name, '.')+1:], k[i+1:])+1)
		}
		if d < least {
			best, least = k, d
		}
	}
	return best
}

// distance is the Levenshtein distance of a and b in bytes, of at most the first 256 of each: longer
// names are nowhere near.
func distance(a, b string) int {
	a, b = a[:min(len(a), 256)], b[:min(len(b), 256)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
