package main

import (
	"context"
	"log/slog"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"maestro/internal/backups"
	"maestro/internal/cli"
	"maestro/internal/failure"
	"maestro/internal/server/agents"
	"maestro/internal/server/listen"
	"maestro/internal/server/process"
	"maestro/internal/server/webhooks"
	"maestro/service"
)

const (
	// shortestLease and longestLease bound --lease.
	shortestLease = time.Second
	longestLease  = 24 * time.Hour
)

type serveOptions struct {
	listen, auth, durability, logFormat, logLevel string
	tlsCert, tlsKey                               string
	listenBy                                      string // the source of the address to listen on
	origins, hosts                                []string
	insecure, newKey, readOnly                    bool
	again                                         bool // an earlier server of this process was listening
	lease                                         time.Duration
	leaseGiven                                    bool
	limitTexts                                    []string
	limits                                        service.Limits
	backups                                       backups.Options
	nats                                          listen.NATS
	webhooksTo                                    []string
	webhookPatience                               time.Duration
	agents                                        agents.Options
}

func serveCommand(a *cli.Run) *cobra.Command {
	var o serveOptions
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the server until it is told to stop",
		Args:  cli.Takes,
	}
	cmd.RunE = cli.Running(func(ctx context.Context, _ []string) error {
		if err := a.NoServerBySession(); err != nil {
			return err
		}
		o.leaseGiven = cmd.Flags().Changed("lease")
		if err := o.setListen(a, cmd.Flags().Changed("listen")); err != nil {
			return err
		}
		stdout, stderr, done := process.Streams(a.Stdout, a.Stderr, o.logFormat)
		defer done()
		a.Stdout, a.Stderr = stdout, stderr
		err := serve(ctx, a, o)
		if ctx.Err() != nil && process.OnlyCanceled(err) {
			a.Say("maestro: The server was told to stop before it listened.\n")
			return nil
		}
		return err
	})
	f := cmd.Flags()
	f.StringVar(&o.listen, "listen", "127.0.0.1:3000",
		"address; port 0 picks a free one; MAESTRO_LISTEN, else listen in config.json of the home, if absent")
	f.StringVar(&o.auth, "auth", "on", "on, or off (on loopback only): callers without a token are trusted")
	f.StringVar(&o.durability, "durability", "always", "always: fsync before each answer; interval: once a second")
	f.DurationVar(
		&o.lease, "lease", 0,
		"how long a session may be silent before it is lost (default 1m for a session that sends heartbeats, else 15m)",
	)
	f.Lookup("lease").DefValue = "" // its help says it
	f.StringVar(&o.logFormat, "log-format", "text", "text or json, on stderr")
	f.StringVar(&o.logLevel, "log-level", "info", "what the log shows: debug, info, warn or error, and all above it")
	f.StringSliceVar(&o.origins, "allow-origin", nil,
		"an origin whose pages may call the server, such as https://example.org; may be repeated")
	f.StringSliceVar(&o.hosts, "allow-host", nil, "another host name that clients use for the server; may be repeated")
	f.StringVar(&o.tlsCert, "tls-cert", "",
		"serve TLS with this certificate and its chain, in PEM; read again when the file changes")
	f.StringVar(&o.tlsKey, "tls-key", "", "the key of the certificate, in PEM")
	cli.ValueName(cmd, "tls-cert", "<file>")
	cli.ValueName(cmd, "tls-key", "<file>")
	f.BoolVar(&o.insecure, "insecure-bind", false, "listen beyond loopback without TLS: tokens can be overheard")
	f.BoolVar(&o.readOnly, "read-only", false,
		"serve reads and write nothing, such as on a read-only mount, a full disk or a damaged store")
	f.BoolVar(&o.newKey, "new-key", false,
		"make a new server key if the old one is lost; all sessions and named tokens then need new secrets")
	f.StringArrayVar(
		&o.limitTexts, "set-limit", nil,
		"NAME=VALUE, or NAME=RATE/BURST: change a limit; 0 means no limit; may be repeated "+
			"(docs/limits.md lists them)",
	)
	f.StringVar(&o.backups.Every, "backup-every", "24h", "how often a backup is made; off makes none")
	f.StringVar(
		&o.backups.Dir, "backup-dir", "",
		"where automatic backups go; else the home's name and -backups, beside the home",
	)
	f.IntVar(&o.backups.Keep, "backup-keep", 7, "how many automatic backups are kept")
	o.outside(f)
	o.ofAgents(cmd)
	cli.Complete(cmd, "auth", "on", "off")
	cli.Complete(cmd, "durability", "always", "interval")
	cli.Complete(cmd, "log-format", process.LogFormats...)
	cli.Complete(cmd, "log-level", process.LogLevels...)
	return cmd
}

// ofAgents declares the flags of the runner.
func (o *serveOptions) ofAgents(cmd *cobra.Command) {
	o.agents.Flags(cmd.Flags())
	cli.ValueName(cmd, "runner", "<name>")
	cli.ValueName(cmd, "workspaces", "<dir>")
	cli.Complete(cmd, "confine", agents.Confine...)
}

// outside declares the flags of what leaves the server: events for NATS clients and webhooks.
func (o *serveOptions) outside(f *pflag.FlagSet) {
	f.StringVar(&o.nats.Address, "nats-listen", "",
		"address for NATS clients, which follow maestro.live.> with a token; port 0 picks a free one")
	f.StringVar(&o.nats.Cert, "nats-tls-cert", "",
		"file of the certificate for NATS clients, in PEM form; needed beyond loopback")
	f.StringVar(&o.nats.Key, "nats-tls-key", "", "file of that certificate's key, in PEM form")
	f.StringArrayVar(&o.webhooksTo, "allow-webhooks-to", nil,
		"a network or an address, such as 10.1.0.0/16, to which webhooks send besides the public internet, also "+
			"without TLS; may be repeated")
	f.DurationVar(&o.webhookPatience, "park-webhooks-after", webhooks.Patience,
		"how long a webhook's receiver may fail before the webhook is parked")
}

// setListen takes the address from the environment or the configuration, unless --listen is given.
func (o *serveOptions) setListen(a *cli.Run, given bool) error {
	o.listenBy = "--listen"
	if given {
		return nil
	}
	address, by, err := a.Listen()
	if by != "" {
		o.listen, o.listenBy = address, by
	}
	return err
}

// setLimits parses --set-limit.
func (o *serveOptions) setLimits() error {
	for _, text := range o.limitTexts {
		if err := o.limits.Set(text); err != nil {
			return failure.Usage("--set-limit: %s", err).WithNext(
				"write NAME=VALUE, or NAME=RATE/BURST for a rate, such as --set-limit session-commands=500/5000; " +
					"`maestro audit limits` lists the names")
		}
	}
	if err := o.limits.FitOpenFiles(process.OpenFiles()); err != nil {
		return failure.Usage("The server cannot start: %s",
			err).WithNext("raise the limit of open files, such as with " +
			"`ulimit -n 8192`, or leave out --set-limit server-connections")
	}
	return nil
}

// certificates reads the server's certificate; nil without TLS.
func (o serveOptions) certificates(logger *slog.Logger) (*listen.Certificates, error) {
	if o.tlsCert == "" {
		return nil, nil
	}
	return listen.LoadCertificates(o.tlsCert, o.tlsKey, logger)
}

// check refuses impossible options, and those that would silently open the server to others.
func (o serveOptions) check() error {
	host, port, err := net.SplitHostPort(o.listen)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	switch {
	case err != nil:
		return failure.Usage("%s must be HOST:PORT, such as 127.0.0.1:3000, not %q", o.listenBy, o.listen).
			WithNext("write an address and a port from 0 to 65535; port 0 picks a free one")
	case o.auth != "on" && o.auth != "off":
		return failure.Usage("--auth is on or off, not %q", o.auth)
	case !slices.Contains(process.LogFormats, o.logFormat):
		return failure.Usage("--log-format is text or json, not %q", o.logFormat)
	case !slices.Contains(process.LogLevels, o.logLevel):
		return failure.Usage("--log-level is debug, info, warn or error, not %q", o.logLevel)
	case (o.tlsCert == "") != (o.tlsKey == ""):
		return failure.Usage("--tls-cert and --tls-key belong together").WithNext("give both, or neither")
	case o.webhookPatience < time.Second:
		return failure.Usage("--park-webhooks-after is at least 1s, not %s", o.webhookPatience)
	case o.leaseGiven && (o.lease < shortestLease || o.lease > longestLease):
		return failure.Usage("--lease is from %s to %s, not %s", shortestLease, longestLease, o.lease)
	}
	if err := o.checkNames(); err != nil {
		return err
	}
	if err := o.agents.Check(); err != nil {
		return err
	}
	switch {
	case listen.IsLoopback(host):
		return nil
	case o.auth == "off":
		return failure.Usage("--auth off is for loopback only, and %s %s is not", o.listenBy, o.listen).
			WithWhy("everybody who can reach the address could act as the user")
	case !o.insecure && o.tlsCert == "":
		return failure.Usage("%s %s is not on loopback", o.listenBy, o.listen).
			WithWhy("there is no TLS, so tokens could be overheard on the way").
			WithNext("add --tls-cert and --tls-key, put a TLS proxy in front of a loopback address, " +
				"or add --insecure-bind")
	}
	return nil
}

// checkNames refuses origins and hosts that no request can have, and a place for backups that is not a directory.
func (o serveOptions) checkNames() error {
	for _, origin := range o.origins {
		parsed, err := url.Parse(origin)
		if err != nil || parsed.Scheme == "" || parsed.Host == "" || origin != parsed.Scheme+"://"+parsed.Host {
			return failure.Usage("--allow-origin must be SCHEME://HOST, such as https://example.org, not %q", origin)
		}
	}
	for _, host := range o.hosts {
		if host == "" || strings.ContainsAny(host, "/ \t") {
			return failure.Usage("--allow-host must be a name, such as maestro.example.org, not %q", host)
		}
	}
	if info, err := os.Stat(o.backups.Dir); err == nil && o.backups.Dir != "" && !info.IsDir() {
		return failure.Usage("--backup-dir must be a directory, and %s is a file", o.backups.Dir)
	}
	return nil
}
