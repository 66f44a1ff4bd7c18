package simulation

import (
	"cmp"
	"fmt"
	"slices"

	"maestro/projections"
)

// compare holds what the product's fold shows against the model, as far as queues, questions, tokens, templates and statuses go.
func (m *model) compare(s *projections.State) error {
	for _, check := range []func(*projections.State) error{m.compareQueues, m.compareSessions, m.compareInputs, m.compareTemplates} {
		if err := check(s); err != nil {
			return err
		}
	}
	return nil
}

func (m *model) compareQueues(s *projections.State) error {
	inHand := map[string]string{}
	for _, key := range m.queueIDs {
		q := m.queues[key]
		shown := s.Queue(q.project, q.name)
		if shown == nil || shown.SessionID != q.session || shown.TrustReports != q.trusts || shown.MaxAttempts != q.most {
			return fmt.Errorf("queue %s is shown as %+v, expected %+v", key, shown, q)
		}
		if err := m.compareItems(s, q, shown, inHand); err != nil {
			return err
		}
	}
	held := 0
	for i := range s.Held() {
		held++
		if inHand[i.SessionID] != i.TaskID {
			return fmt.Errorf("task %s is shown in the hand of %s, which holds %q", i.TaskID, i.SessionID, inHand[i.SessionID])
		}
	}
	if held != len(inHand) {
		return fmt.Errorf("%d items are shown in hand, and %d are", held, len(inHand))
	}
	return nil
}

func (m *model) compareItems(s *projections.State, q queue, shown *projections.Queue, inHand map[string]string) error {
	items, expected := s.Items(shown), slices.Clone(q.items)
	slices.SortFunc(expected, func(a, b item) int { return cmp.Compare(a.place, b.place) })
	counts := map[string]int{}
	for n, i := range expected {
		counts[i.status]++
		if i.status == "processing" {
			inHand[i.holder] = i.task
		}
		if n >= len(items) {
			return fmt.Errorf("%s is not shown in queue %s", i.task, q.key())
		}
		is := items[n]
		if is.TaskID != i.task || string(is.Status) != i.status || is.SessionID != i.holder || is.Attempts != i.attempts ||
			i.status == "queued" && is.Returned() != i.returned || !slices.Equal(is.Holders, i.holders) {
			return fmt.Errorf("place %d of queue %s is shown as %+v, expected %+v", n, q.key(), is, i)
		}
	}
	n := shown.Stats
	if n.Total != len(expected) || n.Queued != counts["queued"] || n.Processing != counts["processing"] || n.Completed != counts["completed"] ||
		n.Failed != counts["failed"] || n.Skipped != counts["skipped"] || n.Quarantined != counts["quarantined"] {
		return fmt.Errorf("queue %s is counted as %+v, expected %v", q.key(), n, counts)
	}
	top, passed := s.Top(shown)
	first, expectedPassed, ready := m.top(q)
	switch {
	case ready != (top != nil), ready && (top.TaskID != first.task || passed != expectedPassed):
		return fmt.Errorf("the next item of queue %s is shown as %+v (%d passed over), expected %+v (%d)", q.key(), top, passed, first, expectedPassed)
	}
	return nil
}

func (m *model) compareSessions(s *projections.State) error {
	for _, id := range m.sessionIDs {
		x, live := m.liveSession(id)
		shown := s.Session(id)
		if live != (shown != nil) {
			return fmt.Errorf("session %s is shown as %+v, expected %+v", id, shown, x)
		}
		if !live {
			continue
		}
		holds := ""
		if i := s.Holds(shown); i != nil {
			holds = i.TaskID
		}
		held, _ := m.holds(x)
		if string(shown.Status) != x.status || shown.Lost() != x.lost || shown.Ended() != x.ended || shown.Deadline != x.deadline ||
			shown.Generation != x.generation || shown.Queue != x.queue || shown.ManifestDigest != x.manifest || holds != held.task || s.Gone(id) != m.becameOf(id) {
			return fmt.Errorf("session %s is shown as %+v (holds %q), expected %+v", id, shown, holds, x)
		}
	}
	for _, id := range m.taskIDs {
		t, live := m.liveTask(id)
		shown := s.Task(id)
		if live != (shown != nil) {
			return fmt.Errorf("task %s is shown as %+v, expected %+v", id, shown, t)
		}
		if !live {
			continue
		}
		if says, _ := s.SessionStatus(shown); string(shown.Status) != t.status || string(says) != m.saidOf(t) {
			return fmt.Errorf("task %s is shown as %s and said %q, expected %s and %q", id, shown.Status, says, t.status, m.saidOf(t))
		}
	}
	return nil
}

func (m *model) compareInputs(s *projections.State) error {
	undelivered := map[string]int{}
	for _, id := range m.inputIDs {
		q := m.inputs[id]
		status := "void"
		switch {
		case q.delivered:
			status = "delivered"
		case q.answered:
			status = "answered"
			undelivered[q.session]++
		case m.open(q):
			status = "open"
		}
		shown := s.Input(id)
		if shown == nil || string(s.InputStatus(shown)) != status || shown.Answer != q.answer || shown.SessionID != q.session {
			return fmt.Errorf("question %s is shown as %+v, expected %s: %+v", id, shown, status, q)
		}
	}
	for session, n := range undelivered {
		if shown := s.Undelivered(session); len(shown) != n {
			return fmt.Errorf("the answers %v are shown as waiting for session %s, expected %d", shown, session, n)
		}
	}
	for name, t := range m.tokens {
		shown := s.Token(name)
		if shown == nil || shown.Live() != t.live || string(shown.Kind) != t.kind || shown.Generation != t.generation ||
			shown.ExpiresAt != t.expires {
			return fmt.Errorf("token %s is shown as %+v, expected %+v", name, shown, t)
		}
	}
	return nil
}
