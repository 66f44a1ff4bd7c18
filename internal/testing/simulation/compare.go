package simulation

import (
	"fmt"
	"slices"

	documents "maestro/internal/oracle"
	"maestro/projections"
)

// compare compares the product's fold with the oracle's state: queues, questions, tokens, templates and statuses.
func (m *model) compare(s *projections.State) error {
	for _, check := range []func(*projections.State) error{
		m.compareQueues, m.compareSessions, m.compareTasks, m.compareInputs, m.compareTokens, m.compareTemplates,
		m.compareWebhooks,
	} {
		if err := check(s); err != nil {
			return err
		}
	}
	return nil
}

func (m *model) compareQueues(s *projections.State) error {
	heldTask := map[string]string{}
	for _, key := range m.queueIDs {
		q := m.queues[key]
		shown := s.Queue(q.Project, q.Name)
		if shown == nil || shown.SessionID != q.Session || shown.TrustReports != q.TrustReports ||
			shown.MaxAttempts != q.MaxAttempts {
			return fmt.Errorf("queue %s is shown as %+v, expected %+v", key, shown, q)
		}
		if err := compareItems(s, q, shown, heldTask); err != nil {
			return fmt.Errorf("queue %s: %w", key, err)
		}
	}
	held := 0
	for i := range s.Held() {
		held++
		if heldTask[i.SessionID] != i.TaskID {
			return fmt.Errorf(
				"task %s is shown as held by %s, which holds %q",
				i.TaskID,
				i.SessionID,
				heldTask[i.SessionID],
			)
		}
	}
	if held != len(heldTask) {
		return fmt.Errorf("%d items are shown held, and %d are", held, len(heldTask))
	}
	return nil
}

func compareItems(s *projections.State, q documents.Queue, shown *projections.Queue, heldTask map[string]string) error {
	items := s.Items(shown)
	counts := map[string]int{}
	for n, i := range q.Items {
		counts[i.Status]++
		if i.Status == "processing" {
			heldTask[i.Holder] = i.Task
		}
		if n >= len(items) {
			return fmt.Errorf("%s is not shown", i.Task)
		}
		is := items[n]
		if is.TaskID != i.Task || string(is.Status) != i.Status || is.SessionID != i.Holder ||
			is.Attempts != i.Attempts ||
			i.Status == "queued" && is.Returned() != i.Returned ||
			!slices.Equal(is.Holders, i.Holders) {
			return fmt.Errorf("place %d is shown as %+v, expected %+v", n, is, i)
		}
	}
	n := shown.Stats
	if n.Total != len(q.Items) || n.Queued != counts["queued"] || n.Processing != counts["processing"] ||
		n.Completed != counts["completed"] ||
		n.Failed != counts["failed"] ||
		n.Skipped != counts["skipped"] ||
		n.Quarantined != counts["quarantined"] {
		return fmt.Errorf("it is counted as %+v, expected %v", n, counts)
	}
	next := ""
	top, passed := s.Top(shown)
	if top != nil {
		next = top.TaskID
	}
	if next != q.Next || top != nil && passed != q.PassedOver {
		return fmt.Errorf(
			"its next item is shown as %+v (%d passed over), expected %q (%d)",
			top,
			passed,
			q.Next,
			q.PassedOver,
		)
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
		if string(shown.Status) != x.Status || shown.Lost() != x.Lost || shown.Ended() != x.Ended ||
			shown.Deadline != x.Deadline ||
			shown.Generation != x.Generation || shown.Queue != x.Queue ||
			shown.ManifestDigest != x.Manifest ||
			holds != x.Holds ||
			s.Gone(id) != x.Fate || !sameRun(shown, x) {
			return fmt.Errorf("session %s is shown as %+v (holds %q), expected %+v", id, shown, holds, x)
		}
	}
	return nil
}

// sameRun compares the last run of a session, and whether it waits for a runner.
func sameRun(shown *projections.Session, x documents.Session) bool {
	var is documents.Run
	if run := shown.LastRun(); run != nil {
		is = documents.Run{
			Number:       run.Number,
			Runner:       run.Runner,
			Host:         run.Host,
			Conversation: run.Conversation,
			Exited:       run.Exited(),
			Resumed:      run.IsResumed(),
		}
		if shown.Runs.Stuck != nil {
			is.Stuck = string(shown.Runs.Stuck.Kind)
		}
	}
	return is == x.Run && shown.Runner == x.Runner && shown.AwaitsRunner() == x.AwaitsRunner
}

func (m *model) compareTasks(s *projections.State) error {
	for _, id := range m.taskIDs {
		t, live := m.liveTask(id)
		shown := s.Task(id)
		if live != (shown != nil) {
			return fmt.Errorf("task %s is shown as %+v, expected %+v", id, shown, t)
		}
		if !live {
			continue
		}
		if says, _ := s.SessionStatus(shown); string(shown.Status) != t.Status || string(says) != t.Says {
			return fmt.Errorf(
				"task %s is shown as %s and said %q, expected %s and %q",
				id,
				shown.Status,
				says,
				t.Status,
				t.Says,
			)
		}
	}
	for _, id := range m.projectIDs {
		if err := m.compareSiblings(m.places(id), s.Branches(id, "", 0, projections.MaxTreeTasks)); err != nil {
			return err
		}
	}
	return nil
}

// places returns the position of each task among all tasks of its project.
func (m *model) places(project string) map[string]int {
	places := map[string]int{}
	for i, id := range m.siblings[project] {
		places[id] = i
	}
	return places
}

// compareSiblings compares the order in which siblings are shown with the oracle's order.
func (m *model) compareSiblings(places map[string]int, shown []*projections.Branch) error {
	for i, b := range shown {
		if i > 0 && places[b.Task.ID] < places[shown[i-1].Task.ID] {
			return fmt.Errorf("task %s is shown after its sibling %s, but comes before it", b.Task.ID,
				shown[i-1].Task.ID)
		}
		if err := m.compareSiblings(places, b.Children); err != nil {
			return err
		}
	}
	return nil
}

func (m *model) compareInputs(s *projections.State) error {
	undelivered := map[string]int{}
	for _, id := range m.inputIDs {
		q, shown := m.inputs[id], s.Input(id)
		if q.Status == "answered" {
			undelivered[q.Session]++
		}
		if shown == nil || string(s.InputStatus(shown)) != q.Status || shown.Answer != q.Answer ||
			shown.SessionID != q.Session {
			return fmt.Errorf("question %s is shown as %+v, expected %+v", id, shown, q)
		}
	}
	for id, x := range m.sessions {
		undelivered[id] += len(x.Mail)
	}
	for session, n := range undelivered {
		if shown := s.Undelivered(session); len(shown) != n {
			return fmt.Errorf("the answers and messages %v are shown as waiting for session %s, expected %d", shown,
				session, n)
		}
	}
	return nil
}

func (m *model) compareTokens(s *projections.State) error {
	for name, t := range m.tokens {
		shown := s.Token(name)
		if shown == nil || shown.Live() != t.Live || string(shown.Kind) != t.Kind || shown.Generation != t.Generation ||
			shown.ExpiresAt != t.ExpiresAt {
			return fmt.Errorf("token %s is shown as %+v, expected %+v", name, shown, t)
		}
	}
	return nil
}

func (m *model) compareTemplates(s *projections.State) error {
	var shown []string
	for t := range s.Templates() {
		shown = append(shown, t.ID)
	}
	for _, id := range m.templateIDs {
		t, is := m.templates[id], s.Template(id)
		if t.Deleted {
			if is != nil {
				return fmt.Errorf("the deleted template %s is shown as %+v", id, is)
			}
			continue
		}
		if len(shown) == 0 || shown[0] != id {
			return fmt.Errorf("next in the list of templates are %q, expected %s", shown, id)
		}
		shown = shown[1:]
		if is == nil || is.Name != t.Name || string(is.Role) != t.Role || is.Content != t.Content ||
			is.Version != t.Version {
			return fmt.Errorf("template %s is shown as %+v, expected %+v", id, is, t)
		}
	}
	if len(shown) > 0 {
		return fmt.Errorf("the templates %q are shown, and are none", shown)
	}
	return nil
}

func (m *model) compareWebhooks(s *projections.State) error {
	var shown []string
	for x := range s.Webhooks() {
		shown = append(shown, x.ID)
	}
	for _, id := range m.webhookIDs {
		x, is := m.webhooks[id], s.Webhook(id)
		if x.Deleted {
			if is != nil {
				return fmt.Errorf("the deleted webhook %s is shown as %+v", id, is)
			}
			continue
		}
		if len(shown) == 0 || shown[0] != id {
			return fmt.Errorf("next in the list of webhooks are %q, expected %s", shown, id)
		}
		shown = shown[1:]
		parked := ""
		if is != nil && is.Parked != nil {
			parked = string(is.Parked.Why)
		}
		if is == nil || is.Name != x.Name || is.URL != x.URL || is.ProjectID != x.Project ||
			!slices.Equal(is.Types, x.Types) || is.Generation != x.Generation || is.After != x.After ||
			is.StartedAt != x.Started || parked != x.Parked {
			return fmt.Errorf("webhook %s is shown as %+v, expected %+v", id, is, x)
		}
	}
	if len(shown) > 0 {
		return fmt.Errorf("the webhooks %q are shown, and are none", shown)
	}
	return nil
}
