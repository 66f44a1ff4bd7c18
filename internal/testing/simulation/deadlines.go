package simulation

import "fmt"

// dueWish returns the wish of the server's Leases that produced an event of the system. Its key is derived from the
// state, so that a repeated request makes no second event; a server that lags behind may use an earlier one.
func (o *oracle) dueWish(before *ground, e envelope, d told) (wish, bool) {
	w := wish{due: true, by: caller{kind: "system"}}
	losses := before.model().sessions[d.SessionID].Losses
	var keys []string
	switch e.Type {
	case "maestro.session.lost.v1":
		w.id, w.fields = "session:lost", fields{SessionID: d.SessionID, SilentFor: e.at() - d.LastHeard, Lease: d.Lease}
		for n := losses + 1; n > 0; n-- {
			keys = append(keys, fmt.Sprintf("lost/%s/%d", d.SessionID, n))
		}
	case "maestro.session.recovered.v1":
		w.id, w.fields = "session:recovered", fields{SessionID: d.SessionID}
		for n := losses; n > 0; n-- {
			keys = append(keys, fmt.Sprintf("recovered/%s/%d", d.SessionID, n))
		}
	case "maestro.session.timed_out.v1":
		w.id, w.fields = "session:timed-out", fields{SessionID: d.SessionID}
		keys = []string{fmt.Sprintf("timed out/%s/%d", d.SessionID, d.Deadline)}
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
		if w.key = key; w.eventID(before.Project(w.asks(0))) == e.ID && w.hash() == e.RequestHash {
			return w, true
		}
	}
	return w, false
}
