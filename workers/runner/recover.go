package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"maestro/api/client"
	"maestro/commands"
	"maestro/internal/home"
	"maestro/service/wire"
	"maestro/workers/processes"
	"maestro/workers/supervisor"
)

// recover records the exit of a run whose supervisor is gone, and ends what is left of its agent.
func (r *Runner) recover(ctx context.Context, x wire.RunnerSession) {
	exit := supervisor.Exit{
		Reason:       "its supervisor ended without a record: it was killed, or the machine was restarted",
		Conversation: x.Conversation,
	}
	if forced, ok := r.forced[runOf(x)]; ok {
		exit.Reason = forced
	}
	saved, err := supervisor.ReadSaved(r.Home, x.ID)
	if errors.Is(err, supervisor.ErrUnknown) {
		saved, err = r.unknown(x, err), nil
	}
	if err == nil && saved.Run == x.Run {
		if saved.Reported {
			return // the next answer of the server says so
		}
		r.clear(ctx, x.ID, saved.Socket)
		if !r.clearGit(ctx, x, saved) {
			return // the exit would end the run for the server before the rest of it is told
		}
		if saved.Exit != nil {
			exit = *saved.Exit
		} else if saved.Conversation != "" {
			exit.Conversation = saved.Conversation
		}
	}
	r.exited(ctx, x, exit)
}

// unknown sets aside what a supervisor saved that cannot be read, and returns what is known of the run instead: that it
// began. It is over: a run is not launched twice.
func (r *Runner) unknown(x wire.RunnerSession, why error) supervisor.Saved {
	r.Logger.Error("what is known of a run cannot be read; the run is ended", "session", x.ID, "run", x.Run, "why", why)
	saved := supervisor.Saved{
		Run:          x.Run,
		Runner:       r.Name,
		Conversation: x.Conversation,
		Exit: &supervisor.Exit{
			Reason:       "its supervisor is gone, and what it saved cannot be read: " + why.Error(),
			Conversation: x.Conversation,
		},
		Undone: []supervisor.Undone{{
			Path: cmp.Or(x.Directory, "the working directory"),
			Why:  supervisor.NotRestored(why),
		}},
	}
	if workspaces, err := filepath.EvalSymlinks(r.Supervisor.Workspaces); err == nil && r.Supervisor.Workspaces != "" {
		saved.Socket = supervisor.SocketPath(workspaces, x.ID) // by which what is left of the agent is found
	}
	content, err := json.Marshal(saved)
	var files *home.RunFiles
	if err == nil {
		files, err = r.Home.TakeRun(x.ID)
	}
	if err == nil {
		err = errors.Join(files.SetAside(content), files.Close())
	}
	if err != nil {
		r.Logger.Error("what is known of a run is not set aside", "session", x.ID, "run", x.Run, "why", err)
	}
	return saved
}

// clear kills the processes that an agent left behind. It says so once, and what it could not end.
func (r *Runner) clear(ctx context.Context, session, socket string) {
	if socket == "" {
		return // none was started
	}
	var left []int
	for attempt := range int(leavesWithin / leavesEvery) {
		if left = processes.With(wire.EnvSocket + "=" + socket); len(left) == 0 {
			if err := os.RemoveAll(filepath.Dir(socket)); err != nil { // it holds the socket alone
				r.Logger.Warn("the socket of an agent is left", "session", session, "why", err)
			}
			return
		}
		if attempt == 0 {
			r.Logger.Warn("processes of an agent without a supervisor are ended", "session", session, "pids", left)
		}
		processes.Kill(left)
		select {
		case <-r.After(leavesEvery):
		case <-ctx.Done():
			return
		}
	}
	r.Logger.Error("processes of an agent could not be ended; end them yourself", "session", session, "pids", left)
}

// clearGit undoes what an agent left in the repository of its target, once nothing of it runs any more. The next one
// who uses git there may be its user. It reports false while the server cannot be told: what was undone is in the home
// until then.
func (r *Runner) clearGit(ctx context.Context, x wire.RunnerSession, saved supervisor.Saved) (told bool) {
	undone, err := saved.RestoreGit(ctx)
	if err != nil { // the first one, so that it is kept
		undone = slices.Insert(undone, 0, supervisor.Undone{Path: saved.Git, Why: supervisor.NotRestored(err)})
	}
	before, more := len(saved.Undone), 0
	for _, one := range undone {
		if slices.Contains(saved.Undone, one) {
			continue
		}
		r.Logger.Warn("an agent led git elsewhere", "session", x.ID, "path", one.Path, "why", one.Why)
		if len(saved.Undone) < mostUndone-1 {
			saved.Undone = append(saved.Undone, one)
		} else {
			more++
		}
	}
	if more > 0 && len(saved.Undone) < mostUndone {
		rest := fmt.Sprintf("%d more: see the server's log", more)
		saved.Undone = append(saved.Undone, supervisor.Undone{Path: saved.Git, Why: rest})
	}
	if len(saved.Undone) > before {
		if err := r.save(x.ID, saved); err != nil {
			r.Logger.Warn("what was undone of an agent's is not kept", "session", x.ID, "why", err)
		}
	}
	for i, one := range saved.Undone {
		_, err := r.Server.Do(ctx, "sandbox:blocked", &commands.BlockCommand{
			SessionID: x.ID,
			Run:       x.Run,
			Tool:      "git",
			Command:   one.Path,
			Reason:    one.Why,
		}, client.Options{Key: fmt.Sprintf("%s/git/%d", runOf(x), i)})
		if client.NotNow(err) {
			return false
		}
		if err != nil {
			r.Logger.Warn("what was undone is not on the timeline of the session", "session", x.ID, "path", one.Path,
				"why", err)
		}
	}
	return true
}

// mostUndone bounds what is kept of what was undone: the file of a run is small. The last entry counts the rest.
const mostUndone = 32

// save replaces what the gone supervisor of a session saved.
func (r *Runner) save(session string, saved supervisor.Saved) error {
	content, err := json.Marshal(saved)
	if err != nil {
		return err
	}
	files, err := r.Home.TakeRun(session)
	if err != nil {
		return err
	}
	return errors.Join(files.Save(content), files.Close())
}

// exited records how a run ended.
func (r *Runner) exited(ctx context.Context, x wire.RunnerSession, exit supervisor.Exit) {
	_, err := r.Server.Do(ctx, "session:exited", exit.Command(x.ID, x.Run),
		client.Options{Key: supervisor.ExitKey(x.ID, x.Run)})
	if err == nil {
		delete(r.forced, runOf(x))
		r.Logger.Info("the exit of an agent is recorded", "session", x.ID, "run", x.Run, "why", exit.Reason)
		return
	}
	level := slog.LevelWarn
	var said *client.Error
	if errors.As(err, &said) && said.Status == http.StatusConflict {
		level = slog.LevelInfo // its supervisor was faster
	}
	r.Logger.Log(ctx, level, "the exit of an agent is not recorded", "session", x.ID, "run", x.Run, "why", err)
}
