package demo

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"maestro/workers/processes"
)

// actor is an agent that the server's runner launched.
type actor struct {
	name, session string
	// output is the file with what the agent prints.
	output string
	// signs are the signs that the story waits for; closed when the agent has ended.
	signs chan sign
	// holding is the sign of the first item that it holds.
	holding sign
	// cues counts the cues that it was given.
	cues int
	// over ends when the session has, killed says that it is meant to end badly.
	over   context.Context
	end    context.CancelFunc
	killed bool
}

// follow receives the signs of the agent of a session, until the session has ended.
func (d *demonstration) follow(ctx context.Context, name, session string) *actor {
	a := &actor{
		name:    name,
		session: session,
		output:  filepath.Join(d.workspaces, session, agentName+".jsonl"),
		signs:   make(chan sign, 8),
	}
	a.over, a.end = context.WithCancel(ctx)
	d.mu.Lock()
	d.actors[session] = a
	d.mu.Unlock()
	d.crew.Go(func() {
		defer close(a.signs)
		if err := d.listen(a); err != nil {
			d.fail(fmt.Errorf("the output of %s: %w", name, err))
		}
	})
	return a
}

// listen reads what an agent prints, and the rest of it once its session has ended.
func (d *demonstration) listen(a *actor) error {
	var out *os.File
	defer func() { _ = out.Close() }() // it was only read
	var rest []byte
	for last := false; ; {
		var err error
		if out == nil {
			if out, err = os.Open(a.output); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		if err == nil {
			more, err := io.ReadAll(out)
			if err != nil {
				return err
			}
			rest = append(rest, more...)
			if rest, err = d.signs(a, rest); err != nil {
				return err
			}
		}
		if last {
			return nil
		}
		select {
		case <-time.After(looks):
		case <-a.over.Done():
			last = true
		}
	}
}

// signs handles the whole lines of an agent's output, and returns what follows them.
func (d *demonstration) signs(a *actor, output []byte) (rest []byte, err error) {
	for {
		line, after, whole := bytes.Cut(output, []byte("\n"))
		if !whole {
			return output, nil
		}
		output = after
		var s sign
		if err := json.Unmarshal(line, &s); err != nil {
			return nil, fmt.Errorf("%w: %s", err, line)
		}
		switch s.Kind {
		case signAcknowledged:
			d.acknowledge(s.Events)
		case signTells:
			d.tell(a.name, "%s", s.Text)
		case signTakesOver:
			d.tell(a.name, "takes over “%s”", s.Title)
		case signAttempted:
			d.attempted(a.name, s.Attempts)
		case signHolds, signKept, signAsks, signFinished:
			select {
			case a.signs <- s:
			default: // nobody waits for its later items
			}
		}
	}
}

// attempted tells how an agent tried to become the user.
func (d *demonstration) attempted(name string, attempts []Attempt) {
	d.mu.Lock()
	d.evidence.Attempts = attempts
	d.mu.Unlock()
	for _, attempt := range attempts {
		switch {
		case attempt.Skipped:
			d.tell(name, "would become you, but does not try to: nothing holds it on this system (%s)", attempt.What)
		case attempt.Held:
			d.tell(name, "%s, and fails: %s", attempt.What, attempt.Said)
		default:
			d.tell(name, "%s, AND SUCCEEDS: %s", attempt.What, attempt.Said)
		}
	}
}

// await waits for a sign of an actor.
func (a *actor) await(ctx context.Context, kind signKind) (sign, error) {
	for {
		select {
		case s, ok := <-a.signs:
			switch {
			case !ok:
				return sign{}, cmp.Or(context.Cause(ctx), fmt.Errorf("%s ends without the sign %q", a.name, kind))
			case s.Kind == kind:
				return s, nil
			}
		case <-ctx.Done():
			return sign{}, context.Cause(ctx)
		}
	}
}

// cue gives an actor its cue.
func (d *demonstration) cue(a *actor) error {
	a.cues++
	return os.WriteFile(filepath.Join(d.target, cuesDir, cueFile(a.name, a.cues)), nil, 0o600)
}

// kill ends the agent's own process with SIGKILL.
func (d *demonstration) kill(a *actor) error {
	d.mu.Lock()
	a.killed = true
	d.mu.Unlock()
	pids := processes.With("MAESTRO_SESSION_ID=" + a.session)
	if len(pids) == 0 {
		return fmt.Errorf("the process of %s is not found", a.name)
	}
	processes.Kill(pids)
	return nil
}

// killSupervisor ends the process that supervises an agent with SIGKILL.
func (d *demonstration) killSupervisor(a *actor) error {
	d.mu.Lock()
	a.killed = true
	d.mu.Unlock()
	var run struct {
		PID int `json:"pid"`
	}
	content, err := os.ReadFile(filepath.Join(d.home, "sessions", a.session, "run.json"))
	if err == nil {
		err = json.Unmarshal(content, &run)
	}
	if err != nil {
		return err
	}
	process, err := os.FindProcess(run.PID)
	if err != nil {
		return err
	}
	return process.Kill()
}

// session is the part of a session that the demonstration reads.
type session struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Status    string          `json:"status"`
	EndReason string          `json:"endReason"`
	EndedAt   json.RawMessage `json:"endedAt"`
	Run       *struct {
		Layers   []string        `json:"layers"`
		ExitedAt json.RawMessage `json:"exitedAt"`
	} `json:"run"`
}

// over reports whether the session has ended, with its agent.
func (s *session) over() bool { return s.EndedAt != nil && s.Run != nil && s.Run.ExitedAt != nil }

// watchEvery is the time between two looks at the sessions.
const watchEvery = 250 * time.Millisecond

// watch looks at the sessions until ctx ends. It follows those that an orchestrator has spawned, and notices when all
// have ended. A session that fails and was not killed makes the demonstration fail.
func (d *demonstration) watch(ctx context.Context) {
	for {
		var sessions []session
		done, err := d.you.call(ctx, "session", "list", "--project", d.project, "--json")
		if err == nil && done.code == 0 { // without a server there is nothing to see
			sessions, err = readSessions(done.stdout)
			if err == nil {
				err = d.saw(ctx, sessions)
			}
		}
		if err != nil {
			d.fail(err)
			return
		}
		select {
		case <-time.After(watchEvery):
		case <-ctx.Done():
			return
		}
	}
}

func readSessions(answer []byte) ([]session, error) {
	var list struct {
		Data []session `json:"data"`
	}
	err := json.Unmarshal(answer, &list)
	return list.Data, err
}

// saw compares the sessions with the actors.
func (d *demonstration) saw(ctx context.Context, sessions []session) error {
	ended := 0
	for _, s := range sessions {
		d.mu.Lock()
		a, known := d.actors[s.ID]
		killed := known && a.killed
		d.mu.Unlock()
		if !known {
			a = d.follow(ctx, s.Name, s.ID)
		}
		if !s.over() {
			continue
		}
		ended++
		a.end()
		if s.Status != "completed" && !killed {
			problems, _ := os.ReadFile(strings.TrimSuffix(a.output, ".jsonl") + ".stderr.log")
			return fmt.Errorf("%s ends badly, as %s: %s\n%s", s.Name, s.Status, s.EndReason, problems)
		}
	}
	if ended >= workers+1+helpers && ended == len(sessions) {
		d.allEnded.Do(func() { close(d.ended) })
	}
	return nil
}
