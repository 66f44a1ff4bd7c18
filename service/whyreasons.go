package service

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"maestro/commands"
	"maestro/events"
	"maestro/projections"
)

// whyTask explains a task: its status, statements about it, what it waits for in vain, who left it, and its items,
// first those that are held or queued. more counts the items that are omitted.
func (v View) whyTask(t *projections.Task) (reasons []reason, more int) {
	sequence := t.CreatedSequence
	if t.StatusSequence > 0 {
		sequence = t.StatusSequence
	}
	reasons = append(reasons, reason{what: fmt.Sprintf("task %s is %s", t.ID, t.Status), sequence: sequence})
	says, by := v.SessionStatus(t)
	if said := t.SaidBy(by); by != "" {
		reasons = append(reasons,
			reason{what: fmt.Sprintf("task %s is reported as %s by %s", t.ID, says, by), sequence: said.Sequence})
	}
	reasons = append(reasons, v.whyWaiting(t)...)
	reasons = append(reasons, v.whyLeft(t)...)
	items := v.QueuesOf(t.ID)
	slices.SortStableFunc(items, func(a, b *projections.Item) int {
		return cmp.Compare(whyRank(a.Status), whyRank(b.Status))
	})
	listed := min(len(items), int(commands.LimitWhyQueues.Value))
	for _, item := range items[:listed] {
		reasons = append(reasons,
			v.because(fmt.Sprintf("task %s is %s in queue %s", t.ID, item.Status, item.Queue), item.Cause)...)
	}
	return reasons, len(items) - listed
}

// whyRank orders the items of a task by how likely somebody asks about them.
func whyRank(status events.QueueItemStatus) int {
	return slices.Index([]events.QueueItemStatus{
		events.ItemProcessing, events.ItemQuarantined, events.ItemQueued, events.ItemFailed, events.ItemSkipped,
		events.ItemCompleted,
	}, status)
}

func (v View) whySession(x *projections.Session) []reason {
	cause, what := x.Cause, string(x.Status)
	switch {
	case x.Ended():
		cause = x.Gone
	case x.Silent():
		cause, what = x.Gone, "lost"
	case x.Status == events.SessionSaidDone:
		return []reason{{what: fmt.Sprintf("session %s is completed", x.ID), sequence: x.DoneSequence}}
	}
	gaveUp := v.gaveUp(x)
	switch {
	case gaveUp != nil:
		what += ": " + answeredWith(gaveUp)
	case x.Ended() && x.GoneBy == commands.System().Source() && x.TimeLimit > 0:
		what += ": its time limit of " + inWords(time.Duration(x.TimeLimit)*time.Millisecond) + " was reached"
	}
	reasons := v.because(fmt.Sprintf("session %s is %s", x.ID, what), cause)
	if gaveUp != nil {
		reasons = append(reasons, reason{
			what:     fmt.Sprintf("run %d of session %s was given up", gaveUp.Run, x.ID),
			sequence: gaveUp.AnsweredSequence,
		})
	}
	if word := v.LastWord(x); word != nil {
		reasons = append(reasons, reason{
			what:     "the last report of session " + x.ID + " says that it cannot continue",
			sequence: word.Sequence,
		})
	}
	endedBy := x.Ended() && x.LastRun().Exited() && x.LastRun().Status != "" // which is the cause already
	exit := v.Exit(x)
	endedWith := exit != nil && x.Ended() && len(reasons) > 0 && exit.Sequence > reasons[0].sequence
	if exit != nil && !endedBy && !endedWith { // an agent that was ended with its session says nothing of the cause
		reasons = append(reasons, reason{
			what:     "nothing was heard from session " + x.ID + " after " + exit.Exited(),
			sequence: exit.Sequence,
		})
	}
	return reasons
}

// gaveUp returns the question that its user answered by giving up the last run, before its agent was launched; nil if
// that is not how the session ended.
func (v View) gaveUp(x *projections.Session) *projections.Input {
	run := x.LastRun()
	if !x.Ended() || !run.Exited() || run.Status == "" || run.ExitCode != nil || run.Signal != "" {
		return nil // nothing ended it before it had a process
	}
	for _, id := range v.InputIDsFrom(x.ProjectID, run.ClaimedAt) {
		asked := v.Input(id)
		if v.Worked(1); asked.AskedAt > run.ExitedAt {
			break
		}
		if asked.SessionID == x.ID && asked.Run == run.Number && asked.Answer == events.PreflightGiveUp {
			return asked
		}
	}
	return nil
}

// answeredWith says how a question was answered, and which one.
func answeredWith(asked *projections.Input) string {
	question, _, _ := strings.Cut(asked.Question, "\n")
	return fmt.Sprintf("%s answered '%s' to the question \"%s\"", commands.ByWhom(asked.AnsweredBy), asked.Answer,
		question)
}

// inWords writes a duration with the largest unit of which it is a whole number.
func inWords(d time.Duration) string {
	for _, unit := range []struct {
		name   string
		length time.Duration
	}{{"hour", time.Hour}, {"minute", time.Minute}, {"second", time.Second}} {
		if n := d / unit.length; n > 0 && d%unit.length == 0 {
			if n == 1 {
				return "1 " + unit.name
			}
			return fmt.Sprintf("%d %ss", n, unit.name)
		}
	}
	return d.String()
}

// whyWaiting explains for what an open task waits: first what nothing completes any more.
func (v View) whyWaiting(t *projections.Task) (reasons []reason) {
	if t.Over() {
		return nil
	}
	v.Worked(len(t.Dependencies) / namesPerStep)
	for _, gone := range v.GoneDependencies(t) {
		if len(reasons) == projections.WaitsNamed {
			break
		}
		on := v.TaskEver(gone.TaskID)
		why := reason{sequence: on.StatusSequence}
		if on.Deleted {
			why = whyDeletedTask(on)[0]
		}
		why.about = on.ID
		why.what = fmt.Sprintf("task %s waits for task %s, which is %s", t.ID, on.ID, gone.Why)
		reasons = append(reasons, why)
	}
	return append(reasons, v.whyNotYet(t, projections.WaitsNamed-len(reasons))...)
}

// whyNotYet explains for which open tasks a task waits, at most so many, if nobody has started it.
func (v View) whyNotYet(t *projections.Task, most int) (reasons []reason) {
	if t.Status != events.TaskTodo {
		return nil
	}
	for _, id := range v.UnmetDependencies(t) {
		on := v.Task(id)
		if on == nil || on.Over() {
			continue
		}
		if len(reasons) == most {
			break
		}
		sequence := on.CreatedSequence
		if on.StatusSequence > 0 {
			sequence = on.StatusSequence
		}
		reasons = append(reasons, reason{
			what:     fmt.Sprintf("task %s waits for task %s, which is %s", t.ID, on.ID, on.Status),
			sequence: sequence,
			about:    on.ID,
		})
	}
	return reasons
}

// whyLeft explains what became of the last session of a task that is in progress, if that session has ended.
func (v View) whyLeft(t *projections.Task) []reason {
	if t.Status != events.TaskInProgress || len(t.SessionIDs) == 0 {
		return nil
	}
	last := v.Session(t.SessionIDs[len(t.SessionIDs)-1])
	if last == nil || !last.Ended() {
		return nil
	}
	reasons := v.whySession(last)
	for i := range reasons {
		reasons[i].about = last.ID
	}
	return reasons
}
