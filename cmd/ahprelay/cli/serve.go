package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ahprelay/ahprelay/cmd/ahprelay/admin"
	"github.com/ahprelay/ahprelay/cmd/ahprelay/config"
	"github.com/ahprelay/ahprelay/loop"
)

func (p *Program) serve() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve [--config F] [--listen URL]… [--admin ADDR]",
		Short: "run the relay",
		Long: "Runs the relay in the foreground and logs one line per listener once it accepts connections there.\n" +
			"SIGTERM and SIGINT drain: requests in flight may finish, then it exits 0; a second one exits 1 at once.\n" +
			"SIGHUP reads the configuration again and applies what can change; a bad one changes nothing.\n\n" + configHelp,
		Example: "  ahprelay serve\n  ahprelay serve --config ahprelay.toml --listen tcp://127.0.0.1:7420 --listen unix:///run/ahprelay.sock",
		Args:    between(0, 0, ""),
	}
	source := p.source(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		l, err := source.read()
		if err != nil {
			return &configError{err}
		}
		d := &daemon{p: p, source: source, running: l, memory: config.SystemMemory(), supervisor: supervisor{socket: p.getenv("NOTIFY_SOCKET", "")}}
		return d.run()
	}
	return cmd
}

// daemon is a relay under the control of signals. It lives on one goroutine.
type daemon struct {
	p       *Program
	source  *source
	running *config.Loaded
	memory  config.Memory
	level   slog.LevelVar
	log     *slog.Logger
	server  *loop.Server
	admin   *admin.Server // nil: off

	supervisor supervisor

	reloads, reloadsFailed int
}

func (d *daemon) run() error {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer signal.Stop(signals)
	signal.Ignore(syscall.SIGPIPE) // a log reader that went away must not end the relay

	if err := d.start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- d.server.Serve() }()
	d.accepting()
	defer d.closeAdmin()
	draining := false
	for {
		select {
		case err := <-ended:
			if err != nil {
				return fmt.Errorf("serving: %w", err)
			}
			d.log.Info("stopped")
			return nil
		case s := <-signals:
			if s == syscall.SIGHUP {
				d.reload()
				continue
			}
			if draining {
				return errors.New("stopped by a second " + s.String() + " while draining")
			}
			draining = true
			d.supervisor.tell("STOPPING=1")
			if d.admin != nil {
				d.admin.Draining()
			}
			d.log.Info("draining", "signal", s.String(), "timeout", d.running.Limits.DrainTimeout.String())
			d.server.Drain()
		}
	}
}

// start checks what only this machine and this build can tell, and binds the listeners.
func (d *daemon) start() error {
	c := &d.running.Config
	if err := d.memory.Check(c.Limits.MemoryBytesMax); err != nil {
		return &configError{err}
	}
	certificates, err := loadCertificates(&c.TLS)
	if err != nil {
		return &configError{err}
	}
	limitHeap(d.memory)
	d.level.Set(c.LogLevel)
	d.log = newLogger(d.p.Err, c.LogFormat, &d.level)
	b := d.p.build()
	d.log.Info("starting", "version", b.Version, "commit", b.Commit, "pid", os.Getpid(), "config", d.source.file, "memory_bytes_max", d.memory.Resolve(c.Limits.MemoryBytesMax))
	d.warn()
	server, err := loop.Listen(loop.Config{
		Listen:       c.Listen,
		UnixMode:     c.UnixMode,
		Certificates: certificates,
		Origins:      c.Origins,
		Coalesce:     c.Coalesce,
		Relay:        c.Relay(b.Version, d.memory),
		Logger:       d.log,
	})
	if err != nil {
		return fmt.Errorf("starting the relay: %w", err)
	}
	d.server = server
	if c.Admin == "" {
		return nil
	}
	d.admin, err = admin.Listen(admin.Config{
		Addr: c.Admin, TokenSHA256: c.AdminTokenSHA256, Getenv: func(name string) string { return d.p.getenv(name, "") },
		Version: b.Version, Commit: b.Commit, Logger: d.log,
	}, server)
	if err != nil && errors.Is(err, syscall.EADDRINUSE) && d.running.Origin("admin").Kind == config.FromDefault {
		// Nobody asked for this address: a second relay on the machine is more welcome than none.
		d.log.Warn("no admin server: its default address is taken; name another with --admin, or --admin \"\" for none", "addr", c.Admin)
		d.admin = nil
		return nil
	}
	if err != nil {
		server.Stop()
		_ = server.Serve() // releases what Listen took
		return fmt.Errorf("starting the admin server: %w; choose another address with --admin, or --admin \"\" for none", err)
	}
	return nil
}

// loadCertificates reads what [tls] names, nil for nothing.
func loadCertificates(t *config.TLS) (*loop.Certificates, error) {
	if t.CertFile == "" {
		return nil, nil
	}
	c, err := loop.LoadCertificates(t.CertFile, t.KeyFile, t.ClientCAFile)
	if err != nil {
		return nil, fmt.Errorf("tls: %w", err)
	}
	return c, nil
}

// limitHeap has the garbage collector work harder before the process outgrows the machine or its cgroup:
// what memory_bytes_max bounds may become garbage faster than it is collected.
func limitHeap(memory config.Memory) {
	if limit, _ := memory.Limit(); limit > 0 {
		debug.SetMemoryLimit(limit / 10 * 9)
	}
}

// accepting is called once the relay accepts connections.
func (d *daemon) accepting() {
	if d.admin != nil {
		go d.admin.Serve()
		d.admin.Ready()
	}
	d.supervisor.tell("READY=1")
	shrink()
}

func (d *daemon) closeAdmin() {
	if d.admin != nil {
		d.admin.Close()
		d.admin.Wait()
	}
}

func (d *daemon) warn() {
	for _, w := range d.running.Warnings {
		d.log.Warn("configuration", "warning", w)
	}
}

// reload reads the configuration again and hands the relay what can change. Whatever fails, the old
// policy stays.
func (d *daemon) reload() {
	if d.source.file == "" {
		d.log.Warn("nothing to reload: there is no --config")
		return
	}
	d.supervisor.tell("RELOADING=1", "MONOTONIC_USEC="+monotonicMicros())
	defer d.supervisor.tell("READY=1")
	if err := d.tryReload(); err != nil {
		d.reloadsFailed++
		if d.admin != nil {
			d.admin.ReloadFailed()
		}
		d.log.Error("reload failed, the old configuration stays", "error", err.Error(), "failed", d.reloadsFailed)
		return
	}
	d.reloads++
	d.level.Set(d.running.LogLevel)
	d.log.Info("reloaded", "config", d.source.file, "principals", len(d.running.Principals), "reloads", d.reloads)
	d.warn()
}

func (d *daemon) tryReload() error {
	next, err := d.source.read()
	if err != nil {
		return err
	}
	merged, kept, err := d.running.Reload(next)
	if err != nil {
		return err
	}
	if err := d.memory.Check(merged.Limits.MemoryBytesMax); err != nil {
		return err
	}
	certificates, err := loadCertificates(&merged.TLS)
	if err != nil {
		return err
	}
	if err := d.server.Reload(merged.Relay(d.p.build().Version, d.memory)); err != nil {
		return err
	}
	if err := d.server.UseCertificates(certificates); err != nil {
		return err
	}
	if len(kept) > 0 {
		d.log.Warn("changes that need a restart were ignored", "keys", strings.Join(kept, " "))
	}
	d.running = merged
	return nil
}
