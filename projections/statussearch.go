package projections

import (
	"slices"

	"maestro/events"
)

// StatusSearch determines a project's status, in as many portions as needed. The state may change between two of them:
// each object counts once, as of the time when it is examined, and objects created after the search began do not count.
// [State.StatusOn] continues it.
type StatusSearch struct {
	in *inbox
	// inboxParts is the number of parts of its inbox.
	inboxParts int
	// decided follows the reports on open tasks.
	decided []TaskReport
	status  ProjectStatus
	now     int64 // 0 if expired tokens are not searched for
}

// Now makes the search include sessions of tokens that have expired at a time in milliseconds since 1970.
func (x *StatusSearch) Now(at int64) { x.now = at }

// SearchStatus starts to examine a project.
func (s *State) SearchStatus(p *Project) *StatusSearch {
	x := &StatusSearch{
		in: s.listen().newInbox(p.ID),
		status: ProjectStatus{
			Project:     s.ProjectView(p),
			Tasks:       map[events.TaskStatus]int{},
			Says:        map[events.TaskSessionStatus]int{},
			Unconfirmed: []string{},
			Sessions:    map[events.SessionStatus]int{},
			Lost:        []string{},
			Queues:      []QueueView{},
			ToConfirm:   []TaskReport{},
			Said:        []TaskReport{},

			SaidBySessions: []SessionReport{},
		},
	}
	inbox, parts := x.in.todo, x.in.unread
	x.in.todo, x.in.unread = nil, nil
	x.in.part("tasks", each(s.taskIDs.get(p.ID), x.task))
	x.in.part("sessions", each(s.sessionIDs.get(p.ID), x.session))
	x.in.part("queues", each(s.queueNames.get(p.ID), x.queue))
	slices.Reverse(x.in.todo) // the last one runs first
	x.in.todo = append(inbox, x.in.todo...)
	x.in.unread, x.inboxParts = append(x.in.unread, parts...), len(parts)
	return x
}

// Stop ends the search early. The status then says what was not examined, or only in part.
func (x *StatusSearch) Stop() {
	if unread := x.in.stop(); len(unread) > 0 {
		own := max(0, len(unread)-x.inboxParts)
		x.status.Unread = append(slices.Clip(unread[:own]), "inbox")
	}
}

// Size is the approximate memory that the search takes, in bytes.
func (x *StatusSearch) Size() int64 { return x.in.size() }

// StatusOn continues until the state has counted so many steps, and reports whether it is done.
func (s *State) StatusOn(x *StatusSearch, until uint64) (done bool) { return x.in.on(s, until) }

// Status returns the result.
func (x *StatusSearch) Status() ProjectStatus {
	status := x.status
	status.Inbox = len(x.in.found)
	room := min(StatusListed-len(status.Said), len(x.decided))
	status.Said = append(status.Said, x.decided[:room]...)
	status.SaidMore += len(x.decided) - room
	return status
}

// ProjectStatus returns a project's status, in a single portion.
func (s *State) ProjectStatus(p *Project) ProjectStatus {
	x := s.SearchStatus(p)
	s.StatusOn(x, untilDone)
	return x.Status()
}

func (x *StatusSearch) task(id string) {
	t := x.in.Task(id)
	if t == nil {
		return
	}
	status := &x.status
	status.Tasks[t.Status]++
	says, session := x.in.says(t)
	if says == "" {
		return
	}
	status.Says[says]++
	said := TaskReport{t.ID, t.Title, t.Status, says, session, x.in.sessionName(session), x.in.Became(session)}
	switch open := t.Status != events.TaskCompleted && t.Status != events.TaskCancelled; {
	case Unconfirmed(says, t.Status) && len(status.Unconfirmed) < StatusListed:
		status.Unconfirmed, status.ToConfirm = append(status.Unconfirmed, t.ID), append(status.ToConfirm, said)
	case Unconfirmed(says, t.Status):
		status.UnconfirmedMore++
	case open && len(status.Said) < StatusListed:
		status.Said = append(status.Said, said)
	case !open && len(x.decided) < StatusListed:
		x.decided = append(x.decided, said)
	default:
		status.SaidMore++
	}
}

func (x *StatusSearch) session(id string) {
	session := x.in.Session(id)
	if session == nil {
		return
	}
	status := &x.status
	status.Sessions[session.Status]++
	switch {
	case !session.Silent():
	case len(status.Lost) < StatusListed:
		status.Lost, status.LostNames = append(status.Lost, session.ID), append(status.LostNames, session.Name)
	default:
		status.LostMore++
	}
	if token := x.in.ExpiredSpawner(session, x.now); token != nil && len(status.SpawnedByExpired) < StatusListed {
		status.SpawnedByExpired = append(status.SpawnedByExpired,
			ExpiredSpawner{session.ID, session.Name, token.Name, events.Millis(token.ExpiresAt)})
	} else if token != nil {
		status.SpawnedByExpiredMore++
	}
	if word := x.in.SessionWord(session); word != nil && len(status.SaidBySessions) < StatusListed {
		status.SaidBySessions = append(status.SaidBySessions, sessionSaid(session, word))
	} else if word != nil {
		status.SaidBySessionsMore++
	}
}

func (x *StatusSearch) queue(name string) {
	q := x.in.Queue(x.status.Project.ID, name)
	switch {
	case q == nil:
	case len(x.status.Queues) < StatusListed:
		x.status.Queues = append(x.status.Queues, x.in.QueueView(q))
	default:
		x.status.QueuesMore++
	}
}
