package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"

	"github.com/ahprelay/ahprelay/bench"
	"github.com/spf13/cobra"
)

// compareCommand measures all systems side by side.
func compareCommand() *cobra.Command {
	o := bench.DefaultOptions()
	var out bench.Output
	var binary, results string
	var names []string
	cmd := &cobra.Command{
		Use:   "peers",
		Short: "Compare ahprelay with other systems and with floors",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if out.List {
				return bench.WriteList(os.Stdout, o.Scale)
			}
			o.Progress = bench.Terminal(os.Stderr)
			if o.Systems, err = only(systems(binary), names); err != nil {
				return err
			}
			var report *bench.Report
			report, err = bench.Run(cmd.Context(), o)
			if report == nil || len(report.Rows) == 0 {
				return err
			}
			err = errors.Join(err, out.Write(report, os.Stdout), writeRatios(report, os.Stdout))
			if results != "" {
				err = errors.Join(err, writeResults(report, results))
			}
			return err
		},
	}
	o.Flags(cmd.Flags())
	out.Flags(cmd.Flags())
	cmd.Flags().StringVar(&results, "results", "", "write report.md, report.json and plots into this `directory`")
	cmd.Flags().StringSliceVar(&names, "systems", nil, "measure only these")
	cmd.Flags().StringVar(&binary, "relay-binary", "", "the relay's program; without it only the others are measured")
	return cmd
}

var (
	pairing = []bench.Need{bench.NeedPairs, bench.NeedCalls}
	routing = []bench.Need{bench.NeedPairs, bench.NeedRoutes, bench.NeedCalls, bench.NeedIdle}
)

// systems returns what is compared, in the order of the table. A system that is not installed is left
// out with a line about it.
func systems(binary string) []bench.System {
	all := []bench.System{
		&child{name: "bytes", version: "Go, copies bytes", serve: "bytes", oneProc: true, needs: pairing, dialect: verbatim{}},
		&child{name: "gnet", version: moduleVersion("github.com/panjf2000/gnet/v2") + ", copies lines", serve: "gnet", oneProc: true, needs: routing, dialect: verbatim{}},
		&child{name: "nats-1", version: natsVersion + ", GOMAXPROCS=1", serve: "nats", oneProc: true, needs: routing, dialect: natsDialect{}},
		&child{name: "nats", version: natsVersion, serve: "nats", needs: routing, dialect: natsDialect{}},
	}
	for _, one := range []struct {
		server *installed
		ask    string
	}{{redis(), "--version"}, {mosquitto(), "-h"}} {
		if found, ok := one.server.find(one.ask); ok {
			all = append(all, found)
		} else {
			fmt.Fprintf(os.Stderr, "%s is not installed: left out (apt-get install redis-server mosquitto)\n", one.server.name)
		}
	}
	if binary != "" {
		all = append(all, &bench.Relay{Binary: binary})
	}
	return all
}

// moduleVersion is the version of a module that this program was built with.
func moduleVersion(path string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, m := range info.Deps {
		if m.Path == path {
			return m.Version
		}
	}
	return ""
}

// only keeps the systems named, all when there are no names.
func only(all []bench.System, names []string) ([]bench.System, error) {
	if len(names) == 0 {
		return all, nil
	}
	var kept []bench.System
	for _, name := range names {
		i := slices.IndexFunc(all, func(s bench.System) bool { return s.Name() == name })
		if i < 0 {
			return nil, fmt.Errorf("no system %q here", name)
		}
		kept = append(kept, all[i])
	}
	return kept, nil
}
