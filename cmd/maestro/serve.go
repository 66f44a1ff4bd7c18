package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"maestro/api"
	"maestro/bus"
	"maestro/engine"
	"maestro/events"
	"maestro/internal/cli"
	"maestro/internal/cli/offline"
	"maestro/internal/clock"
	"maestro/internal/failure"
	"maestro/internal/home"
	"maestro/projections"
	"maestro/service"
	"maestro/workers/prompt"
)

const (
	// finishing is how long requests in hand may take when the server stops.
	finishing = 10 * time.Second
	// headersWithin bounds how slowly a client may say what it wants. Behind that a ReadTimeout would also end
	// answers that take long, such as an audit: net/http takes it for the client's going away.
	headersWithin = 10 * time.Second
	// shortestLease and longestLease bound --lease.
	shortestLease = time.Second
	longestLease  = 24 * time.Hour
	// idleFor is how long a connection without a request stays open.
	idleFor = 2 * time.Minute
)

type serveOptions struct {
	listen, auth, durability, logFormat string
	origins, hosts                      []string
	insecure, newKey, readOnly          bool
	lease                               time.Duration
	limitTexts                          []string
	limits                              service.Limits
	backups                             backupOptions
}

func serveCommand(a *cli.Run) *cobra.Command {
	var o serveOptions
	cmd := &cobra.Command{
		Use: "serve", Short: "Run the server until it is told to stop", Args: cli.Takes,
		RunE: cli.Running(func(ctx context.Context, _ []string) error {
			defer printing(a, o.logFormat)()
			err := serve(ctx, a, o)
			if ctx.Err() != nil && onlyCanceled(err) {
				a.Say("maestro: The server was told to stop before it listened.\n")
				return nil
			}
			return err
		}),
	}
	f := cmd.Flags()
	f.StringVar(&o.listen, "listen", "127.0.0.1:3000", "address; port 0 takes a free one")
	f.StringVar(&o.auth, "auth", "on", "on, or off (on loopback only): callers without a token are believed")
	f.StringVar(&o.durability, "durability", "always", "always: fsync before each answer; interval: once a second")
	f.DurationVar(
		&o.lease, "lease", engine.DefaultLease,
		"how long a session that sends heartbeats may be silent before it is lost; one that never has: 15m",
	)
	f.StringVar(&o.logFormat, "log-format", "text", "text or json, on stderr")
	f.StringSliceVar(&o.origins, "allow-origin", nil, "an origin whose pages may call, such as https://example.org; may be repeated")
	f.StringSliceVar(&o.hosts, "allow-host", nil, "a name that the server is called by, beside its own addresses; may be repeated")
	f.BoolVar(&o.insecure, "insecure-bind", false, "listen beyond loopback without TLS: tokens can be overheard")
	f.BoolVar(&o.readOnly, "read-only", false,
		"read a home and write nothing, anywhere: on a read-only mount, a full disk, or a damaged store")
	f.BoolVar(&o.newKey, "new-key", false,
		"make a new server key where the old one is lost; all sessions and named tokens then need new secrets")
	f.StringArrayVar(
		&o.limitTexts, "limit", nil,
		"NAME=VALUE, or NAME=RATE/BURST: a limit other than the default; 0 is none; may be repeated "+
			"(docs/limits.md lists them)",
	)
	o.backups.flags(f)
	cli.Complete(cmd, "auth", "on", "off")
	cli.Complete(cmd, "durability", "always", "interval")
	cli.Complete(cmd, "log-format", "text", "json")
	return cmd
}

// setLimits reads --limit.
func (o *serveOptions) setLimits() error {
	for _, text := range o.limitTexts {
		if err := o.limits.Set(text); err != nil {
			return failure.Usage("--limit: %s", err).WithNext(
				"write NAME=VALUE, or NAME=RATE/BURST for a rate, such as --limit session-commands=500/5000; " +
					"`maestro audit limits` lists the names")
		}
	}
	if err := o.limits.FitOpenFiles(openFiles()); err != nil {
		return failure.Usage("The server cannot start: %s", err).WithNext("raise the limit of open files, such as with " +
			"`ulimit -n 8192`, or leave --limit server-connections out")
	}
	return nil
}

// check refuses options that cannot be, or that would open the server to others without saying so.
func (o serveOptions) check() error {
	host, port, err := net.SplitHostPort(o.listen)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	switch {
	case err != nil:
		return failure.Usage("--listen must be HOST:PORT, such as 127.0.0.1:3000, not %q", o.listen).
			WithNext("write an address and a port from 0 to 65535; port 0 takes a free one")
	case o.auth != "on" && o.auth != "off":
		return failure.Usage("--auth is on or off, not %q", o.auth)
	case o.logFormat != "text" && o.logFormat != "json":
		return failure.Usage("--log-format is text or json, not %q", o.logFormat)
	case o.lease < shortestLease || o.lease > longestLease:
		return failure.Usage("--lease is from %s to %s, not %s", shortestLease, longestLease, o.lease)
	}
	if err := o.checkNames(); err != nil {
		return err
	}
	switch {
	case isLoopback(host):
		return nil
	case o.auth == "off":
		return failure.Usage("--auth off is for loopback only, and --listen %s is not", o.listen).
			WithWhy("everybody who reaches the address would be the user")
	case !o.insecure:
		return failure.Usage("--listen %s is not on loopback", o.listen).
			WithWhy("there is no TLS, so tokens could be overheard on the way").
			WithNext("put a TLS proxy before a loopback address, or say --insecure-bind")
	}
	return nil
}

// checkNames refuses origins and hosts that no request can have, and a place for backups that is no directory.
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
	if info, err := os.Stat(o.backups.dir); err == nil && o.backups.dir != "" && !info.IsDir() {
		return failure.Usage("--backup-dir must be a directory, and %s is a file", o.backups.dir)
	}
	return nil
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback()
}

// serve wires the server: home, log, handler, API, listener. It stops in the opposite order.
func serve(ctx context.Context, a *cli.Run, o serveOptions) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	if err := o.setLimits(); err != nil {
		return err
	}
	backupEvery, err := o.backups.interval()
	if err != nil {
		return err
	}
	durability, err := bus.ParseDurability(o.durability)
	if err != nil {
		return failure.Usage("%s", err)
	}
	dir, err := home.Path(a.Getenv)
	if err != nil {
		return err
	}
	if o.readOnly {
		return serveReadOnly(ctx, a, dir, durability, o)
	}
	if err := o.backups.checkPlace(dir); err != nil {
		return err
	}
	existed := hasLog(dir)
	defer func() { err = notServed(dir, existed, err) }()
	logger := newLogger(a.Stderr, o.logFormat)
	lock, secrets, err := openHome(dir, o.newKey, logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	offline.WarnOfRestore(lock.Home, logger)
	trusted := clock.New(a.Wall, clock.Boot)
	backup, err := backupSeen(ctx, lock.Home, o.backups.dir, logger)
	if err != nil {
		return err
	}
	if err := keepEarlierBackups(lock, o.backups.dir, logger); err != nil {
		return err
	}
	store, err := bus.Open(ctx, bus.Options{
		Dir: lock.Store(), Durability: durability, Logger: logger,
		Witnessed: max(witnessed(lock.Home), backup.Sequence), HeadFile: headSeen(lock.Home),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	log, err := guardLog(lock, store)
	if err != nil {
		return err
	}
	denials, err := engine.OpenDenials(ctx, log, trusted.Now, logger)
	if err != nil {
		return err
	}
	defer denials.Close()
	handler, head, closeHandler, err := openHandler(ctx, lock, log, backup, denials, trusted, logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeHandler()) }()
	if err := claim(lock, handler, secrets); err != nil {
		return err
	}
	leases, stopLeases, err := keepLeases(ctx, handler, lock.Beats(), o.lease, logger)
	if err != nil {
		return err
	}
	defer stopLeases()
	// An address that is taken is not worth a half-made server.
	listener, err := listen(ctx, o.listen)
	if err != nil {
		return err
	}
	stopping, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	uses := service.OpenTokenUses(lock.Uses(), logger)
	files := &homeFiles{here: log.homeHere, head: headFailure{head, lock.Head()}, logger: logger}
	care := newUpkeep(backupEvery, o.backups, lock, store, handler, trusted, secrets, logger)
	served, err := service.New(service.Config{
		Handler: handler, Log: log, Blobs: log, Leases: leases, Denials: denials,
		Manifests: manifests{lock.Home}, Templates: ownTemplates{}, Uses: uses, Limits: o.limits,
		Backup: func(ctx context.Context, w io.Writer, head events.Head) error {
			_, err := log.Backup(
				ctx, w, bus.BackupOptions{Head: head, Created: trusted.Now(), Key: secrets.BackupKey()},
			)
			return err
		},
		Keys:     service.Keys{AdminToken: []byte(secrets.AdminToken), ServerKey: secrets.ServerKey},
		Stopping: stopping, Logger: logger, Now: trusted.Now, Clock: wallClock{trusted},
		Hostname: hostname(), Platform: runtime.GOOS,
	})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	reach, err := api.New(api.Config{
		Service: served, Ready: log.Ready,
		Warnings: func() []api.Warning { return append(care.warnings(), files.warnings()...) },
		AuthOff:  o.auth == "off", AllowedHosts: append(ownHosts(listener.Addr()), o.hosts...), AllowOrigins: o.origins,
		Version: cli.Version(),
	})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	kept := &delivery{
		home:    lock.Home,
		handler: handler,
		denials: denials,
		limits:  o.limits,
		key:     secrets.ServerKey,
		logger:  logger,
		charge:  served.ChargeWork,
	}
	defer beside(ctx, kept.run)()
	defer beside(ctx, care.run)()
	defer beside(ctx, func(ctx context.Context) { store.KeepChecked(ctx, trusted.Now, time.After) })()
	defer beside(ctx, (&clockWatch{clock: trusted, logger: logger}).run(time.Tick(clockLook)))()
	defer beside(ctx, homeWatch{log.here, handler.StopWrites}.run(time.Tick(homeLookEvery)))()
	defer beside(ctx, uses.Run)()
	address := addressOf(listener.Addr())
	if err := lock.Announce(home.Server{Address: address, PID: os.Getpid()}); err != nil {
		return errors.Join(err, listener.Close())
	}
	defer func() { err = errors.Join(err, lock.Withdraw()) }()
	files.keep(lock)
	defer beside(ctx, files.run(time.Tick(homeFilesEvery)))()
	if o.auth == "off" {
		logger.Warn("AUTH OFF: every program on this machine is taken for the user, or for the session that it names",
			"next", "start the server without --auth off")
	}
	warnOfRoom(log.Room(), logger)
	listening(a, address, dir, handler.Health(), trusted.Status(), logger)
	return serveUntil(ctx, api.Bound(listener, &o.limits), reach, stop, logger)
}

// warnOfRoom says at the start that nothing can be written yet.
func warnOfRoom(err error, logger *slog.Logger) {
	if err != nil {
		logger.Warn("there is too little room: the server can be read, and takes no writes",
			"why", err, "next", engine.Advice(err))
	}
}

// openHandler opens the one writer of the log, with its witness and its snapshots.
func openHandler(
	ctx context.Context, lock *home.Lock, log guardedLog, seen engine.Witnessed, denials *engine.Denials,
	trusted *clock.Clock, logger *slog.Logger,
) (*engine.Handler, *bus.HeadFile, func() error, error) {
	pictures, err := bus.OpenSnapshots(lock.Through(lock.Snapshots()))
	if err != nil {
		return nil, nil, nil, err
	}
	head := log.HeadFile(lock.Through(lock.Head()), log.lockHere)
	handler, err := engine.Open(ctx, engine.Config{
		Log: log, Blobs: log, Snapshots: snapshots{pictures, log}, Announcer: log,
		Witness: witness{head, lock.Head(), log.homeHere},
		Denials: denials, Damage: log.Damage(), Seen: seen,
		Now: trusted.Now, Follow: trusted.Follow, After: time.After, Logger: logger,
	})
	if err != nil {
		return nil, nil, nil, errors.Join(err, head.Close())
	}
	log.OnDamage(func(fault error) { handler.StopWrites(log.because(fault)) })
	began := handler.Health()
	return handler, head, func() error {
		if handler.Health() == nil {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishing)
			defer cancel()
			if err := handler.Snapshot(ctx); err != nil {
				logger.Warn("the last snapshot could not be saved; the next start takes longer", "why", err)
			}
		}
		handler.Close()
		if began == nil {
			sayAcknowledged(handler, logger)
		}
		return head.Close()
	}, nil
}

// sayAcknowledged names the head of a log that the server stopped writing to: what comes to be in its place, such
// as a copy, may lack events.
func sayAcknowledged(handler *engine.Handler, logger *slog.Logger) {
	health := handler.Health()
	if health == nil {
		return
	}
	var head events.Head
	handler.View(func(state *projections.State) { head = state.Head() })
	logger.Error("writes had stopped", "why", health, "acknowledged", head.String(),
		"next", "check the log after the next start: `maestro audit verify --from-head "+head.String()+"`")
}

// keepLeases starts what time brings about; stop ends it and waits for it.
func keepLeases(
	ctx context.Context, handler *engine.Handler, beats engine.Beats, lease time.Duration, logger *slog.Logger,
) (leases *engine.Leases, stop func(), err error) {
	began := time.Now()
	leases, err = engine.NewLeases(engine.LeasesConfig{
		Handler: handler, Elapsed: func() time.Duration { return time.Since(began) }, Boot: clock.Boot, After: time.After,
		Beats: beats, Lease: lease, Logger: logger,
	})
	if err != nil {
		return nil, nil, err
	}
	return leases, beside(ctx, leases.Run), nil
}

// beside runs something beside the server; stop ends it and waits for it.
func beside(ctx context.Context, run func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		run(ctx)
	}()
	return func() { cancel(); <-done }
}

// serveUntil answers requests until ctx ends. It then calls stopping, which answers who waits, and finishes the
// requests in hand.
func serveUntil(
	ctx context.Context, listener *api.Listener, handler http.Handler, stopping func(), logger *slog.Logger,
) error {
	requests, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: headersWithin, IdleTimeout: idleFor,
		BaseContext: func(net.Listener) context.Context { return requests },
		ErrorLog:    slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
	listener.Configure(server)
	var quiet silent
	quiet.watch(server)
	server.RegisterOnShutdown(quiet.hurry)
	stopped := make(chan error, 1)
	go func() { stopped <- server.Serve(listener) }()
	select {
	case err := <-stopped:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	logger.Info("stopping")
	server.SetKeepAlivesEnabled(false) // an answer now says that the connection ends with it
	stopping()
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishing)
	defer cancel()
	if err := server.Shutdown(patience); err != nil {
		logger.Warn("requests that did not finish in time are broken off", "why", err)
		abandon()
		_ = server.Close() // the listener is closed already
	}
	if err := <-stopped; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// hasLog reports whether a home has a log already.
func hasLog(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "store", "jetstream"))
	return err == nil
}

// notServed explains why a home could not be served; other errors stay as they are.
func notServed(dir string, existed bool, err error) error {
	var own *failure.Error
	switch {
	case err == nil || errors.As(err, &own):
		return err
	case bus.IsFull(err) && existed:
		return offline.DiskFull(dir, err, "make room on that disk, and start the server again; "+
			"until then `maestro serve --read-only` shows what there is")
	case bus.IsFull(err):
		return offline.DiskFull(dir, err, "make room on that disk, and start the server again; "+
			"or name another home with MAESTRO_HOME")
	case offline.IsReadOnly(err) && existed:
		return offline.OnReadOnly(dir, err, "look at it with `maestro serve --read-only`, or make its disk writable")
	case offline.IsReadOnly(err):
		return offline.OnReadOnly(dir, err, "name another home with MAESTRO_HOME, or make the disk writable")
	}
	return err
}

func listen(ctx context.Context, address string) (net.Listener, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, &failure.Error{
			Status: http.StatusInternalServerError, Code: "LISTEN", Message: "The server cannot listen on " + address, Err: err,
			Next: "stop what listens there, or choose another address with --listen; port 0 takes a free one",
		}
	}
	return listener, nil
}

// addressOf gives the URL at which this machine reaches the listener.
func addressOf(address net.Addr) string {
	host, port, err := net.SplitHostPort(address.String())
	if err != nil {
		return "http://" + address.String()
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// ownHosts gives the names under which a listener beyond loopback is rightly called: its addresses, which no page
// can be made to mean something else, and the machine's name.
func ownHosts(address net.Addr) []string {
	host, _, err := net.SplitHostPort(address.String())
	if err != nil || isLoopback(host) {
		return nil
	}
	hosts := []string{host, hostname()}
	if ip, err := netip.ParseAddr(host); err != nil || !ip.IsUnspecified() {
		return hosts
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return hosts
	}
	for _, a := range addresses {
		if network, ok := a.(*net.IPNet); ok {
			hosts = append(hosts, network.IP.String())
		}
	}
	return hosts
}

func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	return name
}

// listening says where the server is, once it can be reached.
func listening(a *cli.Run, address, dir string, damage error, times clock.Status, logger *slog.Logger) {
	data := struct {
		Version  string `json:"version"`
		Address  string `json:"address"`
		Home     string `json:"home"`
		PID      int    `json:"pid"`
		ReadOnly string `json:"readOnly,omitempty"`
		Clock    string `json:"clock,omitempty"`
	}{Version: cli.Version(), Address: address, Home: dir, PID: os.Getpid()}
	readOnly := ""
	if damage != nil {
		data.ReadOnly = damage.Error()
		readOnly = " READ-ONLY"
		level := slog.LevelError
		if engine.Asked(damage) {
			level = slog.LevelInfo
		}
		logger.Log(context.Background(), level, "READ-ONLY: the log can be read, and nothing can be written",
			"why", damage, "next", engine.Advice(damage))
	}
	var next string
	data.Clock, next = times.Explain()
	a.Result(data, func() {
		a.Print("maestro %s listening on %s (home %s)%s\n", data.Version, address, dir, readOnly)
		if data.Clock != "" {
			a.Print("CLOCK: %s\n       %s\n", data.Clock, next)
		}
	})
}

func newLogger(w io.Writer, format string) *slog.Logger {
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, nil))
	}
	return slog.New(slog.NewTextHandler(w, nil))
}

// manifests puts copies of manifests into the home.
type manifests struct{ home *home.Home }

func (m manifests) Place(session string, content []byte) error {
	return m.home.PlaceManifest(session, content)
}

func (m manifests) Path(session string) string { return m.home.ManifestPath(session) }

// ownTemplates are the workflows that Maestro comes with.
type ownTemplates struct{}

func (ownTemplates) Own(id string) (text string, ok bool) { return prompt.BuiltIn().Template(id) }

func (ownTemplates) Check(text string) error { return prompt.CheckTemplate(text) }

// snapshots lets the handler keep its snapshots in a directory.
type snapshots struct {
	dir *bus.Snapshots
	log guardedLog
}

func (s snapshots) List(context.Context) ([]uint64, error) { return s.dir.List() }

func (s snapshots) Load(_ context.Context, sequence uint64) (events.Snapshot, error) {
	return s.dir.Load(sequence)
}

// Save makes firm what the snapshot shows before it is on disk itself: it is a witness.
func (s snapshots) Save(_ context.Context, snapshot events.Snapshot) error {
	if err := errors.Join(s.log.here(), s.log.Firm()); err != nil {
		return err
	}
	return errors.Join(s.dir.Save(snapshot), s.dir.Prune())
}

// witness is the head file.
type witness struct {
	*bus.HeadFile
	path string
	// here fails when the home, and the head file with it, is no longer where it was.
	here func() error
}

// Load keeps a head file that cannot be read beside the new one: it may be what shows that the log was cut.
func (w witness) Load(context.Context) (events.Head, error) {
	if err := w.here(); err != nil {
		return events.Head{}, err
	}
	head, err := bus.LoadHeadFile(w.path)
	if err == nil {
		return head, nil
	}
	aside := w.path + bus.DamagedSuffix
	if moveErr := os.Rename(w.path, aside); moveErr != nil {
		return head, errors.Join(err, moveErr)
	}
	return head, fmt.Errorf("%w; it is %s now", err, aside)
}
