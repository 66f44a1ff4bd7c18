package supervisor

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"maestro/internal/files"
	"maestro/internal/home"
	"maestro/service/wire"
	"maestro/workers/blank"
	"maestro/workers/confine"
	"maestro/workers/manifest"
	"maestro/workers/outbox"
	"maestro/workers/preflight"
	"maestro/workers/processes"
)

// Attached is the supervisor of a command that somebody runs as a session: with the socket, the outbox, the heartbeats
// and the boundary of a run, and without an agent's driver, so that nobody knows what it prints or which tools it
// calls. A session may have several at a time.
type Attached struct {
	s *supervisor
	// manifest is the session's, nil if it has none.
	manifest *manifest.Manifest
	// allowed are paths that the command may change besides its directory.
	allowed []string
	group   sync.WaitGroup
	stop    context.CancelFunc
}

// Attach begins to supervise a session in this process, whose manifest says how it is confined; m is nil if it has
// none. The Config needs the session, its secret, the server and, with boundary, the home; Directory is where the
// command runs. Without boundary, there are only heartbeats. It fails with a *preflight.Failure if a directory cannot
// be used, or the network not be restricted.
func Attach(
	ctx context.Context, c Config, m *manifest.Manifest, boundary bool, logger *slog.Logger,
) (*Attached, error) {
	s := &supervisor{
		Config:  c,
		Console: silence{},
		logger:  logger.With("session", c.SessionID),
		over:    make(chan struct{}),
		command: execs,
		layers:  c.layers(),
	}
	var err error
	if c.Home != "" {
		if s.home, err = home.Open(c.Home); err != nil {
			return nil, err
		}
	}
	s.calls = newCalls(c, s.home, s.logger)
	helpers, stop := context.WithCancel(context.WithoutCancel(ctx))
	a := &Attached{
		s:        s,
		manifest: m,
		stop:     stop,
	}
	if boundary {
		if err := a.open(helpers); err != nil {
			return nil, errors.Join(preflight.Shown(err), a.end())
		}
	}
	a.group.Go(func() { s.beat(helpers) })
	return a, nil
}

// open prepares the directories, and opens the outbox and the socket.
func (a *Attached) open(helpers context.Context) (err error) {
	s := a.s
	if a.manifest != nil {
		s.options, _ = optionsOf(a.manifest)
	}
	if err := s.checkNetwork(helpers); err != nil {
		return err
	}
	s.dirs, err = preflight.Prepare(preflight.Options{
		Workspaces:  s.Workspaces,
		Session:     s.SessionID,
		Target:      s.Directory,
		Within:      s.Within,
		MaestroHome: s.Home,
		Command:     s.command,
	})
	if err != nil {
		return err
	}
	if err := s.makeOwn(); err != nil {
		return err
	}
	box, err := outbox.Open(s.home.Root(), s.SessionID, func() string { return s.SessionToken })
	if err != nil {
		return err
	}
	s.keeper = newKeeper(box, s.calls, s.logger)
	workspaces, secrets := filepath.Dir(s.dirs.Workspace), blank.Of(s.SessionToken)
	if err := clearLeft(filepath.Join(workspaces, socketDir), s.SessionID+"-"); err != nil {
		return err
	}
	path := SocketPath(workspaces, s.SessionID+"-"+strconv.Itoa(os.Getpid()))
	if err := s.listen(helpers, &a.group, path, &gate{
		calls:  s.calls,
		keeper: s.keeper,
		heard:  func() {},
		ended:  func(error) {},
		blank:  func() *blank.Secrets { return secrets },
		logger: s.logger,
	}); err != nil {
		return err
	}
	a.group.Go(func() { s.keeper.run(helpers) })
	return nil
}

// clearLeft removes the directories of sockets that killed processes left. The name of each ends with its process.
func clearLeft(dir, prefix string) error {
	left, err := filepath.Glob(filepath.Join(dir, prefix+"*"))
	if err != nil {
		return err
	}
	for _, path := range left {
		pid, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(path), prefix))
		if err == nil && !processes.Exists(pid) {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// Over is closed when the command may not go on. Then Why says why, and Ended whether that is because the session has
// ended.
func (a *Attached) Over() <-chan struct{} { return a.s.over }

// Why says why the command may not go on, once Over is closed.
func (a *Attached) Why() string { return a.s.why }

// Ended reports, once Over is closed, whether the session has ended.
func (a *Attached) Ended() bool { return a.s.sessionEnded }

// Blocked returns what the command did to lead its user's git elsewhere, once it is closed.
func (a *Attached) Blocked() []string { return a.s.found }

// Kept returns the directories that no command of a session may reach: Maestro's home, and the workspaces.
func (a *Attached) Kept() []string { return []string{a.s.Home, filepath.Dir(a.s.dirs.Workspace)} }

// Environment returns the variables with which the command's maestro reaches the server, and puts the manifest into the
// workspace.
func (a *Attached) Environment() (map[string]string, error) {
	if a.manifest == nil {
		env := a.s.environment("")
		delete(env, wire.EnvManifestPath)
		return env, nil
	}
	if err := a.s.placeManifest(a.manifest.Canonical()); err != nil {
		return nil, err
	}
	return a.s.environment(a.manifest.Axes().Strategy), nil
}

// Caches returns the variables that lead tools to caches of the session's own: those of the user cannot be changed.
func (a *Attached) Caches() map[string]string {
	user, err := os.UserHomeDir()
	if err != nil {
		return map[string]string{}
	}
	return a.s.caches(user)
}

// Check finds what the command must not change in the repository of its directory. allowed are further paths that it
// may read and change. It fails with a *preflight.Failure if that cannot be kept from it, and ends with ctx and the
// session.
func (a *Attached) Check(ctx context.Context, allowed []string) error {
	s := a.s
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	checked := make(chan struct{})
	defer close(checked)
	a.group.Go(func() {
		select {
		case <-s.over:
			cancel(errors.New(s.why))
		case <-checked:
		}
	})
	a.allowed = allowed
	repository := filepath.Join(s.dirs.Target, gitDir)
	if !slices.ContainsFunc(allowed, func(dir string) bool { return files.Within(repository, dir) }) {
		if err := s.checkGit(ctx); err != nil {
			return err
		}
		s.restoreGit(ctx) // of an earlier command, whose supervision was killed
	}
	s.git.kept = slices.DeleteFunc(s.git.kept, func(path string) bool {
		return slices.ContainsFunc(allowed, func(dir string) bool { return files.Within(path, dir) })
	})
	return nil
}

// Start starts a command behind the boundary, after Check.
func (a *Attached) Start(ctx context.Context, cmd *exec.Cmd) (*confine.Process, error) {
	s := a.s
	user, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	policy := s.boundary(user)
	if a.manifest == nil {
		policy.ReadOnly = []string{s.dirs.Orchestrator}
	}
	s.reachTarget(&policy)
	// An agent of the session may run beside the command.
	policy.Hidden = append(policy.Hidden, filepath.Join(s.dirs.Workspace, stateDir))
	for _, pattern := range []string{"*.jsonl", "*" + errorsSuffix} {
		outputs, err := filepath.Glob(filepath.Join(s.dirs.Workspace, pattern))
		if err != nil {
			return nil, err
		}
		outputs = slices.DeleteFunc(outputs, func(path string) bool { // no driver has called a file that
			return !utf8.ValidString(path)
		})
		policy.ReadOnly = append(policy.ReadOnly, outputs...)
	}
	policy.ReadWrite = append(policy.ReadWrite, a.allowed...)
	policy.Exposed = append(policy.Exposed, cmd.Path)
	if err := s.targetStays(); err != nil {
		return nil, err
	}
	return confine.Start(ctx, []string{s.Program, wire.ProgramConfined, s.SessionID}, policy, s.layers, cmd)
}

// Close delivers what the command's programs left behind, for a while, and ends the supervision. kept is how many
// commands still wait: the home's server, or the session's next command, delivers them.
func (a *Attached) Close(ctx context.Context, patience time.Duration) (kept int, err error) {
	if a.s.keeper != nil {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		if flushed := a.s.keeper.flush(ctx); flushed != nil {
			kept, err = a.s.keeper.box.Waiting()
		}
	}
	a.s.clearGit(ctx)
	return kept, errors.Join(err, a.end())
}

func (a *Attached) end() error {
	a.stop()
	a.group.Wait()
	a.s.calls.close()
	err := a.s.holdTarget(nil)
	if a.s.home == nil {
		return err
	}
	return errors.Join(err, a.s.home.Close())
}
