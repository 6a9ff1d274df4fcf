// Command manual writes the man pages of ahprelay and its shell completions, as they are packaged: from
// the same tree of commands that the program itself runs.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/ahprelay/ahprelay/cmd/ahprelay/cli"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: manual DIRECTORY VERSION")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "manual:", err)
		os.Exit(1)
	}
}

// write fills dir/man1 and dir/completions. The date in the pages is SOURCE_DATE_EPOCH.
func write(dir, version string) error {
	man, completions := filepath.Join(dir, "man1"), filepath.Join(dir, "completions")
	for _, d := range []string{man, completions} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	p := cli.Program{Version: version, In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	root := p.Command()
	undated(root)
	header := &doc.GenManHeader{Section: "1", Source: "ahprelay " + version, Manual: "ahprelay"}
	if err := doc.GenManTree(root, header, man); err != nil {
		return fmt.Errorf("writing man pages: %w", err)
	}
	for name, generate := range map[string]func(string) error{
		"ahprelay.bash": func(f string) error { return root.GenBashCompletionFileV2(f, true) },
		"_ahprelay":     root.GenZshCompletionFile,
		"ahprelay.fish": func(f string) error { return root.GenFishCompletionFile(f, true) },
	} {
		if err := generate(filepath.Join(completions, name)); err != nil {
			return fmt.Errorf("writing completions: %w", err)
		}
	}
	return nil
}

// undated leaves out the line that says when the pages were made.
func undated(cmd *cobra.Command) {
	cmd.DisableAutoGenTag = true
	for _, below := range cmd.Commands() {
		undated(below)
	}
}
