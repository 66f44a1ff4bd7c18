package projections

import "iter"

// Keys yields the keys of all views of a state, in order of creation by kind, project by project.
func (x *ViewIndex) Keys(s *State) iter.Seq[ViewKey] {
	return func(yield func(ViewKey) bool) {
		for p := range s.Projects() {
			if !yield(ViewKey{KindProject, p.ID}) || !x.keysIn(s, p.ID, yield) {
				return
			}
		}
		for _, id := range s.TemplateIDs() {
			if s.Template(id) != nil && !yield(ViewKey{KindTemplate, id}) {
				return
			}
		}
		for _, name := range s.TokenNames() {
			if !yield(ViewKey{KindToken, name}) {
				return
			}
		}
		for x := range s.Webhooks() {
			if !yield(ViewKey{KindWebhook, x.ID}) {
				return
			}
		}
	}
}

func (x *ViewIndex) keysIn(s *State, project string, yield func(ViewKey) bool) bool {
	for t := range s.Tasks(project) {
		if !yield(ViewKey{KindTask, t.ID}) {
			return false
		}
	}
	for _, id := range s.SessionIDsFrom(project, 0) {
		if s.Session(id) != nil && !yield(ViewKey{KindSession, id}) {
			return false
		}
	}
	for q := range s.Queues(project) {
		if !yield(ViewKey{KindQueue, queueKey(project, q.Name)}) {
			return false
		}
		for _, item := range s.Items(q) {
			if !yield(ViewKey{KindQueueItem, itemKey(project, q.Name, item.TaskID)}) {
				return false
			}
		}
	}
	for input := range s.Inputs(project) {
		if !yield(ViewKey{KindInput, input.ID}) {
			return false
		}
	}
	return true
}

// View returns a view: a [ProjectView], [TaskView], [SessionView], [QueueView], [ItemView], [InputView], [TokenView],
// *[Template] or [WebhookView]; nil if there is no such object any more. A question has waited until the newest event.
func (x *ViewIndex) View(s *State, key ViewKey) any {
	switch key.Kind {
	case KindProject:
		if p := s.Project(key.ID); p != nil {
			return s.ProjectView(p)
		}
	case KindTask:
		if t := s.Task(key.ID); t != nil {
			view := s.ListedTask(t)
			view.Progress = x.Progress(t.ID)
			return view
		}
	case KindSession:
		if y := s.Session(key.ID); y != nil {
			return s.SessionView(y)
		}
	case KindQueue:
		if q := s.queues.get(key.ID); q != nil && !q.Deleted {
			return s.QueueView(q)
		}
	case KindQueueItem:
		if item := s.items.get(key.ID); item != nil && !item.Removed {
			if q := s.Queue(item.ProjectID, item.Queue); q != nil {
				return s.ItemView(q, item)
			}
		}
	case KindInput:
		if input := s.Input(key.ID); input != nil {
			return s.InputView(input, s.At().UnixMilli())
		}
	case KindTemplate:
		if t := s.Template(key.ID); t != nil {
			return t
		}
	case KindToken:
		if t := s.Token(key.ID); t != nil {
			return t.View()
		}
	case KindWebhook:
		if x := s.Webhook(key.ID); x != nil {
			return x.View()
		}
	case KindSessionTimeline, KindTaskTimeline: // their entries are no views
	}
	return nil
}
