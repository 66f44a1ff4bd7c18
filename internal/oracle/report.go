package oracle

import "slices"

// says maps each kind of report to what it says about its tasks (docs/spec/003-manifest-schema.md, "Status Types").
var says = map[string]string{
	"progress": "working", "complete": completed, "blocked": "blocked", "error": "failed", "needs-input": "needs_input",
}

type sessionReported struct {
	SessionID        string   `json:"sessionId"`
	Kind             string   `json:"kind"`
	Message          string   `json:"message"`
	TaskIDs          []string `json:"taskIds"`
	SessionCompleted bool     `json:"sessionCompleted"`
	Late             bool     `json:"late"`
	AfterDone        bool     `json:"afterDone"`
	InputID          string   `json:"inputId"`
	Options          []string `json:"options"`

	Blobs map[string]string `json:"blobs"`
}

func (f *sessionReported) about() (kind, id string) { return "session", f.SessionID }
func (f *sessionReported) commands() []string       { return []string{"report:" + f.Kind} }

func (f *sessionReported) judge(c *trial) {
	c.own(f.SessionID)
	s := c.aSession(f.SessionID)
	if says[f.Kind] == "" {
		c.fault(ruleReport, "%q is not a kind of report", f.Kind)
	}
	if s != nil {
		f.late(c, s)
		f.completes(c, s)
		after := f.Kind == "progress" && s.status == completed && s.ended == "" && c.thirdOn()
		switch {
		case after && !f.AfterDone:
			c.fault(ruleReport, "session %s had reported that it is done, but afterDone is missing", s.id)
		case !after && f.AfterDone:
			c.fault(ruleReport, "afterDone is set, but session %s had not reported that it is done", s.id)
		}
		for _, id := range f.TaskIDs {
			f.task(c, s, id)
		}
	}
	if !f.Late {
		c.spoken(f.TaskIDs)
	}
	f.asks(c)
}

func (f *sessionReported) late(c *trial, s *session) {
	switch {
	case f.Late && s.ended == "":
		c.fault(ruleLate, "it is marked late, but session %s had not ended", s.id)
	case !f.Late && s.ended != "":
		c.fault(ruleLate, "session %s had ended (%s), but the report is not marked late", s.id, s.ended)
	}
	if f.Late && s.ended != "" && c.thirdOn() {
		f.kept(c, s)
	}
	if f.Late && (f.SessionCompleted || f.InputID != "") {
		c.fault(ruleLate, "a late report may not complete its session or open a question")
	}
}

// maxLate is the maximum number of reports that a session delivers after its end, maxLateBytes their maximum total
// length.
const (
	maxLate      = 1000
	maxLateBytes = 262_144
)

// size is the counted size of a late report, in bytes. An event does not give the length of a text among the blobs: it
// counts as 64 KiB.
func (f *sessionReported) size() int {
	size := len(f.Message)
	if f.Blobs["message"] != "" {
		size = 65_536
	}
	for _, text := range slices.Concat(f.TaskIDs, f.Options) {
		size += len(text)
	}
	return size
}

// kept judges that a late report is from the lifetime of its session and from before its end, and is within the limits.
// The rules require it since version 3.
func (f *sessionReported) kept(c *trial, s *session) {
	said := c.event.OccurredAt
	switch {
	case said.IsZero():
		c.fault(ruleLate, "it came after the end of session %s, but has no occurredat", s.id)
	case said.Before(s.born):
		c.fault(ruleLate, "it was written at %s, before session %s was created at %s", stamp(said), s.id, stamp(s.born))
	case said.After(s.endedAt):
		c.fault(ruleLate, "it was written at %s, after session %s had ended at %s", stamp(said), s.id, stamp(s.endedAt))
	case s.late >= maxLate:
		c.fault(ruleLimit, "session %s had already delivered %d reports after its end", s.id, s.late)
	case s.lateBytes+f.size() > maxLateBytes:
		c.fault(ruleLimit,
			"session %s had already delivered %d bytes of reports after its end, and this one has %d", s.id,
			s.lateBytes, f.size())
	}
}

// completes judges that the report completes the session exactly if it says complete and names no tasks.
func (f *sessionReported) completes(c *trial, s *session) {
	whole := f.Kind == "complete" && len(f.TaskIDs) == 0
	if f.SessionCompleted && !whole {
		c.fault(ruleReport, "a report of kind %s on %d tasks may not complete the session", f.Kind, len(f.TaskIDs))
	}
	if whole && !f.SessionCompleted && !f.Late && !s.saidDone && s.ended == "" {
		c.fault(ruleReport, "a report of kind complete without tasks must complete the session")
	}
}

// task judges that the session may report on a task.
func (f *sessionReported) task(c *trial, s *session, id string) {
	t := c.tasks[id]
	if t == nil || t.deleted && !f.Late {
		c.fault(ruleExists, "task %q does not exist", id)
		return
	}
	if !c.mayReport(s, t) {
		c.fault(ruleReportTasks, "session %s may not report on task %s", s.id, id)
	}
}

func (c *trial) mayReport(s *session, t *task) bool {
	if s.letter == "O" {
		p := c.projects[t.project]
		return t.project == s.project || p != nil && p.creator == s.id
	}
	own := c.above(t.id, func(id string) bool { return slices.Contains(s.tasks, id) })
	return t.project == s.project && (own || t.creator == s.id || s.held[t.id])
}

// asks judges the question that the report opens.
func (f *sessionReported) asks(c *trial) {
	if f.Kind != "needs-input" && (f.InputID != "" || len(f.Options) > 0) {
		c.fault(ruleReport, "a report of kind %s may not open a question", f.Kind)
	}
	if f.InputID == "" {
		return
	}
	if c.questions[f.InputID] != nil {
		c.fault(ruleQuestion, "question %s already exists", f.InputID)
	}
}

func (f *sessionReported) fold(c *trial) {
	s := c.sessions[f.SessionID]
	if s == nil {
		return
	}
	if f.Late {
		s.late++
		s.lateBytes += f.size()
		return
	}
	for _, id := range f.TaskIDs {
		if !f.AfterDone { // progress of a session that is done changes nothing
			c.tasks[id].say(s.id, says[f.Kind], c.sequence)
		}
	}
	s.saidDone = s.saidDone || f.SessionCompleted
	if f.Kind == "complete" && len(f.TaskIDs) == 0 {
		s.status = completed
	}
	if f.InputID != "" {
		c.questions[f.InputID] = &question{
			project: c.event.Project,
			session: s.id,
			options: f.Options,
			tasks:   f.TaskIDs,
			asked:   c.event.ID,
			text:    f.Message,
		}
		c.order.questions = append(c.order.questions, f.InputID)
	}
}
