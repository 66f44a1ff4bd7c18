package service

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"maestro/commands"
	"maestro/engine"
	"maestro/events"
	"maestro/projections"
)

// refusedIn returns the refused kept commands of projects; if a session is named, all of that session.
func (v View) refusedIn(projects []*projections.Project, only string) ([]projections.InboxItem, error) {
	if v.Service.Denials == nil || v.past { // they are not in the log
		return nil, nil
	}
	seen := map[string]bool{}
	for _, p := range projects {
		seen[p.ID] = true
	}
	denials := v.Service.Denials.List(func(d *engine.Denial) bool {
		project, session, ok := projections.SessionOfSource(d.Actor)
		return d.Kept && ok && seen[project] && (only == "" || session == only)
	})
	open, sessions, err := v.openRefusals(denials, only)
	if err != nil {
		return nil, err
	}
	if only != "" {
		return refusedKept(open, sessions, math.MaxInt, math.MaxInt), nil
	}
	return refusedKept(open, sessions, int(commands.LimitInboxRefused.Value),
		int(commands.LimitInboxAllRefused.Value)), nil
}

// openRefusal is a refusal that still needs somebody, with the steps that settle it.
type openRefusal struct {
	engine.Denial
	next []string
}

// openRefusals returns the refusals that still need somebody, and the sessions that were refused. It searches in
// portions.
func (v View) openRefusals(
	denials []engine.Denial, only string,
) (open []openRefusal, sessions map[string]*projections.Session, err error) {
	sessions = map[string]*projections.Session{}
	settled := settledRefusals{own: map[string]ownTasks{}, looks: refusalLooks}
	err = v.listing(func(v View, until uint64) (done bool) {
		concerns := v.concernsOf(only)
		for len(denials) > 0 && v.Steps() < until {
			d := denials[0]
			denials = denials[1:]
			_, session, _ := projections.SessionOfSource(d.Actor)
			x := v.Session(session)
			if x == nil || concerns != nil && !concerns(session, "") || settled.has(v, &d, x) {
				continue
			}
			sessions[session] = x
			open = append(open, openRefusal{d, v.settling(x, settled.of(v, x), &d)})
		}
		return len(denials) == 0
	})
	return open, sessions, err
}

// refusalLooks bounds the tasks of sessions that one list looks at to find refusals which nobody misses. It shows the
// others.
const refusalLooks = 50_000

// settledRefusals finds the refused commands that nobody misses, because the tasks that they are about are over.
type settledRefusals struct {
	own   map[string]ownTasks
	looks int
}

// ownTasks are the tasks of a session, and whether all are over.
type ownTasks struct {
	ids  map[string]bool
	over bool
}

// has reports whether nobody misses a refused command. An end is not missed once the session has ended, and nothing of
// a session at work that was shown the refusal, or was sent a message afterwards: it can say it again. A command is
// about the tasks that it names, whoever has them: they are over, or whoever works on them was sent a message about
// them. A worker that names those of others, or none, may have meant its own. A session without tasks may have said
// what nobody knows, and a record that was cut does not name all tasks.
func (r *settledRefusals) has(v View, d *engine.Denial, x *projections.Session) bool {
	v.Worked(1)
	if x.Active() && (d.Told || messagedSince(x, d)) {
		return true
	}
	if d.More || d.Cut {
		return false
	}
	if d.Command == "session:complete" && x.Ended() {
		return true
	}
	own := r.of(v, x)
	about, others := 0, 0
	for _, id := range d.TaskIDs() {
		t := v.TaskEver(id)
		if t == nil || t.ProjectID != x.ProjectID {
			continue
		}
		about++
		switch passedOn := v.passedOn(t, d); {
		case passedOn:
			continue
		case !t.Over():
			return false
		}
		if x.Role == events.RoleWorker && !own.ids[id] {
			others++
		}
	}
	if about == 0 {
		return own.over && len(own.ids) > 0
	}
	return others == 0 || own.over
}

// workerOn returns a session that works on a task, "" if none does. It looks at the last ones that had it.
func (v View) workerOn(t *projections.Task) string {
	for _, id := range slices.Backward(t.SessionIDs[max(0, len(t.SessionIDs)-workersLooked):]) {
		if x := v.Session(id); v.Attends(x, t) && !v.HasLeft(x, t) {
			return id
		}
	}
	return ""
}

// workersLooked is how many of a task's last sessions are searched for the one that works on it.
const workersLooked = 20

// passedOn reports whether the session that works on a task was sent a message about it after a refusal.
func (v View) passedOn(t *projections.Task, d *engine.Denial) bool {
	x := v.Session(v.workerOn(t))
	return x != nil && x.MessagedSince(t.ID, d.Sequence)
}

// settling returns the steps by which somebody settles a refused command of a session, the clearest first: a session at
// work can say it again. Of one that is not, whoever works on the task can be told what it said, or its result
// confirmed; if nobody needs it any more, the session is deleted.
func (v View) settling(x *projections.Session, own ownTasks, d *engine.Denial) (next []string) {
	look := "maestro audit denials --actor " + x.ID
	if x.Active() {
		return []string{"maestro session message " + x.ID + ` "…"`, look}
	}
	for _, id := range d.TaskIDs() {
		t := v.Task(id)
		if t == nil || t.ProjectID != x.ProjectID || t.Over() {
			continue
		}
		switch worker := v.workerOn(t); {
		case worker != "":
			next = append(next, "maestro session message "+worker+` "…" --about `+t.ID)
		case d.Command == "report:complete" && v.Unfinished(t.ID) == 0 && (own.over || own.ids[t.ID]):
			next = append(next, "maestro task complete "+t.ID)
		}
		break
	}
	return append(next, look, "maestro session delete "+x.ID)
}

// messagedSince reports whether a session was sent a message after a refusal, about a task that the command named or
// about none.
func messagedSince(x *projections.Session, d *engine.Denial) bool {
	return x.MessagedSince("", d.Sequence) || slices.ContainsFunc(d.TaskIDs(), func(id string) bool {
		return x.MessagedSince(id, d.Sequence)
	})
}

// of returns the tasks of a session, which it looks at once.
func (r *settledRefusals) of(v View, x *projections.Session) ownTasks {
	own, known := r.own[x.ID]
	if known {
		return own
	}
	if r.looks -= len(x.TaskIDs); r.looks < 0 {
		return ownTasks{}
	}
	v.Worked(len(x.TaskIDs))
	own = ownTasks{ids: make(map[string]bool, len(x.TaskIDs)), over: true}
	for _, id := range x.TaskIDs {
		own.ids[id] = true
		t := v.Task(id)
		own.over = own.over && (t == nil || t.Over())
	}
	r.own[x.ID] = own
	return own
}

// refusedKept reports commands that had waited in an outbox and were refused: the newest of each session, at most
// perSession, and at most most of all sessions, and how many more there are.
func refusedKept(
	open []openRefusal, sessions map[string]*projections.Session, perSession, most int,
) []projections.InboxItem {
	listed, more := map[string]int{}, map[string]*projections.InboxItem{}
	var items []projections.InboxItem
	for _, d := range slices.Backward(open) {
		project, session, _ := projections.SessionOfSource(d.Actor)
		item := projections.InboxItem{
			Kind:        projections.InboxRefused,
			ProjectID:   project,
			SessionID:   session,
			EntryID:     d.ID,
			What:        sessions[session].Name,
			SessionName: sessions[session].Name,
			Since:       d.First,
			Next:        d.next,
		}
		if !d.More && listed[session] < perSession && len(items) < most {
			listed[session]++
			item.Message = d.Command + " was kept and then refused: " + d.Message + quoted(d.Text)
			items = append(items, item)
			continue
		}
		if more[session] == nil {
			item.EntryID = ""
			more[session] = &item
		}
		more[session].StandsFor(d.Count, int64(d.Last))
		more[session].Since = d.First
	}
	slices.Reverse(items)
	for _, session := range slices.Sorted(maps.Keys(more)) {
		item := more[session]
		item.Message = fmt.Sprintf("%d more kept commands were refused", item.More)
		items = append(items, *item)
	}
	return items
}

func quoted(text string) string {
	if text == "" {
		return ""
	}
	return ": “" + text + "”"
}
