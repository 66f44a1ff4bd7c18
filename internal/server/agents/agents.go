package agents

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/pflag"

	"maestro/api/client"
	"maestro/commands"
	"maestro/internal/failure"
	"maestro/internal/files"
	"maestro/internal/home"
	"maestro/internal/server/listen"
	"maestro/internal/server/process"
	"maestro/service"
	"maestro/service/wire"
	"maestro/workers/confine"
	"maestro/workers/runner"
	"maestro/workers/supervisor"
)

// Options are the flags of the runner inside `maestro serve`.
type Options struct {
	none       bool
	name       string
	agents     int
	confine    string
	workspaces string
	shared     string
	silent     time.Duration
	fix        bool
	git        bool
}

// The values of --confine.
const (
	confineOn       = "on"
	confineRequired = "required"
	confineOff      = "off"
)

// Confine are the values of --confine.
var Confine = []string{confineOn, confineRequired, confineOff}

// Flags declares the flags.
func (o *Options) Flags(f *pflag.FlagSet) {
	f.BoolVar(&o.none, "no-runner", false, "launch no agents; others do, such as maestro session exec")
	f.StringVar(&o.name, "runner", wire.LocalRunner, "the name of the runner, which sessions are spawned for")
	f.IntVar(&o.agents, "agents", defaultAgents(),
		"how many workers run at once, and how many orchestrators beside them; others wait in line")
	f.StringVar(&o.confine, "confine", confineOn,
		"on: confine agents with what the kernel offers; required: do not start if it offers nothing; off")
	f.StringVar(&o.workspaces, "workspaces", "",
		"the directory of the agents' workspaces; by default MAESTRO_WORKSPACE, or ~/orchestrator/workspace")
	f.StringVar(&o.shared, "orchestrator-dir", "",
		"a directory that every agent may read; only an agent that works in it may change it")
	f.DurationVar(&o.silent, "silent-after", supervisor.DefaultSilent,
		"how long an agent may do nothing before that is shown, and may go on after its session is complete")
	f.BoolVar(&o.fix, "fix-permissions", false,
		"change the permissions of working directories that agents cannot read and write, as chmod -R 755 does")
	f.BoolVar(&o.git, "allow-git-config", false,
		"let agents change git's hooks and configuration in their working directory; your git runs what is in them")
}

// defaultAgents is how many agents a machine runs at once: they wait for models most of the time.
func defaultAgents() int { return max(4, 2*runtime.NumCPU()) }

// launchSystem is the only system on which agents are launched: elsewhere nobody could tell who speaks through a
// socket, or end what an agent leaves behind.
const launchSystem = "linux"

// Name returns the name of the runner, "" if there is none.
func (o *Options) Name() string {
	if o.none || runtime.GOOS != launchSystem {
		return ""
	}
	return o.name
}

// Check refuses impossible options.
func (o *Options) Check() error {
	switch {
	case o.confine != confineOn && o.confine != confineRequired && o.confine != confineOff:
		return failure.Usage("--confine is on, required or off, not %q", o.confine)
	case o.agents < 1:
		return failure.Usage("--agents is at least 1, not %d", o.agents).
			WithNext("use --no-runner to launch no agents")
	case o.silent < time.Second:
		return failure.Usage("--silent-after is at least 1s, not %s", o.silent)
	case commands.ValidID("/runner", o.name) != nil || o.name == wire.TerminalRunner:
		return failure.Usage("--runner is a name of letters, digits, - and _, and not %s", wire.TerminalRunner)
	}
	return nil
}

// layers returns the layers of confinement that agents can get.
func (o *Options) layers(
	ctx context.Context, program string, logger *slog.Logger,
) (available []confine.Layer, err error) {
	if o.confine != confineOff {
		available = confine.Available(ctx, []string{program, wire.ProgramConfined})
	}
	switch {
	case len(available) > 0:
		return available, nil
	case o.confine == confineRequired:
		return nil, failure.Usage("This system offers no layer of confinement, and --confine required asks for it").
			WithNext("run agents on Linux 6.2 or later, or use --confine on")
	}
	next := "`maestro doctor --all` says why this system offers no layer of confinement"
	if o.confine == confineOff {
		next = "unless you want that, start the server without --confine off"
	}
	logger.Warn("AGENTS ARE NOT CONFINED: they can do whatever this user can", "next", next)
	return available, nil
}

// Directories returns the directory of the workspaces and that of --orchestrator-dir, "" for none. It fails if the
// runner cannot use them: the server says so before it says that it listens.
func (o *Options) Directories(home string, getenv func(string) string) (workspaces, shared string, err error) {
	if o.Name() == "" {
		return "", "", nil
	}
	workspaces = o.workspaces
	if workspaces == "" {
		if workspaces, err = supervisor.Workspaces(getenv); err != nil { // the user has no home directory
			workspaces = home + "-workspaces"
		}
	}
	if workspaces, err = filepath.Abs(workspaces); err != nil {
		return "", "", err
	}
	shared, err = o.sharedDir(workspaces)
	return workspaces, shared, err
}

// sharedDir returns the directory of --orchestrator-dir, "" for none.
func (o *Options) sharedDir(workspaces string) (string, error) {
	if o.shared == "" {
		return "", nil
	}
	dir, err := filepath.Abs(o.shared)
	if err != nil {
		return "", err
	}
	switch info, err := os.Stat(dir); {
	case err != nil:
		return "", failure.Usage("--orchestrator-dir names %s, which cannot be used: %s", dir, files.Bare(err))
	case !info.IsDir():
		return "", failure.Usage("--orchestrator-dir names %s, which is not a directory", dir)
	case files.Within(workspaces, dir) || files.Within(dir, workspaces):
		return "", failure.Usage("--orchestrator-dir names %s, which holds, or is in, the agents' workspaces", dir).
			WithWhy("an agent reads no workspace but its own").
			WithNext("name another directory, or other --workspaces than %s", workspaces)
	}
	return dir, nil
}

// Server is the server that the runner is part of.
type Server struct {
	Service *service.Service
	Home    *home.Home
	// Address is where it listens, with the certificate if it speaks TLS.
	Address      string
	Certificates *listen.Certificates
	Version      string
	Getenv       func(string) string
	Logger       *slog.Logger
}

// Run starts the runner; stop ends it and leaves its supervisors running. Also without a runner, the ends of runs in
// terminals are recorded that their supervisors could not record.
func Run(ctx context.Context, o Options, s Server) (stop func(), err error) {
	if runtime.GOOS != launchSystem {
		if !o.none {
			s.Logger.Info("no agents are launched here: that needs Linux", "next",
				"start agents yourself with `maestro session exec`")
		}
		return func() {}, nil
	}
	stopTerminals := s.beside(ctx, runner.Config{Name: wire.TerminalRunner})
	if o.none {
		return stopTerminals, nil
	}
	c, err := o.runner(ctx, s)
	if err != nil {
		stopTerminals()
		return nil, err
	}
	stopRunner := s.beside(ctx, c)
	return func() {
		stopRunner()
		stopTerminals()
	}, nil
}

// beside lets a runner of the server work, until stop is called.
func (s Server) beside(ctx context.Context, c runner.Config) (stop func()) {
	token := service.RunnerToken(s.Service.Keys.ServerKey, c.Name, "", service.FirstGeneration)
	server := client.New(s.Address, token, client.WithVersion(s.Version),
		client.WithTimeout(time.Minute), client.WithIdentification(),
		client.WithPinned(func(string) string {
			if s.Certificates == nil {
				return ""
			}
			return s.Certificates.Fingerprint()
		}))
	c.Host, c.Server, c.Home, c.Logger, c.After = process.Hostname(), server, s.Home, s.Logger, time.After
	wait := process.Beside(ctx, runner.New(c).Run)
	return func() {
		wait()
		server.Close()
	}
}

// runner says how the runner works that launches agents.
func (o *Options) runner(ctx context.Context, s Server) (c runner.Config, err error) {
	workspaces, shared, err := o.Directories(s.Home.Dir(), s.Getenv)
	if err != nil {
		return c, err
	}
	program, err := os.Executable()
	if err != nil {
		return c, fmt.Errorf("find the program that agents run: %w", err)
	}
	layers, err := o.layers(ctx, program, s.Logger)
	if err != nil {
		return c, err
	}
	return runner.Config{
		Name:   o.name,
		Limit:  o.agents,
		Start:  runner.Detached(s.Home, os.Environ()),
		Layers: layers,

		SearchPath: s.Getenv("PATH"),
		Supervisor: supervisor.Config{
			Program:    program,
			Version:    s.Version,
			Workspaces: workspaces,
			Limits: supervisor.Limits{
				OrchestratorDir: shared,
				FixPermissions:  o.fix,
				GitConfig:       o.git,
				Silent:          o.silent,
				Room:            supervisor.DefaultRoom,
			},
		},
	}, nil
}

// Configured returns the agents that a home configures. The file is read each time, so that a change needs no restart.
func Configured(dir string, logger *slog.Logger) func() service.ConfiguredAgents {
	return func() service.ConfiguredAgents {
		configured, err := supervisor.LoadAgents(dir)
		found := service.ConfiguredAgents{Names: configured.Names(), Unguarded: configured.Unguarded()}
		if err != nil {
			logger.Warn("the configuration of agents cannot be used", "why", err,
				"next", "see `maestro doctor`")
			found.Fault, found.Fix = supervisor.FaultOfAgents(err)
		}
		return found
	}
}
