package commands

import (
	"cmp"
	"strings"

	"maestro/events"
	"maestro/projections"
)

// MessageSession sends a message to a session. The session's next command shows it. docs/contract.md, "Permissions".
type MessageSession struct {
	noTexts
	ProjectRef
	SessionID string `json:"sessionId,omitempty" doc:"the session to write to; your spawner if absent"`
	Text      string `json:"text" doc:"the message"`
	About     string `json:"about,omitempty" flag:"<taskId>" doc:"the task that it is about"`
	Force     bool   `json:"force,omitempty" doc:"send it even if the session said that its work is done"`
}

// ID implements Command.
func (*MessageSession) ID() string { return "session:message" }

func (x *MessageSession) project(s *projections.State, by Actor) string {
	to := x.SessionID
	if caller := s.Session(by.Name); by.Kind == ActorSession && caller != nil && to == "" {
		to = caller.SpawnedBy
	}
	return projectOfSession(s, by, x.ProjectRef, to)
}

// ForTeam is a command that may be for each session of a team.
type ForTeam interface {
	Command
	// Team returns the project whose sessions at work are meant, "" for those that the caller leads; false if the
	// command names its session.
	Team() (project string, all bool)
	// For returns the command for one of them.
	For(session string) Command
}

// Team implements ForTeam.
func (x *MessageSession) Team() (project string, all bool) { return x.Project, x.SessionID == "" }

// For implements ForTeam.
func (x *MessageSession) For(session string) Command {
	one := *x
	one.Project, one.SessionID = "", session
	return &one
}

// whyUnread says why a session whose work is done may not read a message.
const whyUnread = "a session sees mail with its next command, and this one may never run another"

// Decide implements Command.
func (x *MessageSession) Decide(s *projections.State, c Call) (events.Data, error) {
	receiver, err := x.receiver(s, c)
	if err != nil {
		return nil, err
	}
	isDone := thirdOn(c.Rules) && !receiver.Active()
	switch {
	case receiver.Ended():
		return nil, x.afterEnd(s, receiver, c,
			"has ended ("+string(receiver.Status)+")", "nobody would read the message", "")
	case isDone && !x.Force:
		return nil, x.afterEnd(s, receiver, c,
			"has reported that its work is done", whyUnread, "; or send it with --force")
	case strings.TrimSpace(x.Text) == "":
		return nil, invalid("/text", "text is required")
	case int64(len(x.Text)) > LimitMessage.Value:
		return nil, LimitMessage.exceeded("/text", "the message", int64(len(x.Text)))
	}
	if err := ValidText("/text", x.Text); err != nil {
		return nil, err
	}
	if x.About != "" {
		if err := ValidID("/about", x.About); err != nil {
			return nil, err
		}
		if t := s.Task(x.About); t == nil || !mayTellOf(s, c, t.ProjectID) {
			return nil, notFound("Task", x.About)
		}
	}
	s.Worked(len(receiver.Mail) / setPerStep)
	if err := roomForMail(receiver, c.By); err != nil {
		return nil, err
	}
	id := newID("msg", c, func(id string) bool { return receiver.Message(id) != nil || s.Input(id) != nil })
	return &events.SessionMessaged{
		SessionID: receiver.ID,
		MessageID: id,
		Text:      x.Text,
		About:     x.About,
		Forced:    isDone,
	}, nil
}

// Warnings implements Warner. A caller that may send mail to a session may know that the session does not read it.
func (*MessageSession) Warnings(s *projections.State, data events.Data) []Warning {
	sent, ok := data.(*events.SessionMessaged)
	if !ok {
		return nil
	}
	warnings := mayStayUnread(s, sent.SessionID)
	if x := s.Session(sent.SessionID); sent.About != "" && x != nil && x.Role == events.RoleWorker {
		warnings = append(warnings, heldByAnother(s, x.ID, "message", sent.About)...)
	}
	return warnings
}

// mayStayUnread warns the sender of mail to a session that said it is done, or whose command has ended: a session reads
// its mail with its next command.
func mayStayUnread(s *projections.State, session string) []Warning {
	if x := s.Session(session); x != nil && !x.Active() {
		return []Warning{{Text: "session " + x.ID + " reported that its work is done: " + whyUnread}}
	}
	return unheardSince(s, session)
}

// unheardSince is mayStayUnread for a session at work.
func unheardSince(s *projections.State, session string) []Warning {
	x := s.Session(session)
	if x != nil && x.Silent() && s.Exit(x) == nil {
		return []Warning{{
			Text:     sessionNamed(x) + " is lost, and will not read this before it runs a command again",
			Next:     []string{"`maestro session kill " + x.ID + "` ends it, for another one to take over"},
			Sessions: []string{x.ID},
		}}
	}
	if x == nil || !x.Active() || s.Exit(x) == nil {
		return nil
	}
	if x.Waits() {
		return []Warning{{
			Text:     "the agent of " + sessionNamed(x) + " has ended, and reads this in its next run",
			Sessions: []string{x.ID},
		}}
	}
	return []Warning{{
		Text: "the command of " + sessionNamed(x) +
			" has ended, and it will not read this before another one runs",
		Next:     []string{"`maestro session exec " + x.ID + " -- <command>` runs one"},
		Sessions: []string{x.ID},
	}}
}

// roomForMail refuses a message to a session with too many unread ones. Messages of users and of sessions count
// separately. Notices have a limit of their own.
func roomForMail(receiver *projections.Session, by Actor) error {
	var own, alike int64
	for _, m := range receiver.Mail {
		if m.Notice != "" {
			continue
		}
		_, _, fromSession := projections.SessionOfSource(m.From)
		if fromSession == (by.Kind == ActorSession) {
			alike++
		}
		if fromSession && m.From == by.Source() {
			own++
		}
	}
	var full *Refusal
	switch {
	case own >= LimitMailFromOne.Value:
		full = LimitMailFromOne.exceeded("/sessionId", "session '"+receiver.ID+"'", own+1)
	case alike >= LimitMail.Value:
		full = LimitMail.exceeded("/sessionId", "session '"+receiver.ID+"'", alike+1)
	default:
		return nil
	}
	full.Next = "wait until the session runs a command, which shows it its messages"
	return full
}

// mayTellOf reports whether a message may be about a task of a project: that of the receiver, if the sender works there
// too, or the sender's own. A session and the one that spawned it may work in different projects.
func mayTellOf(s *projections.State, c Call, project string) bool {
	if c.By.Kind != ActorSession {
		return project == c.Project
	}
	x := s.Session(c.By.Name)
	return project == x.ProjectID || project == c.Project && createdProject(s, x, project)
}

// leads reports whether an orchestrator leads a session: it spawned it or, since version 3 of the rules, succeeds the
// one that did.
func leads(s *projections.State, c Call, above string, x *projections.Session) bool {
	if !thirdOn(c.Rules) {
		return x.SpawnedBy == above
	}
	return s.Leads(above, x)
}

// receiver returns the message's session: a caller may write to the session that leads it and to those that it leads,
// and a user to any.
func (x *MessageSession) receiver(s *projections.State, c Call) (*projections.Session, error) {
	id := x.SessionID
	if c.By.Kind != ActorSession {
		return session(s, c, x.ProjectRef, id)
	}
	caller := s.Session(c.By.Name)
	if caller == nil {
		return nil, notFound("Session", c.By.Name)
	}
	if id == "" {
		// the one that spawned it, or that one's successor
		if id = cmp.Or(s.Leader(caller), caller.SpawnedBy); id == "" {
			return nil, notAllowed(x.ID(), "a session may write only to the session that spawned it",
				"ask the user with `"+spelled["report:needs-input"]+"`", "No session spawned session '%s'", caller.ID)
		}
	}
	receiver, err := session(s, c, x.ProjectRef, id)
	if err != nil {
		return nil, err
	}
	if !leads(s, c, caller.ID, receiver) && !leads(s, c, receiver.ID, caller) {
		return nil, notAllowed(x.ID(),
			"a session may write to the session that spawned it, and an orchestrator also to sessions that it leads",
			"ask the user to pass it on, with `"+spelled["report:needs-input"]+"`",
			"Session '%s' may not write to session '%s'", caller.ID, receiver.ID)
	}
	return receiver, nil
}

// afterEnd refuses a message that nobody would read, and names whom to ask instead.
func (x *MessageSession) afterEnd(
	s *projections.State, receiver *projections.Session, c Call, what, why, or string,
) *Refusal {
	successor, works := s.SuccessorFor(receiver)
	next := "start a successor, and give it the message: `" + successor + "`"
	if task := blockedOf(s, receiver); !works && task != "" {
		next = "unblock its task with `maestro task reopen " + task +
			"`; then start a successor, and give it the message: `" +
			strings.Replace(successor, "<taskId>", task, 1) + "`"
	}
	if c.By.Kind == ActorSession && !leads(s, c, c.By.Name, receiver) {
		next = "ask the user with `" + spelled["report:needs-input"] + "`"
	}
	if id := tookOver(s, receiver, c); id != "" {
		next = "send it to a session at work on its task: `maestro session message " + id + " \"<text>\"`; or " + next
	}
	return &Refusal{
		Code:    CodeConflict,
		Message: "Session '" + receiver.ID + "' " + what,
		Why:     why,
		Next:    next + or,
	}
}

// blockedOf returns a blocked task of a session, "" if there is none. Of many tasks it examines only the first.
func blockedOf(s *projections.State, x *projections.Session) string {
	for _, task := range x.TaskIDs[:min(len(x.TaskIDs), belowNamed)] {
		if t := s.Task(task); t != nil && t.Status == events.TaskBlocked {
			return task
		}
	}
	return ""
}

// tookOver returns the session at work that has a task of an ended one, and to which the caller may write; "" if there
// is none.
func tookOver(s *projections.State, ended *projections.Session, c Call) string {
	for _, task := range ended.TaskIDs[:min(len(ended.TaskIDs), belowNamed)] {
		t := s.Task(task)
		if t == nil {
			continue
		}
		id := s.ActiveSession(t)
		if other := s.Session(id); other != nil && other.Role == ended.Role &&
			(c.By.Kind == ActorUser || leads(s, c, c.By.Name, other)) {
			return id
		}
	}
	return ""
}

func (x *MessageSession) from(e *events.Event, d *events.SessionMessaged) bool {
	*x = MessageSession{
		ProjectRef: inProject(e),
		SessionID:  d.SessionID,
		Text:       d.Text,
		About:      d.About,
		Force:      d.Forced,
	}
	return true
}
