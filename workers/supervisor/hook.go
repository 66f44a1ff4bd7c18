package supervisor

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"maestro/commands"
	"maestro/internal/files"
	"maestro/internal/safetext"
	"maestro/service/wire"
	"maestro/workers/agent"
	"maestro/workers/sandbox"
	"maestro/workers/socket"
)

// maxPayload bounds what an agent's program says about a call; it holds whole files that are written.
const maxPayload = 64 << 20

// maxShown bounds what a record shows of a command.
const maxShown = 4<<10 - len("…")

// The permission modes of a session (docs/spec/003-manifest-schema.md, "TypeScript Definition").
const (
	modeReadOnly    = "readOnly"
	modeInteractive = "interactive"
)

// judge decides about the tool calls of one run (docs/spec/001-agent-launch-and-sandbox.md, "Sandbox Constraints
// (Claude Only)").
type judge struct {
	run  int
	mode string
	dirs sandbox.Dirs
	// writable are directories besides the workspace, the target and /tmp in which the agent may write files.
	writable []string

	decisions *decisions
	mail      *mailbox
	// ask asks the user about a call, and returns whether it is allowed. patience is how long that may take.
	ask func(ctx context.Context, question string, patience time.Duration) (allowed bool, reason string)
	// blocked records a call that was denied; seen notes every call.
	blocked func(tool, command, reason string)
	seen    func(call agent.HookCall)
	now     func() time.Time

	mu       sync.Mutex
	patience time.Duration
	// subagents counts the agents that the agent started and waits for. Some programs do not say whose call it is.
	subagents int
}

// starts notes how the program of a launch calls its hook.
func (j *judge) starts(start *agent.Start) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.subagents, j.patience = 0, agent.AnswersWithin
	if start.Patience > 0 {
		j.patience = min(j.patience, start.Patience)
	}
}

// waitsFor returns how long the hook waits for a decision at most.
func (j *judge) waitsFor() time.Duration { return agent.HookClock(j.mode == modeInteractive) }

// delegates notes that an agent was started, or has ended, by the agent.
func (j *judge) delegates(call agent.HookCall, by int) {
	if call.Kind != agent.KindSubagent {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.subagents = max(0, j.subagents+by)
}

// alone reports whether a call is the agent's own.
func (j *judge) alone(call agent.HookCall) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return call.Agent != agent.Gemini || j.subagents == 0
}

// serve answers the hook of the agent's program. Whatever goes wrong denies the call.
func (j *judge) serve(w http.ResponseWriter, r *http.Request) {
	payload, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxPayload))
	var call agent.HookCall
	if err == nil {
		call, err = agent.ParseHook(payload)
	}
	if err != nil {
		j.answer(w, call.Denied("Maestro cannot read this call, so it is denied: "+err.Error()))
		return
	}
	if call.Tool == probeTool {
		j.answer(w, call.Denied("this is a probe"))
		return
	}
	if call.After {
		j.delegates(call, -1)
		j.allow(r.Context(), w, call)
		return
	}
	about := j.decisions.begin(call.Key)
	j.seen(call)
	began := j.now()
	made := j.decide(r.Context(), call)
	if made.Allowed && j.late(r, began) {
		made.Allowed, made.Reason = false, tooLate
	}
	made.At, made.Run, made.Agent, made.Tool = j.now(), j.run, call.Agent, call.Tool
	if made.Command = call.Command; made.Command == "" {
		made.Command = strings.Join(call.Paths, " ")
	}
	made.Command = short(made.Command)
	if err := j.decisions.record(about, made); err != nil {
		j.answer(w, call.Denied("Maestro cannot write its decision down, so the call is denied: "+err.Error()))
		return
	}
	if !made.Allowed {
		j.blocked(call.Tool, made.Command, made.Reason)
		j.answer(w, call.Denied("Maestro does not allow this: "+made.Reason))
		return
	}
	if !j.allow(r.Context(), w, call) { // it had been there just before
		made.Allowed, made.Reason = false, tooLate
		if err := j.decisions.withdraw(about, made); err != nil {
			j.decisions.logger.Warn("a decision that its hook did not get is recorded as allowed", "tool", made.Tool,
				"why", err)
		}
		j.blocked(call.Tool, made.Command, made.Reason)
		return
	}
	j.delegates(call, 1)
}

// tooLate is why a call is denied whose hook did not wait for the decision.
const tooLate = "the decision came too late: the hook had denied the call already"

// late reports whether a hook has denied a call by itself, since a request that was read at a time came: it is gone, or
// its own deadline has passed, which counts the time before its turn came.
func (j *judge) late(r *http.Request, read time.Time) bool {
	now := j.now()
	if r.Context().Err() != nil || now.Sub(read) > j.waitsFor() {
		return true
	}
	if own, err := time.Parse(time.RFC3339Nano, r.Header.Get(wire.HeaderDeadline)); err == nil && now.After(own) {
		return true
	}
	conn, ok := r.Context().Value(connKey{}).(*net.UnixConn)
	return ok && socket.Gone(conn)
}

// allow lets a call run, and gives the agent its mail where its program can. It reports whether the hook was there.
func (j *judge) allow(ctx context.Context, w http.ResponseWriter, call agent.HookCall) (got bool) {
	if _, can := call.Allowed("x"); !can || !j.alone(call) { // the mail waits for another call
		answer, _ := call.Allowed("")
		return j.answer(w, answer)
	}
	mail, handed := j.mail.take()
	answer, _ := call.Allowed(mail)
	got = j.answer(w, answer)
	handed(context.WithoutCancel(ctx), got)
	return got
}

// answer answers the hook, and reports whether the hook was there to take it.
func (j *judge) answer(w http.ResponseWriter, a agent.Answer) bool {
	w.Header().Set("Content-Type", "application/json")
	content, err := json.Marshal(wire.HookAnswer{Stdout: a.Stdout, Stderr: a.Stderr, ExitCode: a.ExitCode})
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError) // the hook denies then
		return false
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(content)))
	_, err = w.Write(content)
	return err == nil && http.NewResponseController(w).Flush() == nil // a hook that is gone denies
}

// decide judges a call.
func (j *judge) decide(ctx context.Context, call agent.HookCall) decision {
	if verdict := j.judged(call); !verdict.Allowed {
		return decision{Rule: string(verdict.Rule), Reason: verdict.Reason}
	}
	if j.mode != modeInteractive || harmless(call) {
		return decision{Allowed: true}
	}
	what := call.Command
	if what == "" {
		what = strings.Join(call.Paths, ", ")
	}
	j.mu.Lock()
	patience := j.patience
	j.mu.Unlock()
	allowed, reason := j.ask(ctx, fmt.Sprintf("May the agent use its tool %s?\n%s", call.Tool, short(what)), patience)
	return decision{Allowed: allowed, Rule: "ask", Reason: reason}
}

// harmless reports whether a call changes nothing but what the agent itself keeps, and Maestro's own records, for which
// Maestro asks for permission itself.
func harmless(call agent.HookCall) bool {
	switch call.Kind {
	case agent.KindRead, agent.KindNotes, agent.KindSubagent:
		return true
	case agent.KindShell:
		return ofMaestro(call.Command)
	case agent.KindEdit, agent.KindWeb, agent.KindOther:
	}
	return false
}

// ofMaestro reports whether a command line only runs maestro, with a command that the server decides about: one that
// runs a program, starts a server or writes a file is as harmful as what it runs or writes. An answer to a question may
// let another agent do what this one has to ask about.
func ofMaestro(line string) bool {
	words, literal := sandbox.Literal(line)
	if !literal || len(words) == 0 || words[0] != programName {
		return false
	}
	if words = words[1:]; len(words) > 0 && words[0] == "--json" {
		words = words[1:]
	}
	if slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(word, "--launch") }) {
		return false
	}
	for n := min(mostWords, len(words)); n > 0; n-- {
		id := strings.Join(words[:n], ":")
		if _, decided := commands.CurrentRules().Row(id); decided {
			return id != "manifest:generate" && (id == "input:wait" || !strings.HasPrefix(id, "input:"))
		}
	}
	return false
}

// mostWords is the number of words in the longest name of a command.
const mostWords = 3

// judged applies the rules of the sandbox.
func (j *judge) judged(call agent.HookCall) sandbox.Verdict {
	switch call.Kind {
	case agent.KindShell:
		dirs := j.dirs
		if filepath.IsAbs(call.Cwd) {
			dirs.Cwd = call.Cwd
		}
		if j.mode == modeReadOnly {
			dirs.Target = dirs.Workspace
			if dirs.Cwd == "" {
				dirs.Cwd = j.dirs.Target
			}
		}
		return sandbox.Judge(dirs, call.Command)
	case agent.KindEdit:
		return j.edits(call)
	case agent.KindOther:
		if j.mode == modeReadOnly {
			return sandbox.Verdict{
				Rule: sandbox.RuleOutside,
				Reason: fmt.Sprintf("this session may only read, and nobody here knows what the tool %s does. "+
					"Read with another tool, or say in your report what should be done with it.", call.Tool),
			}
		}
	case agent.KindRead, agent.KindWeb, agent.KindSubagent, agent.KindNotes:
	}
	return sandbox.Verdict{Allowed: true}
}

// edits judges a tool that changes files.
func (j *judge) edits(call agent.HookCall) sandbox.Verdict {
	within := slices.Concat(j.writable, []string{j.dirs.Workspace, "/tmp"})
	if j.mode != modeReadOnly {
		within = append(within, j.dirs.Target)
	}
	if len(call.Paths) == 0 {
		return sandbox.Verdict{
			Rule:   sandbox.RuleOutside,
			Reason: "it does not say which files it changes. Name them in the call.",
		}
	}
	for _, path := range call.Paths {
		if !filepath.IsAbs(path) {
			path = filepath.Join(call.Cwd, path)
		}
		path = filepath.Clean(path)
		if files.Within(path, j.dirs.MaestroHome) ||
			!slices.ContainsFunc(within, func(dir string) bool { return files.Within(path, dir) }) {
			next := "Write below " + j.dirs.Target + " instead."
			if j.mode == modeReadOnly {
				next = "This session may only read; say in your report what should change."
			}
			return sandbox.Verdict{
				Rule:   sandbox.RuleOutside,
				Reason: fmt.Sprintf("%s is outside of the directories that you may change. %s", path, next),
			}
		}
	}
	return sandbox.Verdict{Allowed: true}
}

// short cuts a text for a record.
func short(text string) string { return safetext.Shorten(text, maxShown) }
