package oracle

import (
	"slices"
	"strings"
	"time"
)

// terminal is the runner that launches an agent by hand; it may claim any session that nobody has.
const terminal = "terminal"

// maxOutput is the maximum length of what a runner says of an agent, in bytes.
const maxOutput = 4 << 10

// maxUsed is the maximum of each number of one use.
const maxUsed = 1_000_000_000_000

// run is the last launch of a session's agent (docs/contract.md, "Runs").
type run struct {
	number       int
	runner, host string
	exited       bool
	// resumed: the next run may begin.
	resumed bool
	// conversation is the agent's, of this run or an earlier one.
	conversation string
	// stuck is why it looks stuck, "" if it does not.
	stuck, detail string
	since         int64
	// claim and resume are the ids of the events that began it, and after which the next may begin.
	claim, resume string
}

func (s *session) nextRun() int {
	if s.run == nil {
		return 1
	}
	return s.run.number + 1
}

// claimed reports whether a runner has the session.
func (s *session) claimed() bool { return s.run != nil && !s.run.resumed && !s.waits() }

// waits reports whether its agent ended while the session waits for an answer.
func (s *session) waits() bool {
	return s.ended == "" && s.run != nil && s.run.exited && !s.run.resumed
}

func (s *session) mayClaim(runner string) bool {
	return runner == terminal || s.runner == runner || s.run != nil && s.run.runner == runner
}

// waitsForAnswer reports whether a session has an open question, or an answer that it has not received.
func (j *Judge) waitsForAnswer(id string) bool {
	for _, q := range j.questions {
		if q.session == id && !q.delivered {
			return true
		}
	}
	return false
}

// lastRun judges that a runner speaks of the last run of a session, which it claimed.
func (c *trial) lastRun(id string, number int) (*session, *run) {
	s := c.aSession(id)
	if s == nil {
		return nil, nil
	}
	c.notDeleted(s)
	switch {
	case s.run == nil || s.run.number != number:
		c.fault(ruleRun, "run %d is not the last one of session %s", number, id)
	case s.run.runner != c.by.id:
		c.fault(ruleRun, "runner %s speaks of session %s, which runner %s claimed", c.by.id, id, s.run.runner)
	default:
		return s, s.run
	}
	return nil, nil
}

// presentRun is lastRun for a run that goes on.
func (c *trial) presentRun(id string, number int) (*session, *run) {
	s, r := c.lastRun(id, number)
	if r == nil {
		return nil, nil
	}
	switch {
	case s.ended != "":
		c.fault(ruleEnded, "session %s had already ended (%s)", id, s.ended)
	case r.exited || r.resumed:
		c.fault(ruleRun, "run %d of session %s is over", number, id)
	default:
		return s, r
	}
	return nil, nil
}

// short judges the length of what a runner says of an agent.
func (c *trial) short(texts ...string) {
	for _, text := range texts {
		if len(text) > maxOutput {
			c.fault(ruleSession, "a text of a runner has %d bytes; the limit is %d", len(text), maxOutput)
		}
	}
}

type sessionClaimed struct {
	SessionID string `json:"sessionId"`
	Runner    string `json:"runner"`
	Run       int    `json:"run"`
	Host      string `json:"host"`
	Resumes   bool   `json:"resumes"`
}

func (f *sessionClaimed) about() (kind, id string) { return "session", f.SessionID }
func (f *sessionClaimed) commands() []string       { return []string{"session:claim"} }

func (f *sessionClaimed) judge(c *trial) {
	s := c.aLiveSession(f.SessionID)
	switch {
	case s == nil, s.ended != "":
		return
	case f.Runner != c.by.id:
		c.fault(ruleRun, "runner %s claims for runner %s", c.by.id, f.Runner)
	case s.claimed():
		c.fault(ruleRun, "session %s is claimed by runner %s", s.id, s.run.runner)
	case s.isDone():
		c.fault(ruleRun, "session %s had reported that it is done", s.id)
	case !s.mayClaim(f.Runner):
		c.fault(ruleRun, "session %s is assigned to runner %q, not to %s", s.id, s.runner, f.Runner)
	case f.Run != s.nextRun():
		c.fault(ruleRun, "it begins run %d, and the next one is %d", f.Run, s.nextRun())
	}
	if resumes := s.run != nil && s.run.conversation != ""; f.Resumes != resumes {
		c.fault(ruleRun, "it says %t of whether an earlier run left a conversation, which is %t", f.Resumes, resumes)
	}
}

func (f *sessionClaimed) fold(c *trial) {
	s := c.sessions[f.SessionID]
	if s == nil {
		return
	}
	begun := &run{
		number: f.Run,
		runner: f.Runner,
		host:   f.Host,
		claim:  c.event.ID,
	}
	if s.run != nil {
		begun.conversation = s.run.conversation
	}
	s.run = begun
}

type sessionExited struct {
	SessionID    string `json:"sessionId"`
	Run          int    `json:"run"`
	ExitCode     *int   `json:"exitCode"`
	Signal       string `json:"signal"`
	Status       string `json:"status"`
	LastOutput   string `json:"lastOutput"`
	Conversation string `json:"conversation"`
}

func (f *sessionExited) about() (kind, id string) { return "session", f.SessionID }
func (f *sessionExited) commands() []string       { return []string{"session:exited"} }

func (f *sessionExited) judge(c *trial) {
	s, r := c.lastRun(f.SessionID, f.Run)
	if r == nil {
		return
	}
	c.short(f.LastOutput)
	if r.exited || r.resumed {
		c.fault(ruleRun, "run %d of session %s is over", f.Run, s.id)
	}
	if status := f.ends(c, s); f.Status != status {
		c.fault(ruleRun, "it ends session %s as %q, expected %q", s.id, f.Status, status)
	}
}

// ends returns how the exit ends the session: completed if it had said so, otherwise failed, except that a session
// which waits for an answer goes on after an agent that ended as it should; "" if it does not end it.
func (f *sessionExited) ends(c *trial, s *session) string {
	switch {
	case s.ended != "":
		return ""
	case s.status == completed:
		return completed
	case f.ExitCode != nil && *f.ExitCode == 0 && f.Signal == "" && c.waitsForAnswer(s.id):
		return ""
	}
	return endFailed
}

func (f *sessionExited) fold(c *trial) {
	s := c.sessions[f.SessionID]
	if s == nil || s.run == nil {
		return
	}
	r := *s.run
	r.exited, r.stuck, r.detail, r.since = true, "", "", 0
	if f.Conversation != "" {
		r.conversation = f.Conversation
	}
	s.run = &r
	if f.Status != "" && s.ended == "" {
		s.end(c, f.Status)
	}
}

type sessionUsed struct {
	SessionID string `json:"sessionId"`
	Run       int    `json:"run"`
	used
}

// used are the numbers of a use.
type used struct {
	Turns           int64 `json:"turns"`
	InputTokens     int64 `json:"inputTokens"`
	CachedTokens    int64 `json:"cachedTokens"`
	OutputTokens    int64 `json:"outputTokens"`
	ReasoningTokens int64 `json:"reasoningTokens"`
	CostMicros      int64 `json:"costMicros"`
}

// valid reports whether no number is negative or too large, and not all are 0.
func (u used) valid() bool {
	all := []int64{u.Turns, u.InputTokens, u.CachedTokens, u.OutputTokens, u.ReasoningTokens, u.CostMicros}
	return slices.Min(all) >= 0 && slices.Max(all) > 0 && slices.Max(all) <= maxUsed
}

func (f *sessionUsed) about() (kind, id string) { return "session", f.SessionID }
func (f *sessionUsed) commands() []string       { return []string{"session:usage"} }

func (f *sessionUsed) judge(c *trial) {
	c.lastRun(f.SessionID, f.Run)
	if !f.valid() {
		c.fault(ruleSession, "it says of nothing that it was used, or a number is out of bounds: %+v", f.used)
	}
}

func (f *sessionUsed) fold(*trial) {}

type sandboxBlocked struct {
	SessionID string `json:"sessionId"`
	Run       int    `json:"run"`
	Command   string `json:"command"`
	Reason    string `json:"reason"`
}

func (f *sandboxBlocked) about() (kind, id string) { return "session", f.SessionID }
func (f *sandboxBlocked) commands() []string       { return []string{"sandbox:blocked"} }

func (f *sandboxBlocked) judge(c *trial) {
	c.lastRun(f.SessionID, f.Run)
	if f.Command == "" || f.Reason == "" {
		c.fault(ruleSession, "a blocked command needs the command and a reason")
	}
	c.short(f.Command, f.Reason)
}

func (f *sandboxBlocked) fold(*trial) {}

type preflightFailed struct {
	SessionID string `json:"sessionId"`
	Run       int    `json:"run"`
	Check     string `json:"check"`
	Path      string `json:"path"`
	Message   string `json:"message"`
	Fix       string `json:"fix"`
	InputID   string `json:"inputId"`
}

func (f *preflightFailed) about() (kind, id string) { return "session", f.SessionID }
func (f *preflightFailed) commands() []string       { return []string{"preflight:failed"} }

// text is the question: what is wrong, where unless that is said, and what repairs it, each a sentence on its line.
func (f *preflightFailed) text() string {
	lines := []string{f.Message}
	if f.Path != "" && !strings.Contains(f.Message, f.Path) {
		lines = append(lines, "The path is "+f.Path)
	}
	if f.Fix != "" {
		lines = append(lines, "What to do: "+f.Fix)
	}
	for i, line := range lines {
		line = strings.TrimRight(line, " \n")
		if last := line[max(0, len(line)-1):]; last != "" && last != "." && last != "!" && last != "?" {
			line += "."
		}
		lines[i] = line
	}
	return strings.Join(lines, "\n")
}

func (f *preflightFailed) judge(c *trial) {
	c.presentRun(f.SessionID, f.Run)
	if !isID(f.Check) || f.Message == "" || f.InputID == "" {
		c.fault(ruleSession, "a failed check needs its id, a message and a question")
	}
	c.short(f.Message, f.Fix)
	if c.questions[f.InputID] != nil {
		c.fault(ruleQuestion, "question %s already exists", f.InputID)
	}
	if c.isOpen(f.SessionID, f.text()) {
		c.fault(ruleQuestion, "session %s has asked that already, and has no answer", f.SessionID)
	}
}

// isOpen reports whether a session has asked a question that has no answer yet.
func (j *Judge) isOpen(session, text string) bool {
	for _, q := range j.questions {
		if q.session == session && !q.answered && q.text == text && !j.isPast(q) {
			return true
		}
	}
	return false
}

// isPast reports whether a question was about a run after which the session was resumed, or runs again.
func (j *Judge) isPast(q *question) bool {
	s := j.sessions[q.session]
	return q.run != 0 && s != nil && s.run != nil && (s.run.number != q.run || s.run.resumed)
}

func (f *preflightFailed) fold(c *trial) {
	c.questions[f.InputID] = &question{
		project: c.event.Project,
		session: f.SessionID,
		options: []string{"retry", "give up"},
		asked:   c.event.ID,
		text:    f.text(),
		run:     f.Run,
	}
	c.order.questions = append(c.order.questions, f.InputID)
}

type sessionStuck struct {
	SessionID string `json:"sessionId"`
	Run       int    `json:"run"`
	Kind      string `json:"kind"`
	Detail    string `json:"detail"`
	Since     int64  `json:"since"`
}

func (f *sessionStuck) about() (kind, id string) { return "session", f.SessionID }
func (f *sessionStuck) commands() []string       { return []string{"session:stuck"} }

func (f *sessionStuck) judge(c *trial) {
	if _, r := c.presentRun(f.SessionID, f.Run); r != nil && r.stuck == "" && f.Kind == "" {
		c.fault(ruleRun, "run %d of session %s was not stuck", f.Run, f.SessionID)
	}
	if !slices.Contains([]string{"", "silent", "loop"}, f.Kind) || f.Since < 0 || f.Since > c.at() ||
		(f.Kind == "") != (f.Since == 0) {
		c.fault(ruleSession, "it is stuck as %q since %d", f.Kind, f.Since)
	}
	c.short(f.Detail)
}

func (f *sessionStuck) fold(c *trial) {
	if s := c.sessions[f.SessionID]; s != nil && s.run != nil {
		r := *s.run
		r.stuck, r.detail, r.since = f.Kind, f.Detail, f.Since
		s.run = &r
	}
}

type sessionResumed struct {
	SessionID  string `json:"sessionId"`
	Run        int    `json:"run"`
	Generation int    `json:"generation"`
	Deadline   int64  `json:"deadline"`
}

func (f *sessionResumed) about() (kind, id string) { return "session", f.SessionID }
func (f *sessionResumed) commands() []string       { return []string{"session:resume"} }

func (f *sessionResumed) judge(c *trial) {
	s := c.aSession(f.SessionID)
	if s == nil {
		return
	}
	c.spawner(s)
	c.notDeleted(s)
	switch {
	case s.run == nil:
		c.fault(ruleRun, "no runner has claimed session %s", s.id)
	case s.goesOn():
		c.fault(ruleRun, "run %d of session %s goes on, or it was resumed already", s.run.number, s.id)
	case !c.hasWork(s):
		c.fault(ruleRun, "session %s has nothing left to do", s.id)
	case f.Run != s.nextRun():
		c.fault(ruleRun, "it resumes session %s for run %d, and the next one is %d", s.id, f.Run, s.nextRun())
	case f.Generation != s.generation+1:
		c.fault(ruleRun, "the new secret has generation %d, expected %d", f.Generation, s.generation+1)
	}
	if limit := s.timeout; f.Deadline != 0 != (limit != 0) ||
		limit != 0 && f.Deadline != c.event.Time.Add(limit).UnixMilli() {
		c.fault(ruleTimeout, "the event gives deadline %d, and the session has %s from now on", f.Deadline, limit)
	}
}

// goesOn reports whether a session needs no resuming: its run goes on, or it waits for its next one.
func (s *session) goesOn() bool {
	return s.ended == "" && s.run != nil && (s.run.resumed || s.claimed() && !s.lost)
}

// hasWork reports whether a session has an open task, or pulls from a queue that exists.
func (j *Judge) hasWork(s *session) bool {
	if s.strategy == "queue" {
		return j.queues[s.queue] != nil
	}
	return slices.ContainsFunc(s.tasks, func(id string) bool {
		t := j.tasks[id]
		return t != nil && !t.deleted && t.status != completed && t.status != cancelled
	})
}

func (f *sessionResumed) fold(c *trial) {
	s := c.sessions[f.SessionID]
	if s == nil || s.run == nil {
		return
	}
	r := *s.run
	r.resumed, r.resume, r.stuck, r.detail, r.since = true, c.event.ID, "", "", 0
	s.run, s.generation = &r, f.Generation
	s.status, s.saidDone, s.lost, s.ended, s.endedAt, s.gone = spawning, false, false, "", time.Time{}, ""
	s.limited = c.event.Time
}

// causeOfRun returns the event that lets a runner claim the session, or the claim for everything else that it says.
func (s *session) causeOfRun(command string) string {
	switch {
	case command == "session:claim" && s.run != nil && s.run.resumed:
		return s.run.resume
	case command == "session:claim":
		return s.made
	case s.run != nil:
		return s.run.claim
	}
	return ""
}
