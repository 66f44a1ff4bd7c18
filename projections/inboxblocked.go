package projections

import "maestro/events"

// mostAlsoBlocked bounds the blocks of one task that are shown besides what counts for it.
const mostAlsoBlocked = 5

// alsoBlocked adds the blocks that sessions at work reported on a task before another session's report, which counts:
// each of them waits, whatever the others say, until it reports otherwise, or the task's status is changed.
func (b *inbox) alsoBlocked(t *Task, counts string) {
	if counts == "" || t.Speakers() < 2 {
		return
	}
	b.lookedThrough(t.Speakers())
	shown := 0
	for part := range t.parts() {
		for _, said := range part {
			waits := said.SessionID != counts && b.Stands(t, said) == events.SaysBlocked
			if !waits || shown == mostAlsoBlocked || !b.works(said.SessionID) {
				continue
			}
			shown++
			b.find(InboxBlocked, said.SessionID, t.ID, "", int64(said.At), func() InboxItem {
				return b.tellTask(t, InboxBlocked, events.SaysBlocked, said.SessionID)
			})
		}
	}
}

// byWhom says who made a statement, "" if there is none.
func byWhom(x *Statement) string {
	if x == nil {
		return ""
	}
	if name, ok := UserOfSource(x.By); ok {
		return " by user " + name
	}
	if _, session, ok := SessionOfSource(x.By); ok {
		return " by session " + session
	}
	return ""
}

// BlockedByUser reports whether a user said why the task is blocked.
func (t *Task) BlockedByUser() bool {
	reason := t.StatusReason()
	if t.Status != events.TaskBlocked || reason == nil {
		return false
	}
	_, user := UserOfSource(reason.By)
	return user
}
