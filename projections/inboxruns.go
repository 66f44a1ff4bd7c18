package projections

import "maestro/events"

// runs adds what is the matter with the last run of a session at work: it looks stuck, or its agent ended and waits for
// an answer that nobody has to give any more.
func (b *inbox) runs(x *Session) {
	switch {
	case x.Runs == nil || !x.Active():
	case x.Runs.Stuck != nil:
		b.looksStuck(x, x.Runs.Stuck)
	case x.Waits() && !b.answerComes(x):
		b.find(InboxExited, x.ID, "", "", x.LastRun().ExitedAt, func() InboxItem {
			return InboxItem{
				SessionID: x.ID,
				TaskID:    b.workOf(x),
				What:      x.Name,
				Message:   "its agent ended while it waited for an answer, and nobody has to answer it any more",
				Next:      []string{resume(x), "maestro session kill " + x.ID},
			}
		})
	}
}

func (b *inbox) looksStuck(x *Session, stuck *Stuck) {
	b.find(InboxStuck, x.ID, "", "", stuck.Since, func() InboxItem {
		what := "its agent has written nothing since then"
		if stuck.Kind == events.StuckLoop {
			what = "its agent does the same again and again"
		}
		return InboxItem{
			SessionID: x.ID,
			TaskID:    b.workOf(x),
			What:      x.Name,
			Message:   textOf(what, stuck.Detail),
			Next:      []string{"maestro session message " + x.ID + ` "…"`, "maestro session kill " + x.ID},
		}
	})
}

// answerComes reports whether somebody still has to answer a session that waits, or has done so.
func (b *inbox) answerComes(x *Session) bool {
	asks := false
	for q := range b.OpenQuestionsFrom(x.ID) {
		b.work(1)
		if asks = true; b.NeedsAnswer(q) {
			return true
		}
	}
	return !asks && b.WaitsForAnswer(x)
}

// resume returns the command that lets the next run of a session begin.
func resume(x *Session) string { return "maestro session resume " + x.ID }
