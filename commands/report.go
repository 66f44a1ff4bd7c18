package commands

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"maestro/events"
	"maestro/internal/safetext"
	"maestro/projections"
)

// Report is an agent's report on its work. It changes the sessionStatus of the tasks it names, never a task's status
// (docs/spec/000-command-permissions.md, "Report vs Task Commands"; docs/spec/003-manifest-schema.md, "Status Types").
// Only sessions report. One that has ended may still deliver the reports it kept; these are late, and change no status.
type Report struct {
	ProjectRef
	// Kind comes from the command's id.
	Kind    events.ReportKind `json:"-"`
	Message string            `json:"message,omitempty" arg:"summary|reason|description|question" doc:"your words; required without taskIds"`
	TaskIDs []string          `json:"taskIds,omitempty" arg:"taskId" flag:"task <taskIds>" doc:"the tasks; the session as a whole if absent"`
	Options []string          `json:"options,omitempty" flag:"option \"<answer>\"…" doc:"an answer to choose from"`

	blobs events.Blobs
}

// reportIDs caches the ids of reports, so that no report allocates one.
var reportIDs = func() map[events.ReportKind]string {
	ids := map[events.ReportKind]string{}
	for _, kind := range []events.ReportKind{
		events.ReportProgress, events.ReportComplete, events.ReportBlocked, events.ReportError, events.ReportNeedsInput,
	} {
		ids[kind] = "report:" + string(kind)
	}
	return ids
}()

// ID implements Command.
func (x *Report) ID() string { return reportIDs[x.Kind] }

// Asks reports whether the report opens a question.
func (x *Report) Asks() bool { return x.Kind == events.ReportNeedsInput }

// Warnings implements Warner: a session that was lost and is back may not know that its item went to another, nor one
// at work that somebody else finished its item.
func (x *Report) Warnings(s *projections.State, data events.Data) []Warning {
	said, ok := data.(*events.SessionReported)
	if !ok || said.Late || len(said.TaskIDs) == 0 {
		return nil
	}
	session := s.Session(said.SessionID)
	if session == nil || session.LastItem == nil || s.Holds(session) != nil ||
		!slices.Contains(said.TaskIDs, session.LastItem.TaskID) {
		return nil
	}
	last := s.Item(session.ProjectID, session.LastItem.Queue, session.LastItem.TaskID)
	lost := lostItem(session, last)
	const stop = "stop working on it, and claim the next one with `maestro queue start`"
	switch {
	case lost != nil:
	case last.Status == events.ItemQuarantined:
		lost = &Refusal{
			Message: "the item of task " + last.TaskID + " is quarantined: it was started too often without an end",
			Next:    stop,
		}
	case last.FinishedBy != "":
		lost = &Refusal{
			Message: "the item of task " + last.TaskID + " is " + string(last.Status) + finishedBy(last),
			Next:    stop,
		}
	}
	if lost == nil {
		return nil
	}
	return []Warning{{
		Text:  lost.Message,
		Next:  []string{lost.Next},
		Tasks: []string{session.LastItem.TaskID},
	}}
}

func (x *Report) project(_ *projections.State, by Actor) string { return x.projectOr(by) }

func (x *Report) texts() (map[string]*string, *events.Blobs) {
	if len(x.Message) <= events.MaxText {
		return nil, nil
	}
	return map[string]*string{"message": &x.Message}, &x.blobs
}

// Decide implements Command.
func (x *Report) Decide(s *projections.State, c Call) (events.Data, error) {
	session := s.Session(c.By.Name)
	if c.By.Kind != ActorSession || session == nil {
		return nil, notAllowed(x.ID(), "only a session reports", "use the session's credential",
			"Command '%s' is not allowed for %s", x.ID(), c.By)
	}
	if c.Project != session.ProjectID {
		return nil, invalid("/project", "Session '%s' reports in its own project '%s'", session.ID, session.ProjectID)
	}
	if err := x.checkWords(); err != nil {
		return nil, err
	}
	tasks := unique(x.TaskIDs)
	late := session.Ended()
	if late && thirdOn(c.Rules) { // the session's end matters more than that of its tasks
		said := &events.SessionReported{
			Message: x.Message,
			TaskIDs: tasks,
			Blobs:   x.blobs,
			Options: x.Options,
		}
		if err := mayReportLate(s, session, said, c, x.ID()); err != nil {
			return nil, err
		}
	}
	g, within := graphOf(s, c), s.Within(session.TaskIDs)
	for _, id := range tasks {
		if err := mayReportOn(s, session, within, id, x.ID()); err != nil {
			return nil, err
		}
		if late {
			continue
		}
		if err := g.speaks(session.ID, s.Task(id)); err != nil {
			return nil, err
		}
	}
	if !late {
		if err := g.words("/taskIds", "what is said of the tasks of a report", tasks); err != nil {
			return nil, err
		}
	}
	reported := &events.SessionReported{
		SessionID:        session.ID,
		Kind:             x.Kind,
		Message:          x.Message,
		TaskIDs:          tasks,
		Late:             late,
		AfterDone:        x.afterDone(session, c),
		Blobs:            x.blobs,
		Options:          x.Options,
		SessionCompleted: x.Kind == events.ReportComplete && len(tasks) == 0 && !late,
	}
	if err := x.checkOptions(); err != nil {
		return nil, err
	}
	if x.Kind == events.ReportNeedsInput && x.Message != "" && !late && c.Rules != firstRules {
		reported.InputID = newID("input", c, func(id string) bool { return s.Input(id) != nil })
	}
	return reported, nil
}

// checkForm implements formed.
func (x *Report) checkForm() error { return cmp.Or(x.checkWords(), x.checkOptions()) }

func (x *Report) checkWords() error {
	if x.Message == "" && len(x.TaskIDs) == 0 {
		refusal := invalid("/message", "message is required")
		refusal.Next = "say it in a few words"
		return refusal
	}
	return cmp.Or(ValidText("/message", x.Message), validIDs("/taskIds", x.TaskIDs))
}

func (x *Report) checkOptions() error {
	if x.Kind != events.ReportNeedsInput {
		if len(x.Options) > 0 {
			return invalid("/options", "only a needs-input report has options")
		}
		return nil
	}
	if err := validOptions(x.Options); err != nil {
		return err
	}
	if x.Message == "" && len(x.Options) > 0 {
		return invalid("/message", "a question with options needs a text")
	}
	return nil
}

// afterDone reports whether it reports progress after its session said that it is done.
func (x *Report) afterDone(session *projections.Session, c Call) bool {
	return thirdOn(c.Rules) && x.Kind == events.ReportProgress && session.Status == events.SessionSaidDone
}

// reports returns the maker of reports of a kind.
func reports(kind events.ReportKind) *maker { return makerOfKind(&Report{Kind: kind}, (*Report).from) }

func (x *Report) from(e *events.Event, d *events.SessionReported) bool {
	same := d.Kind == x.Kind
	*x = Report{
		ProjectRef: inProject(e),
		Kind:       d.Kind,
		Message:    d.Message,
		TaskIDs:    d.TaskIDs,
		Options:    d.Options,
		blobs:      d.Blobs,
	}
	return same
}

// WhyOnlyLate says why a session that has ended writes no more.
const WhyOnlyLate = "a session that has ended changes nothing more; the server still accepts, and marks as late, " +
	"reports that its machine stored before the end because no server answered"

// NextAfterEnd tells a session what to do when a refusal shows that it has ended: a worker may not spawn another.
const NextAfterEnd = "stop; the user or the session that spawned this one decides what comes next"

// mayReportLate lets a session that has ended deliver what it kept before its end: the report says when it was said,
// which is neither before the session was created nor after its end, and a session may deliver only a limited number of
// reports and of bytes. The session itself states the time, so only the limits are enforceable.
func mayReportLate(
	s *projections.State, session *projections.Session, reported *events.SessionReported, c Call, rule string,
) error {
	bytes := projections.LateBytes(reported)
	switch {
	case c.OccurredAt.IsZero():
		return notAllowed(rule,
			WhyOnlyLate, NextAfterEnd, "%s", HasEnded(session))
	case c.OccurredAt.UnixMilli() < session.StartedAt:
		return notAllowed(rule,
			"the report says that it was made before the session was created, at "+
				time.UnixMilli(session.StartedAt).UTC().Format(time.RFC3339),
			"compare the clock of its machine with the server's",
			"Session '%s' did not exist when this was reported", session.ID)
	case c.OccurredAt.UnixMilli() > session.EndedAt:
		return notAllowed(rule, "the report was kept after the end", NextAfterEnd,
			"Session '%s' had ended when this was reported: %s", session.ID, HowEnded(session))
	case int64(session.LateReports) >= LimitLateReports.Value:
		return tooMuchLate(LimitLateReports, session.ID, "has delivered %d reports after its end", session.LateReports)
	case session.LateBytes+bytes > LimitLateBytes.Value:
		return tooMuchLate(LimitLateBytes, session.ID,
			"has delivered %d bytes of reports after its end, and this one has %d", session.LateBytes, bytes)
	}
	return nil
}

func tooMuchLate(limit Limit, session, format string, args ...any) *Refusal {
	return &Refusal{
		Code:    CodeLimit,
		Message: "Session '" + session + "' " + fmt.Sprintf(format, args...),
		Why:     fmt.Sprintf("limit %s is %d %s: %s", limit.Name, limit.Value, limit.Unit, limit.Bounds),
		Next:    "read the beginning of what is refused with `maestro audit denials --actor " + session + "`",
	}
}

// mayReportOn lets a worker report on its session's tasks, those below them, tasks it created, and queue items that it
// holds or held; an orchestrator on its project's.
func mayReportOn(
	s *projections.State, session *projections.Session, within func(task string) bool, id, rule string,
) error {
	t := s.Task(id)
	if t == nil {
		return notFound("Task", id)
	}
	if t.ProjectID != session.ProjectID {
		return notAllowed(rule, "a session works in its own project only", "its project is "+session.ProjectID,
			"Session '%s' may not report on task '%s'", session.ID, id)
	}
	if session.Role == events.RoleOrchestrator || session.IsSource(t.CreatedBy) || within(id) ||
		s.HeldOnce(session.ID, id) {
		return nil
	}
	return notAllowed(rule,
		"a worker reports on its own tasks and their subtasks, on tasks that it created, and on queue items that it "+
			"holds or held",
		nameOwn(s, session), "Session '%s' may not report on task '%s'", session.ID, id)
}

// nameOwn returns the next step of a worker that names a task that is not its own. To report without a task is another
// thing: it may end the session.
func nameOwn(s *projections.State, session *projections.Session) string {
	var own []string
	name := func(id string) {
		if t := s.Task(id); t != nil && len(own) < belowNamed {
			own = append(own, t.ID+" ("+safetext.Clip(safetext.OneLine(t.Title), 40)+")")
		}
	}
	if item := s.Holds(session); item != nil {
		name(item.TaskID)
	}
	for _, id := range session.TaskIDs[:min(len(session.TaskIDs), belowNamed)] {
		if item := s.Holds(session); item == nil || item.TaskID != id {
			name(id)
		}
	}
	switch {
	case len(own) > 0:
		return "name one of your tasks: " + strings.Join(own, ", ")
	case session.Strategy == events.StrategyQueue:
		return "name the task of an item that you hold; `maestro queue start` claims one"
	}
	return "name a task that you created"
}
