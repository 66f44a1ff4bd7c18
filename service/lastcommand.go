package service

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"maestro/commands"
	"maestro/events"
	"maestro/projections"
)

// endsItself reports whether a command ends its caller's own session.
func endsItself(c *Caller, command commands.Command) bool {
	if c.By.Kind != commands.ActorSession {
		return false
	}
	switch x := command.(type) {
	case *commands.CompleteSession:
		return cmp.Or(x.SessionID, c.By.Name) == c.By.Name
	case *commands.Report:
		return x.Kind == events.ReportComplete && len(x.TaskIDs) == 0
	}
	return false
}

// ifFinished refuses a session's last command while something is left that only this session can do: to read its mail,
// which would be shown to nobody who acts on it, or to finish the item that it holds, which would wait for its lease.
// It is for a caller that asked for it and can repeat the command. One that was kept is executed in any case.
func (s *Service) ifFinished(ctx context.Context, c *Caller, command commands.Command, o Options) error {
	if !o.IfFinished || !endsItself(c, command) {
		return nil
	}
	return s.work(ctx, c, func(v View) error {
		x := v.Session(c.By.Name)
		if x == nil || !x.Active() {
			return nil // it has ended or said that it is done: a retry gets its answer
		}
		return v.leftToDo(x, command)
	})
}

// errUnread refuses a session's last command because mail came while it was on its way.
var errUnread = errors.New("mail came for a session that was about to end")

// onlyRead refuses a session's last command if it has unread mail by then.
func onlyRead(session string) func(*projections.State) error {
	return func(state *projections.State) error {
		x := state.Session(session)
		if x != nil && x.Active() && len(state.Undelivered(session)) > 0 {
			return errUnread
		}
		return nil
	}
}

// errUnreadAbout refuses the completion of a task because its session has not read what was said about it.
var errUnreadAbout = errors.New("the session has unread mail about the task")

// confirms returns the task that a command completes, "" if it completes none.
func confirms(command commands.Command) string {
	switch x := command.(type) {
	case *commands.CompleteTask:
		return x.TaskID
	case *commands.UpdateTask:
		if x.Status != nil && *x.Status == events.TaskCompleted {
			return x.TaskID
		}
	}
	return ""
}

// onlyReadAbout refuses to complete a task for a session that has unread mail about it, such as the reason for which
// the user reopened it. The command line shows the mail with the refusal.
func onlyReadAbout(session, task string) func(*projections.State) error {
	return func(state *projections.State) error {
		x := state.Session(session)
		if x == nil {
			return nil
		}
		state.Worked(len(x.Mail))
		if slices.ContainsFunc(x.Mail, func(m projections.Message) bool { return m.About == task }) {
			return errUnreadAbout
		}
		for _, id := range state.Undelivered(session) {
			state.Worked(1)
			if asked := state.Input(id); asked != nil && slices.Contains(asked.TaskIDs, task) {
				return errUnreadAbout
			}
		}
		return nil
	}
}

func unreadAbout() error {
	unread := &Problem{
		Kind:    KindConflict,
		Code:    string(commands.CodeConflict),
		Message: "You have unread mail about the task, so your decision is not taken yet",
		Why:     "somebody may have decided otherwise",
		Next: "read the mail, which is shown now (`maestro input wait` prints what is still unread), and repeat the " +
			"command if it is still right",
	}
	return unread.Complete()
}

// unreadThen says that a session had unread mail when its last command was decided.
func unreadThen() error {
	unread := &Problem{
		Kind:    KindConflict,
		Code:    string(commands.CodeConflict),
		Message: "Your session was not ended: it has unread mail",
		Why:     "you may have to act on it first",
		Next:    "read your mail and act on it, then repeat the command",
	}
	return unread.Complete()
}

func (v View) leftToDo(x *projections.Session, command commands.Command) error {
	left := &Problem{Kind: KindConflict, Code: string(commands.CodeConflict)}
	switch first := v.beforeEnd(x); {
	case len(v.Undelivered(x.ID)) > 0:
		return unreadThen()
	case first != "":
		left.Message = "Your session was not ended: it holds an item of queue " + x.Queue
		left.Why = "nobody else gets the item until the session's lease is over"
		left.Next = first + "; then repeat the command"
		if _, reports := command.(*commands.Report); reports && v.mayFollow(completesItem(v.Holds(x).TaskID)) {
			left.Next = "`maestro report complete \"<summary>\" --task " + v.Holds(x).TaskID +
				"` keeps your summary as the result of its task; then " + first +
				"; end your session with `maestro session complete`"
		}
	default:
		return nil
	}
	return left.Complete()
}
