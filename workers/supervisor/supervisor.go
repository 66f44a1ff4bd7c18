package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"maestro/events"
	"maestro/internal/disk"
	"maestro/internal/files"
	"maestro/internal/home"
	"maestro/service/wire"
	"maestro/workers/agent"
	"maestro/workers/blank"
	"maestro/workers/confine"
	"maestro/workers/outbox"
	"maestro/workers/preflight"
	"maestro/workers/processes"
	"maestro/workers/socket"
)

// socketDir and socketFile name an agent's socket, below the directory of the workspaces: an agent may not change
// anything there but its own workspace.
const (
	socketDir  = ".run"
	socketFile = "agent.sock"
)

// supervisor is one run of one session.
type supervisor struct {
	Config
	// Console shows what happens to a person who runs the agent in a terminal; nil if nobody watches.
	Console
	home   *home.Home
	files  *home.RunFiles
	calls  *calls
	keeper *keeper
	mail   *mailbox
	logger *slog.Logger

	decisions *decisions
	attention *attention
	records   *records
	judge     *judge

	driver  agent.Driver
	dirs    preflight.Dirs
	layers  []confine.Layer
	network confine.Network
	ports   []uint16
	// target is the working directory, held open since checkGit has looked at it; nil if nothing there is kept.
	target   *disk.Root
	targetIs disk.Identity
	// git are the paths in the target that only the user's git may change.
	git gitFound
	// gitBefore are their digests before the launch, nil if they are not kept.
	gitBefore map[string]string
	// gitPatience is how long a look at the git of the target may take, lookAtGitWithin if it is 0.
	gitPatience time.Duration
	// found is what blockedGit had to say of a command, which has no records.
	found   []string
	options events.AgentOptions
	model   string
	// command is the command whose flags decide about the run, for advice.
	command string
	socket  string
	// secrets are those of the run. No record and no stored output has them.
	secrets atomic.Pointer[blank.Secrets]
	// opened are the skills, which are closed at the end.
	opened []io.Closer
	// ready is what the checks before the claim found, nil if there were none or it is used.
	ready *prepared
	// given are the variables that a user set for the session.
	given map[string]string
	// over is closed when the session has ended, or its secret is not valid any more; why says which.
	over     chan struct{}
	overOnce sync.Once
	why      string
	// sessionEnded says, once over is closed, that the session has ended.
	sessionEnded bool
	// children are the processes that somebody waits for.
	children processes.Children

	mu    sync.Mutex
	saved Saved
	// asked are the questions whether the agent may do something that have no answer yet, by their text.
	asked map[string]*askedOnce
	// used is what the runs of the conversation have used so far, turns how many turns this run took.
	used       agent.Used
	turns      int64
	countTurns bool
	// running is the current launch, nil between launches.
	running *launched
	// unguarded says why the agent had to be ended, "" if it had not.
	unguarded string
}

// serves and execs are the commands that launch something of a session, beside `worker init` and `orchestrator init`.
const (
	serves = "serve"
	execs  = "session exec"
)

// Console shows the course of a run to a person. Each method may be called concurrently.
type Console interface {
	// Saw shows what the agent does.
	Saw(o agent.Observation)
	// Tell shows what the supervisor does.
	Tell(format string, args ...any)
}

// silence is a Console for nobody.
type silence struct{}

func (silence) Saw(agent.Observation) {}
func (silence) Tell(string, ...any)   {}

// Saved is what a supervisor keeps in the home, for the runner that finds it gone.
type Saved struct {
	Run     int       `json:"run"`
	Runner  string    `json:"runner"`
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	// Ticks is when the process started, as the kernel counts: with the id, it names one process.
	Ticks uint64 `json:"ticks,omitempty"`
	// Exit is how the agent ended, once it did.
	Exit *Exit `json:"exit,omitempty"`
	// Conversation is the agent's own, as soon as it is known.
	Conversation string `json:"conversation,omitempty"`
	// Agent is the driver's name, Output and Errors are the files with what the agent printed.
	Agent  string `json:"agent,omitempty"`
	Output string `json:"output,omitempty"`
	Errors string `json:"errors,omitempty"`
	// Socket is where the agent's programs find the supervisor: they have it in their environment.
	Socket string `json:"socket,omitempty"`
	// Git is the directory in whose repository only the user's git may change what git runs, "" if an agent may too.
	Git string `json:"git,omitempty"`
	// GitIs tells that directory from one that comes in its place.
	GitIs disk.Identity `json:"gitIs,omitzero"`
	// Repositories are those in that directory before the agent was launched.
	Repositories []gitRepository `json:"repositories,omitempty"`
	// Place is what the run has of the runner's places.
	Place Place `json:"place,omitempty"`
	// Undone is what was undone of the agent's after its supervisor was gone. The server learns it before the exit.
	Undone []Undone `json:"undone,omitempty"`
	// Reported says that the server knows.
	Reported bool `json:"reported,omitempty"`
}

// ErrUnknown says that what is known of an earlier run cannot be read.
var ErrUnknown = errors.New("what is known of an earlier run cannot be read")

// ReadSaved returns what the last supervisor of a session saved. It fails with fs.ErrNotExist if there was none, and
// with ErrUnknown if that cannot be read: then one has begun a run, and nothing else is known.
func ReadSaved(h *home.Home, session string) (is Saved, err error) {
	content, err := h.ReadRun(session)
	if errors.Is(err, fs.ErrNotExist) {
		return is, err
	}
	if err == nil {
		err = json.Unmarshal(content, &is)
	}
	if err != nil {
		return Saved{}, fmt.Errorf("%w: %s: %w", ErrUnknown, h.RunPath(session), files.Bare(err))
	}
	return is, nil
}

// RestoreGit undoes what an agent whose supervisor is gone left in the repositories of its target, to lead its user's
// git to other hooks. Nothing of the agent may run any more.
func (is *Saved) RestoreGit(ctx context.Context) (undone []Undone, err error) {
	if is.Git == "" {
		return nil, nil
	}
	root, err := openTarget(is.Git, is.GitIs)
	if err != nil {
		return nil, err
	}
	undone, err = restoreGit(ctx, root, is.Repositories)
	return undone, errors.Join(err, root.Close())
}

// Exit is how the agent of a run ended.
type Exit struct {
	Code         *int   `json:"code,omitempty"`
	Signal       string `json:"signal,omitempty"`
	Reason       string `json:"reason,omitempty"`
	LastOutput   string `json:"lastOutput,omitempty"`
	Conversation string `json:"conversation,omitempty"`
}

// Run supervises one run of a session, from its preparation until the server knows how it ended. ctx ends it early: the
// agent is then ended, and its exit recorded.
func Run(ctx context.Context, c Config, drivers func(name string) (agent.Driver, error), console Console,
	logger *slog.Logger,
) (err error) {
	if console == nil {
		console = silence{}
	}
	s := &supervisor{
		Config:  c,
		Console: console,
		logger:  logger.With("session", c.SessionID, "run", c.Run),
		over:    make(chan struct{}),
		command: serves,
		asked:   map[string]*askedOnce{},
	}
	s.secrets.Store(blank.Of(c.SessionToken, c.RunnerToken))
	s.layers = c.layers()
	if s.home, err = home.Open(c.Home); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.home.Close()) }()
	defer func() { err = errors.Join(err, s.holdTarget(nil)) }()
	if s.files, err = s.home.TakeRun(c.SessionID); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.files.Close()) }()
	if err := s.hasRun(); err != nil {
		return err
	}
	if c.Claim == nil {
		if err := s.saveBegun(); err != nil {
			return err
		}
	}
	box, err := outbox.Open(s.home.Root(), c.SessionID, func() string { return c.SessionToken })
	if err != nil {
		return err
	}
	log, err := s.files.Decisions()
	if err != nil {
		return fmt.Errorf("open the log of decisions: %w", err)
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	bounded, err := boundDecisions(log)
	if err != nil {
		return fmt.Errorf("open the log of decisions: %w", err)
	}
	s.calls = newCalls(c, s.home, s.logger)
	defer s.calls.close()
	s.keeper = newKeeper(box, s.calls, s.logger)
	s.mail = newMailbox(s.calls, c.SessionID, s.logger, s.look, s.over)
	s.records = newRecords(s.calls, s.SessionID, s.Run, s.blank, s.logger)
	s.decisions = newDecisions(bounded, s.blank, s.logger, s.stopUnguarded)
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	s.attention = &attention{
		silent: c.Silent,
		now:    time.Now,
		tick:   ticker.C,
		tell:   s.records.stuck,
	}
	if c.Claim != nil {
		if err := s.claim(ctx, drivers); err != nil {
			return err
		}
	}
	processes.Adopt()
	return s.supervise(ctx, drivers)
}

// saveBegun notes in the home that this process has the run.
func (s *supervisor) saveBegun() error {
	return s.save(func(is *Saved) {
		*is = Saved{
			Run:          s.Run,
			Runner:       s.Runner,
			PID:          os.Getpid(),
			Started:      time.Now(),
			Ticks:        processes.Started(os.Getpid()),
			Conversation: s.Conversation,
		}
	})
}

// closeOpened closes the skills.
func (s *supervisor) closeOpened() (err error) {
	for _, skill := range s.opened {
		err = errors.Join(err, skill.Close())
	}
	return err
}

// ErrRan says that the run, or a later one of its session, has had a supervisor on this machine.
var ErrRan = errors.New("the run was supervised before")

// hasRun fails with ErrRan if the run, or a later one, has had a supervisor, and with ErrUnknown if that cannot be
// read: an agent may run, or have run.
func (s *supervisor) hasRun() error {
	before, err := ReadSaved(s.home, s.SessionID)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case before.Run >= s.Run:
		return ErrRan
	}
	return nil
}

// supervise keeps the helpers of a run going while the agent works.
func (s *supervisor) supervise(ctx context.Context, drivers func(name string) (agent.Driver, error)) error {
	helpers, stop := context.WithCancel(context.WithoutCancel(ctx))
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	for _, run := range []func(context.Context){s.keeper.run, s.beat, s.reap} {
		group.Go(func() { run(helpers) })
	}
	// Once the agent has ended, its mail and its silence are nobody's business.
	watching, stopWatching := context.WithCancel(helpers)
	defer stopWatching()
	for _, run := range []func(context.Context){s.mail.run, s.attention.run, s.lingers} {
		group.Go(func() { run(watching) })
	}
	recording, stopRecording := context.WithCancel(context.WithoutCancel(ctx))
	defer stopRecording()
	group.Go(func() { s.records.run(recording) })
	exit := s.work(ctx, &group, helpers, drivers)
	stopWatching()
	_ = s.closeOpened() // they were only read
	if ctx.Err() != nil {
		exit.Reason = s.toldToStop()
	}
	return s.finish(ctx, exit)
}

// toldToStop says why a run ended whose supervisor was told to stop.
func (s *supervisor) toldToStop() string {
	if s.Runner == wire.TerminalRunner {
		return "it was interrupted in its terminal"
	}
	return "its supervisor was told to stop"
}

// blank removes the run's secrets from a text.
func (s *supervisor) blank(text string) string { return s.secrets.Load().Blank(text) }

// reap removes ended descendants from the process table, until ctx ends.
func (s *supervisor) reap(ctx context.Context) {
	if len(processes.Ended()) == 0 {
		return
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, processes.Ended()...)
	defer signal.Stop(ended)
	for {
		select {
		case <-ended:
			s.children.Reap()
		case <-ctx.Done():
			return
		}
	}
}

// save changes what is known of the run, and keeps it in the home.
func (s *supervisor) save(change func(*Saved)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.saved)
	content, err := json.Marshal(s.saved)
	if err != nil {
		return err
	}
	return s.files.Save(append(content, '\n'))
}

// SocketPath returns the path of the socket of a session's agent.
func SocketPath(workspaces, session string) string {
	return filepath.Join(workspaces, socketDir, session, socketFile)
}

// openSocket listens where the agent's programs find the supervisor.
func (s *supervisor) openSocket(ctx context.Context, group *sync.WaitGroup) error {
	path := SocketPath(filepath.Dir(s.dirs.Workspace), s.SessionID)
	if err := s.save(func(is *Saved) { is.Socket = path }); err != nil {
		return err
	}
	return s.listen(ctx, group, path, &gate{
		calls:   s.calls,
		keeper:  s.keeper,
		hook:    func(w http.ResponseWriter, r *http.Request) { s.judge.serve(w, r) },
		heard:   s.attention.heardNow,
		blank:   s.secrets.Load,
		ended:   s.socketEnded,
		settled: s.mail.settled,
		logger:  s.logger,
	})
}

// listen lets a gate serve a socket in a directory of its own, until ctx ends.
func (s *supervisor) listen(ctx context.Context, group *sync.WaitGroup, path string, g *gate) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the directory of the agent's socket: %w", err)
	}
	listener, err := socket.Listen(ctx, path)
	if err != nil {
		return err
	}
	s.socket = path
	group.Go(func() {
		if err := g.serve(ctx, listener); err != nil && ctx.Err() == nil {
			s.logger.Error("the agent's socket ended", "why", err)
			g.ended(err)
		}
		_ = os.RemoveAll(dir) // it holds the socket alone
	})
	return nil
}

// stopUnguarded ends the agent, because a call ran that nobody decided about.
func (s *supervisor) stopUnguarded(tool, what string) {
	if s.endUnguarded("a tool call ran without a decision: " + short(tool+" "+s.blank(what))) {
		s.records.blocked(tool, what, "it ran without a decision, so the agent was ended", true)
	}
}

// socketEnded ends the agent, because its hook reaches nobody any more. No call is known to have run, so none is
// recorded.
func (s *supervisor) socketEnded(err error) {
	s.endUnguarded("its socket ended, so nobody could decide about its tool calls: " + short(s.blank(err.Error())))
}

// endUnguarded ends the agent, because nobody decides about its tool calls. It reports whether that is new: only the
// first reason counts.
func (s *supervisor) endUnguarded(why string) bool {
	s.mu.Lock()
	first := s.unguarded == ""
	if first {
		s.unguarded = why
	}
	running := s.running
	s.mu.Unlock()
	if first && running != nil {
		go s.end(running) // it is waited for by whoever waits for the launch
	}
	return first
}
