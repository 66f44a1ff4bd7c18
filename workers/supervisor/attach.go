package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"maestro/internal/home"
	"maestro/service/wire"
	"maestro/workers/blank"
	"maestro/workers/confine"
	"maestro/workers/manifest"
	"maestro/workers/outbox"
	"maestro/workers/preflight"
)

// Attached is the supervisor of a command that somebody runs as a session: with the socket, the outbox, the heartbeats
// and the boundary of a run, and without an agent's driver, so that nobody knows what it prints or which tools it
// calls. A session may have several at a time.
type Attached struct {
	s *supervisor
	// manifest says that the workspace has one.
	manifest bool
	group    sync.WaitGroup
	stop     context.CancelFunc
}

// Attach begins to supervise a session in this process. The Config needs the session, its secret, the home and the
// server; Directory is where the command runs. Without boundary, there are only heartbeats. It fails with a
// *preflight.Failure if a directory cannot be used.
func Attach(ctx context.Context, c Config, boundary bool, logger *slog.Logger) (*Attached, error) {
	s := &supervisor{
		Config:  c,
		Console: silence{},
		logger:  logger.With("session", c.SessionID),
		over:    make(chan struct{}),
		layers:  c.layers(),
	}
	var err error
	if s.home, err = home.Open(c.Home); err != nil {
		return nil, err
	}
	s.calls = newCalls(c, s.home, s.logger)
	helpers, stop := context.WithCancel(context.WithoutCancel(ctx))
	a := &Attached{s: s, stop: stop}
	if boundary {
		if err := a.open(helpers); err != nil {
			return nil, errors.Join(err, a.end())
		}
	}
	a.group.Go(func() { s.beat(helpers) })
	return a, nil
}

// open prepares the directories, and opens the outbox and the socket.
func (a *Attached) open(helpers context.Context) (err error) {
	s := a.s
	s.dirs, err = preflight.Prepare(preflight.Options{
		Workspaces:  s.Workspaces,
		Session:     s.SessionID,
		Target:      s.Directory,
		MaestroHome: s.Home,
	})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(s.dirs.Workspace, tempDir), 0o700); err != nil {
		return fmt.Errorf("make the command's directory for temporary files: %w", err)
	}
	box, err := outbox.Open(s.home.Root(), s.SessionID, func() string { return s.SessionToken })
	if err != nil {
		return err
	}
	s.keeper = newKeeper(box, s.calls, s.logger)
	path := SocketPath(filepath.Dir(s.dirs.Workspace), s.SessionID+"-"+strconv.Itoa(os.Getpid()))
	if err := s.listen(helpers, &a.group, path, &gate{
		calls:  s.calls,
		keeper: s.keeper,
		heard:  func() {},
		ended:  func(error) {},
		blank:  blank.Of(s.SessionToken).Blank,
		logger: s.logger,
	}); err != nil {
		return err
	}
	a.group.Go(func() { s.keeper.run(helpers) })
	return nil
}

// Over is closed when the session has ended, or its secret is not valid any more.
func (a *Attached) Over() <-chan struct{} { return a.s.over }

// Why says why it is over.
func (a *Attached) Why() string { return a.s.why }

// Environment returns the variables with which the command's maestro reaches the server, and puts the manifest into the
// workspace. m is nil if the session has none.
func (a *Attached) Environment(m *manifest.Manifest) (map[string]string, error) {
	if m == nil {
		env := a.s.environment("")
		delete(env, wire.EnvManifestPath)
		return env, nil
	}
	a.manifest = true
	if err := a.s.placeManifest(m.Canonical()); err != nil {
		return nil, err
	}
	return a.s.environment(m.Axes().Strategy), nil
}

// Caches returns the variables that lead tools to caches of the session's own: those of the user cannot be changed.
func (a *Attached) Caches() map[string]string {
	user, err := os.UserHomeDir()
	if err != nil {
		return map[string]string{}
	}
	return a.s.caches(user)
}

// Start starts a command behind the boundary. allowed are further paths that it may read and change.
func (a *Attached) Start(ctx context.Context, cmd *exec.Cmd, allowed []string) (*confine.Process, error) {
	s := a.s
	user, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	policy := s.boundary(user)
	if !a.manifest {
		policy.ReadOnly = nil
	}
	policy.ReadWrite = append(policy.ReadWrite, s.dirs.Target)
	policy.ReadWrite = append(policy.ReadWrite, allowed...)
	policy.Exposed = append(policy.Exposed, cmd.Path)
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
	return kept, errors.Join(err, a.end())
}

func (a *Attached) end() error {
	a.stop()
	a.group.Wait()
	a.s.calls.close()
	return a.s.home.Close()
}
