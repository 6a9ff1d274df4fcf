package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/ahprelay/ahprelay/bench"
)

// writeResults writes report.md, report.json and the plots into dir, which is made.
func writeResults(r *bench.Report, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("writing results: %w", err)
	}
	return errors.Join(
		writeFile(filepath.Join(dir, "report.json"), r.WriteJSON),
		writeFile(filepath.Join(dir, "report.md"), func(w io.Writer) error { return writeMarkdown(r, w) }),
		r.WritePlots(dir),
	)
}

func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("writing results: %w", err)
	}
	return errors.Join(write(f), f.Close())
}

// writeMarkdown writes where and what was measured, the ratios, and the whole table.
func writeMarkdown(r *bench.Report, w io.Writer) error {
	pinned := "not pinned"
	if r.Settings.Pinned {
		pinned = "server and generator pinned to a CPU each (request rows: both to one)"
	}
	_, err := fmt.Fprintf(w, "# Comparison of %s\n\nCommit %s. %s, %d CPUs, %s, %s. %d repetitions of %v, interleaved; %d KiB on the way, %d KiB a write; %s.\nMedians, in parentheses minimum and maximum.\n\n",
		r.Started.Format("2006-01-02 15:04 MST"), r.Commit, r.Machine.CPU, r.Machine.CPUs, r.Machine.Kernel, r.Machine.Go,
		r.Settings.Reps, r.Settings.Duration, r.Settings.Window>>10, r.Settings.Batch>>10, pinned)
	for _, s := range r.Systems {
		_, lineErr := fmt.Fprintf(w, "- %s: %s\n", s.Name, s.Version)
		err = errors.Join(err, lineErr)
	}
	err = errors.Join(err, writeRatios(r, w))
	_, fenceErr := io.WriteString(w, "\n```\n")
	err = errors.Join(err, fenceErr, r.WriteTable(w))
	_, fenceErr = io.WriteString(w, "```\n")
	if err = errors.Join(err, fenceErr); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}
