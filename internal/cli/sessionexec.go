package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/commands"
	"maestro/internal/failure"
	"maestro/internal/home"
	"maestro/internal/safetext"
	"maestro/service/wire"
	"maestro/workers/preflight"
)

const (
	// The exit codes for a command that cannot be run, as in shells.
	exitNotRunnable = 126
	exitNotThere    = 127
)

// sessionExec is `maestro session exec`.
type sessionExec struct {
	*Run
	directory  string
	allowed    []string
	unconfined bool
	gitConfig  bool
}

func newSessionExec(a *Run) *cobra.Command {
	c := &sessionExec{Run: a}
	cmd := &cobra.Command{
		Use:   "exec <sessionId> -- <command>...",
		Short: "Run a command as a session, with heartbeats, and record its exit code",
		Long: `Run a command as a session. The command gets the session's environment and none
of your credentials. While it runs, Maestro sends heartbeats for the session
and passes signals on to the command. When the command ends, Maestro records
its exit code on the session's timeline and exits with the same code. If the
session ends first, for example by "maestro session kill", the command is
terminated and the exit code is 4.

On Linux, the command is confined as an agent is. It can change its working
directory, the session's workspace, and the paths that --allow names. It cannot
read Maestro's home, your keys, or the logins of other programs, and it does not
get variables whose names say that they are secret, such as GITHUB_TOKEN. It
gets no secret of the session either: its maestro commands go through a socket.
Reports that the server cannot take now are kept and sent later.

With --unconfined, the command can do what you can, and gets the session's
secret in MAESTRO_TOKEN. Use that for programs that you trust, and for programs
that call the server themselves.

The command runs in the session's working directory, if it has one, and gets
the variables that a user set with "maestro session update --env". Maestro
looks the program up in your current directory and PATH. Relative paths in its
arguments refer to the session's working directory. A session that runs a
command as itself stays in its current directory.

If there is no connection to the server for ten seconds after the command
ended, its exit code is not recorded.

An agent gets its instructions from "maestro worker init" or "maestro
orchestrator init", which the command must run. The recipes of the guide have a
script that starts Claude Code with them.`,
		Example: `  maestro session exec sess_k3f9x2m7qa -- ./claude-worker.sh
  maestro session exec "$(maestro session spawn --task-ids task_z9spag1x69 -q)" -- ./agent.sh --fast`,
		Args: execTakes,
		RunE: Running(c.run),
	}
	cmd.Flags().StringVar(&c.directory, "working-directory", "",
		"run the command here; if absent, in the session's working directory, or in the current one if it has none")
	ValueName(cmd, "working-directory", "<path>")
	cmd.Flags().StringArrayVar(&c.allowed, "allow", nil,
		"let the command read and change this path too, with what git runs there")
	ValueName(cmd, "allow", "<path>")
	cmd.Flags().BoolVar(&c.unconfined, "unconfined", false,
		"let the command do what you can, and give it the session's secret")
	cmd.Flags().BoolVar(&c.gitConfig, "allow-git-config", false,
		"let the command change git's hooks and configuration there; your git runs what is in them")
	cmd.MarkFlagsMutuallyExclusive("allow", "unconfined")
	cmd.MarkFlagsMutuallyExclusive("allow-git-config", "unconfined")
	return cmd
}

// execTakes checks that the command line is SESSION -- COMMAND.
func execTakes(cmd *cobra.Command, args []string) error {
	const next = "write `maestro session exec <sessionId> -- <command>`"
	dash := cmd.ArgsLenAtDash()
	switch {
	case len(args) == 0 || dash == 0:
		return &ranError{failure.Usage("Name a session").WithNext(next)}
	case dash != 1:
		return &ranError{failure.Usage("The command to run comes after --").WithNext(next)}
	case len(args) == 1:
		return &ranError{failure.Usage("There is no command after --").WithNext(next)}
	case args[0] == "":
		return &ranError{failure.Usage("No session id: the first argument is empty").WithNext(next)}
	case args[1] == "":
		return &ranError{failure.Usage("No command: the argument after -- is empty").WithNext(next)}
	}
	return nil
}

func (c *sessionExec) run(ctx context.Context, args []string) error {
	session, line := args[0], args[1:]
	path, err := exec.LookPath(line[0])
	if err != nil {
		return notRunnable(line[0], err)
	}
	if path, err = filepath.Abs(path); err != nil {
		return notRunnable(line[0], err)
	}
	if c.throughSocket() && session == c.sessionID() {
		return c.runBelow(path, line)
	}
	server, err := c.Connect(ctx)
	if err != nil {
		return err
	}
	given, err := c.credential(ctx, server, session)
	if err != nil {
		return err
	}
	session = given.SessionID
	c.waiting = nil // its mail is for the command
	beats, err := c.clientOf(server, given.Token)
	if err != nil {
		return err
	}
	defer beats.Close()
	first, err := beats.Heartbeat(ctx, session)
	if err == nil && first.Ended {
		err = &sessionOver{c.whyOver(ctx, beats, session)}
	}
	if err == nil {
		given, err = beats.Credential(ctx, session)
	}
	if err != nil {
		return c.ended(session, err)
	}
	directory, err := c.runsIn(ctx, beats, session)
	if err != nil {
		return err
	}
	command := c.command(path, line, directory)
	held, start, err := c.attach(ctx, server, beats, given, command)
	if err != nil {
		return err
	}
	running := markRunning(c.Run, session)
	c.answered = true // from now on stdout belongs to the command
	var over error
	ended, err := supervise(start, held.Over(), func() {
		if !held.Ended() {
			over = &failure.Error{
				Status:  http.StatusForbidden,
				Code:    "NOT_SUPERVISED",
				Message: "The command was ended: " + held.Why(),
				Next:    "see `maestro session info " + session + "`, and run the command again if the session goes on",
			}
			c.Say("maestro: the command is being ended: %s\n", held.Why())
			return
		}
		why := &sessionOver{c.whyOver(ctx, beats, session)}
		over = c.ended(session, why)
		c.Say("maestro: Session '%s' has ended, so its command is being ended: %s\n", session, why)
	})
	c.detach(ctx, held)
	if ended == nil {
		return c.notStarted(line[0], err)
	}
	others := running != nil && running.Release()
	c.record(context.WithoutCancel(ctx), server, beats, session, line[0], ended.State(), others,
		held.Blocked())
	if over != nil {
		return over
	}
	return exitOfChild(ended)
}

// exitOfChild returns the exit code of a command as an error, nil for 0.
func exitOfChild(ended child) error {
	if code := codeOf(ended.State()); code != 0 {
		return &commandExit{code}
	}
	return nil
}

// command returns the command of a command line, not started yet.
func (c *sessionExec) command(path string, line []string, directory string) *exec.Cmd {
	return &exec.Cmd{
		Path:        path,
		Args:        line,
		Dir:         directory,
		Stdin:       c.Stdin,
		Stdout:      c.Stdout,
		Stderr:      c.Stderr,
		SysProcAttr: bound(),
	}
}

// runBelow runs a command of the session to which this process belongs, below its supervisor: what that gives this
// process, and keeps from it, holds for the command as well.
func (c *sessionExec) runBelow(path string, line []string) error {
	directory := c.directory
	if directory != "" {
		var err error
		if directory, err = existing(directory); err != nil {
			return err
		}
	}
	command := c.command(path, line, directory)
	c.answered = true
	ended, err := supervise(func() (child, error) { return unconfined{command}, command.Start() }, nil, nil)
	if ended == nil {
		return notRunnable(line[0], err)
	}
	return exitOfChild(ended)
}

// credential returns the secret of the session: that of this process, if it belongs to the session. The session reads
// the other fields itself, after its first heartbeat.
func (c *sessionExec) credential(ctx context.Context, server *client.Client, session string) (wire.Credential, error) {
	if c.sessionID() != session {
		given, err := server.Credential(ctx, session)
		return given, c.onlyItself(session, err)
	}
	return wire.Credential{SessionID: session, Token: c.Getenv(wire.EnvToken)}, nil
}

// onlyItself says what a session can do that may not run a command as another one.
func (c *sessionExec) onlyItself(session string, err error) error {
	var said *client.Error
	if !c.isSession() || !errors.As(err, &said) || said.Status != http.StatusForbidden {
		return err
	}
	if said.Rule != "session:spawn" {
		return err
	}
	if said.Denied() == nil { // an orchestrator that did not spawn it
		other := *said
		other.Next = "run the command without `maestro session exec` only if it is to act as your session; if a " +
			"session of yours spawned it, end it with `maestro session kill " + session + "`, and give its tasks to " +
			"a session of your own with `maestro session spawn --like " + session + " --task-ids <taskIds>`; " +
			"otherwise ask the user with `maestro report needs-input \"<question>\"`"
		return &other
	}
	return &failure.Error{
		Err:     err,
		Code:    said.Code,
		Message: "Session '" + c.sessionID() + "', to which this process belongs, runs commands only as itself",
		Why:     "the secret of another session is for the user, and for the orchestrator that spawned it",
		Next:    "run the command without `maestro session exec`: it acts as your session",
	}
}

// runsIn returns the directory in which the command of a session runs; "" for the current one. beats acts as the
// session, which may read its own manifest.
func (c *sessionExec) runsIn(ctx context.Context, beats *client.Client, session string) (directory string, err error) {
	if directory = c.directory; directory == "" && session != c.sessionID() {
		if directory, err = directoryOf(ctx, beats, session); err != nil {
			return "", err
		}
		if directory != "" && !filepath.IsAbs(directory) { // it is not known what it is relative to
			return "", failure.Usage("The session's working directory %s is not an absolute path",
				safetext.Quoted(directory)).
				WithNext("name the directory with --working-directory; `maestro project update <projectId> " +
					"--working-dir <path>` corrects that of a project")
		}
	}
	if directory == "" {
		return "", nil
	}
	return existing(directory)
}

// existing returns the absolute path of a directory of this machine.
func existing(directory string) (string, error) {
	directory, err := filepath.Abs(directory)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(directory)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", &failure.Error{
			Code:    failure.NotFound,
			Message: "The working directory " + safetext.Quoted(directory) + " does not exist on this machine",
			Next:    "create it, or name another one with --working-directory",
		}
	case err != nil:
		return "", Unreadable(directory, err)
	case !info.IsDir():
		return "", failure.Usage("The working directory %s is not a directory", safetext.Quoted(directory)).
			WithNext("name another one with --working-directory")
	}
	return directory, nil
}

// directoryOf returns the working directory of a session, "" if it has none.
func directoryOf(ctx context.Context, beats *client.Client, session string) (string, error) {
	m, err := manifestAs(ctx, beats, session)
	switch {
	case err != nil:
		return "", &failure.Error{
			Err:     err,
			Code:    failure.NotFound,
			Message: "The manifest of session '" + session + "' cannot be read, so its working directory is not known",
			Why:     err.Error(),
			Next:    "name the directory with --working-directory",
		}
	case m == nil:
		return "", nil
	}
	return m.Session.WorkingDirectory, nil
}

// environmentOf returns the environment of the command: everything of this process's except Maestro's variables, then
// what a user gave the session, then the session's own. The home and the workspace are the machine's; a command that
// reaches the server through a socket needs no home.
func environmentOf(own []string, directory string, given, session map[string]string) []string {
	env := slices.DeleteFunc(slices.Clone(own), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return strings.HasPrefix(name, "MAESTRO_") &&
			(session[wire.EnvSocket] != "" || name != "MAESTRO_HOME" && name != wire.EnvWorkspace)
	})
	if directory != "" {
		env = append(env, "PWD="+directory)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		env = append(env, name+"="+given[name])
	}
	for _, name := range slices.Sorted(maps.Keys(session)) {
		if session[name] != "" {
			env = append(env, name+"="+session[name])
		}
	}
	return env
}

// sessionOver says that the session ended while its command was running.
type sessionOver struct{ why string }

func (e *sessionOver) Error() string { return e.why }

// ended explains why no command of the session may run any more.
func (c *sessionExec) ended(session string, err error) error {
	var over *sessionOver
	if !errors.As(err, &over) {
		return err
	}
	next := "see `maestro session info " + session + "`; to go on, spawn another session"
	if c.sessionID() == session {
		next = commands.NextAfterEnd
	}
	return &failure.Error{
		Status:  http.StatusForbidden,
		Code:    "SESSION_ENDED",
		Message: "Session '" + session + "' has ended, and its command with it",
		Why:     over.why,
		Next:    next,
	}
}

// whyOver says how the session ended.
func (c *sessionExec) whyOver(ctx context.Context, beats *client.Client, session string) string {
	x, err := beats.Session(ctx, session)
	if err != nil {
		return "the server says that it has ended"
	}
	return "its status is " + string(x.Status) + Prefixed(": ", x.EndReason)
}

// markRunning notes that a command of a session runs on this machine, so that the end of another one is not taken
// for the session's; nil if there is no home to note it in.
func markRunning(a *Run, session string) *home.RunningCommand {
	h := a.openHome()
	if h == nil {
		return nil
	}
	defer func() { _ = h.Close() }()
	running, err := h.MarkRunning(session)
	if err != nil {
		return nil
	}
	return running
}

// notRunnable returns the error for a command that does not exist.
func notRunnable(command string, err error) *failure.Error {
	f := &failure.Error{
		Code:    "NO_COMMAND",
		Message: "The command " + safetext.Quoted(command) + " cannot be run",
		Err:     &commandExit{exitNotRunnable},
		Why:     err.Error(),
		Next:    "check its name and PATH",
	}
	var failed *preflight.Failure
	if errors.As(preflight.Shown(err), &failed) {
		f.Message, f.Why, f.Next = failed.Message, "", failed.Fix
		return f
	}
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		f.Message, f.Why, f.Err = "There is no command "+safetext.Quoted(command), "", &commandExit{exitNotThere}
	}
	return f
}

// commandExit is the exit code of a command that maestro ran. It becomes maestro's own.
type commandExit struct{ code int }

func (e *commandExit) Error() string { return fmt.Sprintf("exit code %d", e.code) }
