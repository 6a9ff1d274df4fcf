package main

import (
	"strings"
	"testing"
)

// TestWrongBench: wrong options of bench are wrong usage too.
func TestWrongBench(t *testing.T) {
	for args, want := range map[string]string{
		"bench --scenario nope": `no scenario or group "nope"; there are notify, `,
		"bench --reps 0":        "--reps is 0, must be at least 1",
		"bench --pid 1":         "--pid needs --relay",
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			got := run(t, "", nil, strings.Fields(args)...)
			if got.code != 2 || got.out != "" || !strings.HasPrefix(got.err, "ahprelay: "+want) ||
				!strings.HasSuffix(got.err, "Run \"ahprelay bench --help\" for usage and an example.\n") {
				t.Errorf("%+v", got)
			}
		})
	}
}
