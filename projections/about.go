package projections

import (
	"slices"
	"strings"
)

// About are the sessions and the tasks that an object, a view or an entry of a timeline is about.
type About struct{ Sessions, Tasks []string }

// Has reports whether a session and a task are among them; "" is always.
func (a *About) Has(session, task string) bool {
	return (session == "" || slices.Contains(a.Sessions, session)) && (task == "" || slices.Contains(a.Tasks, task))
}

// AddFrom adds what an object or an entry of a timeline is about, in a state. What an entry says of a question is about
// what the question is about.
func (a *About) AddFrom(s *State, object any) {
	a.Add(object)
	if x, isEntry := object.(*Entry); isEntry {
		a.Add(s.Input(x.InputID))
	}
}

// ChangeAbout returns what a change is about: the object as it was and as it is, or the entry of a timeline.
func (s *State) ChangeAbout(change Change) (a About) {
	a.AddFrom(s, change.Before)
	a.AddFrom(s, change.After)
	return a
}

// Add adds what an object or its view is about, as far as it says so itself; nothing for the other kinds, and for nil.
func (a *About) Add(object any) {
	switch x := object.(type) {
	case *Task:
		if x != nil {
			a.addTask(x.ID, x.SessionIDs, x.AllSays())
		}
	case TaskView:
		a.addTask(x.ID, x.SessionIDs, x.Says)
	case *Session:
		if x != nil {
			a.add([]string{x.ID}, x.TaskIDs)
		}
	case SessionView:
		a.add([]string{x.ID}, x.TaskIDs)
	case *Item:
		if x != nil {
			a.add([]string{x.SessionID}, []string{x.TaskID})
		}
	case ItemView:
		a.add([]string{x.SessionID}, []string{x.TaskID})
	case *Input: // one that names no task is about that at which its session worked
		if x != nil {
			a.addQuestion(x.SessionID, x.TaskIDs, x.OnTask)
		}
	case InputView:
		a.addQuestion(x.SessionID, x.TaskIDs, x.OnTask)
	case *Entry:
		a.add([]string{x.SessionID}, []string{x.TaskID})
	}
}

func (a *About) add(sessions, tasks []string) {
	a.Sessions, a.Tasks = append(a.Sessions, sessions...), append(a.Tasks, tasks...)
}

func (a *About) addQuestion(session string, tasks []string, onTask string) {
	a.add([]string{session}, tasks)
	if onTask != "" {
		a.add(nil, []string{onTask})
	}
}

func (a *About) addTask(id string, sessions []string, says []StatusReport) {
	a.add(sessions, []string{id})
	for _, said := range says {
		a.Sessions = append(a.Sessions, said.SessionID)
	}
}

// Object returns the object of a view, also if it is gone; nil for kinds that are about no session and no task.
func (s *State) Object(key ViewKey) any {
	switch key.Kind { //nolint:exhaustive // the others are about neither
	case KindTask:
		return s.TaskEver(key.ID)
	case KindSession:
		return s.SessionEver(key.ID)
	case KindInput:
		return s.Input(key.ID)
	case KindQueueItem:
		if project, rest, ok := strings.Cut(key.ID, "/"); ok {
			queue, task, _ := strings.Cut(rest, "/")
			return s.Item(project, queue, task)
		}
	}
	return nil
}

// ProjectOf returns the project of an object or of an entry of a timeline, "" for kinds that belong to none.
func (s *State) ProjectOf(key ViewKey) string {
	switch key.Kind {
	case KindProject:
		return key.ID
	case KindTask, KindTaskTimeline:
		return s.TaskProject(key.ID)
	case KindSession, KindSessionTimeline:
		return s.SessionProject(key.ID)
	case KindQueue, KindQueueItem:
		project, _, _ := strings.Cut(key.ID, "/")
		return project
	case KindInput:
		if x := s.Input(key.ID); x != nil {
			return x.ProjectID
		}
	case KindTemplate, KindToken, KindWebhook: // of no project
	}
	return ""
}
