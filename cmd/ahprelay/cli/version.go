package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ahprelay/ahprelay/relay"
)

// build says what this program was made of.
type build struct {
	Version   string   `json:"version"`
	Commit    string   `json:"commit"`
	Go        string   `json:"go"`
	Platform  string   `json:"platform"`
	Protocols []string `json:"protocols"` // ranges of AHP versions, oldest first
}

// build returns what the linker was told, and for what it was not told what Go recorded.
func (p *Program) build() build {
	b := build{Version: p.Version, Commit: p.Commit, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	b.Protocols = slices.Clone(relay.ProtocolRanges)
	slices.Reverse(b.Protocols)
	if info, ok := debug.ReadBuildInfo(); ok {
		if b.Version == "" {
			b.Version = strings.Trim(strings.TrimPrefix(info.Main.Version, "v"), "()")
		}
		if b.Commit == "" {
			b.Commit = revision(info.Settings)
		}
	}
	if b.Version == "" {
		b.Version = "devel"
	}
	if b.Commit == "" {
		b.Commit = "unknown"
	}
	return b
}

func revision(settings []debug.BuildSetting) string {
	commit, modified := "", false
	for _, s := range settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value
		case "vcs.modified":
			modified = s.Value == "true"
		}
	}
	if commit != "" && modified {
		commit += " (modified)"
	}
	return commit
}

func (p *Program) version() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "version [--json]",
		Short:   "print version, commit, Go version and protocol ranges",
		Example: "  ahprelay version --json",
		Args:    between(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			b := p.build()
			if asJSON {
				return printJSON(p.Out, b)
			}
			_, err := fmt.Fprintf(p.Out, "version   %s\ncommit    %s\ngo        %s %s\nprotocol  %s\n", b.Version, b.Commit, b.Go, b.Platform, strings.Join(b.Protocols, ", "))
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
