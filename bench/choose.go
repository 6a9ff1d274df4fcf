//go:build linux

package bench

import (
	"fmt"
	"slices"
	"strings"
)

// choose returns the scenarios named, in the order of the catalogue.
func choose(names []string, scale float64) ([]*Scenario, error) {
	all := Scenarios(scale)
	picked := make([]bool, len(all))
	for _, name := range names {
		found := false
		for i, s := range all {
			if name == "all" || name == s.Name || name == s.Group {
				picked[i], found = true, true
			}
		}
		if !found {
			return nil, fmt.Errorf("no scenario or group %q; there are %s", name, strings.Join(scenarioNames(all), ", "))
		}
	}
	var chosen []*Scenario
	for i, s := range all {
		if picked[i] {
			chosen = append(chosen, s)
		}
	}
	return chosen, nil
}

// scenarioNames lists groups, then names.
func scenarioNames(all []*Scenario) []string {
	var groups, names []string
	for _, s := range all {
		if !slices.Contains(groups, s.Group) {
			groups = append(groups, s.Group)
		}
		names = append(names, s.Name)
	}
	return append(groups, names...)
}
