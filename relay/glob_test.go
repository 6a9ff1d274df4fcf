package relay

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern, s string
		want       bool
	}{
		{"", "", true}, {"", "a", false}, {"*", "", true}, {"*", "anything", true}, {"**", "", true},
		{"?", "", false}, {"?", "a", true}, {"?", "é", true}, {"?", "😀", true}, {"?", "ab", false}, {"??", "é", false},
		{"git-*", "git-", true}, {"git-*", "git-reader", true}, {"git-*", "Git-reader", false}, {"git-*", "agit-x", false},
		{"*-reader", "git-object-reader", true}, {"*-reader", "git-object-readers", false},
		{"a*b*c", "aXbXbc", true}, {"a*b*c", "aXbXb", false}, {"*a", "ba", true}, {"*ab", "aab", true},
		{"a?c", "abc", true}, {"a?c", "ac", false}, {"*é?", "xéy", true}, {"é*", "è", false},
		{"[a]", "a", false}, {"[a]", "[a]", true}, {`\*`, "*", false}, {`\*`, `\x`, true},
		{"owner/*", "owner/p", true}, {"*/p", "owner/p", true},
	} {
		if got := glob(c.pattern, c.s); got != c.want {
			t.Errorf("glob(%q, %q) = %v", c.pattern, c.s, got)
		}
	}
}

func TestGlobAgainstDefinition(t *testing.T) {
	text := func(alphabet string) *rapid.Generator[string] {
		return rapid.StringOfN(rapid.RuneFrom([]rune(alphabet)), 0, 8, -1)
	}
	rapid.Check(t, func(t *rapid.T) {
		pattern, s := text("ab/é*?").Draw(t, "pattern"), text("ab/é").Draw(t, "s")
		if got, want := glob(pattern, s), naiveGlob([]rune(pattern), []rune(s)); got != want {
			t.Fatalf("glob(%q, %q) = %v", pattern, s, got)
		}
	})
}

// A pattern of many stars over a long text must not take exponential time.
func TestGlobIsQuadraticAtWorst(t *testing.T) {
	if glob(strings.Repeat("*a", 60)+"b", strings.Repeat("a", 16<<10)) {
		t.Fatal("matches")
	}
}
