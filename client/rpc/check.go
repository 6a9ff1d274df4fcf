package rpc

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Problem is one reason why a type cannot be called across a relay.
type Problem struct {
	Interface string // Go name
	Member    string // Go name of the method, "" for the interface itself
	Where     string // args[0].items[], result, filter, …; "" for the method itself
	Reason    string
}

// String returns the problem on one line.
func (p Problem) String() string {
	text := p.Interface
	if p.Member != "" {
		text += "." + p.Member
	}
	if p.Where != "" {
		text += ": " + p.Where
	}
	return text + ": " + p.Reason
}

// ContractError lists everything that is wrong with a contract, or an adapter, by method.
type ContractError struct{ Problems []Problem }

// Error returns the problems, one on a line.
func (e *ContractError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = "\t" + p.String()
	}
	return fmt.Sprintf("rpc: %d problems with the contract:\n%s", len(lines), strings.Join(lines, "\n"))
}

// contractError returns nil if there are no problems.
func contractError(problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Interface, b.Interface), cmp.Compare(a.Member, b.Member), cmp.Compare(a.Where, b.Where))
	})
	return &ContractError{Problems: slices.Compact(problems)}
}

// Check reports, as one *ContractError, everything that keeps the methods of the interface T from being
// called across a relay: parameters and results that are no JSON, or forms that the package doc does not
// list. T is a contract, or an object's own interface with the members that stay at the host, or that
// the adapter replaces, as escapes. The types of references are not followed: each has a Check of its own.
func Check[T any](escapes ...string) error {
	return contractError(manifestOf(reflect.TypeFor[T](), escapes...).problems)
}
