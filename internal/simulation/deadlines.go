package simulation

import (
	"fmt"
)

// nextDeadline folds what time brought about. Contract, "Late and lost".
func (m *model) nextDeadline(w wish, d made) error {
	x := m.sessions[w.fields.SessionID]
	if d.SessionID != w.fields.SessionID {
		return fmt.Errorf("%s of session %q became one of %q", w.id, w.fields.SessionID, d.SessionID)
	}
	switch w.id {
	case "session:lost":
		if d.LastHeard != m.at-w.fields.SilentFor || d.Lease != w.fields.Lease {
			return fmt.Errorf("a session that was silent for %d ms at %d was last heard at %d", w.fields.SilentFor, m.at, d.LastHeard)
		}
		x.lost, x.gone = true, d.me
		x.losses++
	case "session:recovered":
		x.lost = false
	case "session:timed-out":
		if d.Deadline != x.deadline {
			return fmt.Errorf("the deadline of session %q is %d, and the event has %d", d.SessionID, x.deadline, d.Deadline)
		}
		x.end(m.at)
		x.status, x.gone = "failed", d.me
	}
	m.sessions[w.fields.SessionID] = x
	return nil
}

// mayBeLost reports whether silence of a session matters: one that said it is done, and holds nothing, may be silent.
func (m *model) mayBeLost(x session) bool {
	_, holds := m.holds(x)
	return !x.deleted && !x.ended && !x.lost && (x.status != "completed" || holds)
}

func (m *model) judgeDeadline(w wish, at int64) verdict {
	f := w.fields
	x, live := m.liveSession(f.SessionID)
	switch {
	case badID(f.SessionID):
		return isInvalid
	case !live:
		return notFound
	}
	switch w.id {
	case "session:lost":
		switch {
		case !m.mayBeLost(x):
			return alreadySo
		case f.Lease <= 0, f.SilentFor < f.Lease:
			return againstRule
		}
	case "session:recovered":
		if !x.lost || x.ended {
			return alreadySo
		}
	case "session:timed-out":
		switch {
		case x.ended:
			return alreadySo
		case x.deadline == 0, max(at, m.at) < x.deadline:
			return againstRule
		}
	}
	return becomesEvent
}

// causeOf gives what must stand as the cause of the event that a wish becomes: what lies in the thing itself, else what made the
// session that asked, else nothing.
func (m *model) causeOf(w wish) cause {
	f := w.fields
	switch w.id {
	case "queue:start", "queue:skip", "queue:complete", "queue:fail":
		q, x, _, _ := m.queueOf(w)
		i, holds := m.holds(x)
		if !holds {
			i, _, _ = m.top(q)
		}
		return i.cause
	case "queue:return", "queue:quarantine":
		i, _ := m.itemOf(m.projectOf(w), f.Queue, f.TaskID)
		return m.sessions[i.holder].gone
	case "session:recovered":
		return m.sessions[f.SessionID].gone
	case "session:lost", "session:timed-out":
		return m.sessions[f.SessionID].made
	case "input:answer":
		return m.inputs[f.InputID].asked
	case "input:received":
		return m.inputs[f.InputID].replied
	}
	if w.by.kind == "session" {
		return m.sessions[w.by.name].made
	}
	return cause{}
}

// dueWish gives the wish of the server's Leases that an event of the system came from. Their keys come from the state, so that what is
// due happens once, whoever asks again; a server that lags behind may name an earlier one.
func (o *oracle) dueWish(before *model, e envelope, d made) (wish, bool) {
	w := wish{due: true, by: caller{kind: "system"}}
	session := before.sessions[d.SessionID]
	var keys []string
	switch e.Type {
	case "maestro.session.lost.v1":
		w.id, w.fields = "session:lost", fields{SessionID: d.SessionID, SilentFor: e.at() - d.LastHeard, Lease: d.Lease}
		for n := session.losses + 1; n > 0; n-- {
			keys = append(keys, fmt.Sprintf("lost/%s/%d", d.SessionID, n))
		}
	case "maestro.session.recovered.v1":
		w.id, w.fields = "session:recovered", fields{SessionID: d.SessionID}
		for n := session.losses; n > 0; n-- {
			keys = append(keys, fmt.Sprintf("recovered/%s/%d", d.SessionID, n))
		}
	case "maestro.session.timed_out.v1":
		w.id, w.fields = "session:timed-out", fields{SessionID: d.SessionID}
		keys = []string{"timed out/" + d.SessionID}
	case "maestro.queue.item_returned.v1", "maestro.queue.item_quarantined.v1":
		w.id, w.fields = "queue:return", fields{Project: e.Project, Queue: d.Queue, TaskID: d.TaskID}
		if e.Type == "maestro.queue.item_quarantined.v1" {
			w.id = "queue:quarantine"
		}
		for _, at := range o.starts[queueID(e.Project, d.Queue)+"/"+d.TaskID] {
			keys = append(keys, fmt.Sprintf("given back/%d", at))
		}
	default:
		return w, false
	}
	for _, key := range keys {
		if w.key = key; w.eventID(before) == e.ID && w.hash() == e.RequestHash {
			return w, true
		}
	}
	return w, false
}
