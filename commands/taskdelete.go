package commands

import (
	"cmp"
	"strings"

	"maestro/events"
	"maestro/projections"
)

// DeleteTask removes a task from the views, with recursive everything below it too.
type DeleteTask struct {
	noTexts
	ProjectRef
	TaskID    string `json:"taskId" doc:"the task"`
	Recursive bool   `json:"recursive,omitempty" doc:"delete everything below it too"`
	Force     bool   `json:"force,omitempty" doc:"delete it even if open tasks depend on it"`
	// Whole refuses to leave tasks below it without a parent, and dependents that could never start. Only the route of
	// older clients omits it.
	Whole bool `json:"-"`
}

// ID implements Command.
func (*DeleteTask) ID() string { return "task:delete" }

func (x *DeleteTask) project(s *projections.State, by Actor) string {
	return projectOfTask(s, by, x.ProjectRef, x.TaskID)
}

// Decide implements Command.
func (x *DeleteTask) Decide(s *projections.State, c Call) (events.Data, error) {
	t, err := task(s, c, x.ProjectRef, x.TaskID)
	if err != nil {
		return nil, err
	}
	deleted := &events.TaskDeleted{TaskID: t.ID, Recursive: x.Recursive}
	if thirdOn(c.Rules) {
		deleted.Title = t.Title
	}
	if x.Whole && !x.Recursive {
		if err := noneBelow(s, t.ID); err != nil {
			return nil, err
		}
	}
	if x.Recursive {
		g := graphOf(s, c)
		most := g.most(LimitDeleted)
		if deleted.Descendants = s.Descendants(t.ID, most); len(deleted.Descendants) > most {
			refusal := LimitDeleted.exceeded("/recursive", "task '"+t.ID+"'", 0)
			refusal.Next = "delete what is below it first, branch by branch"
			return nil, refusal
		}
		if err := g.deletes(append([]string{t.ID}, deleted.Descendants...)); err != nil {
			return nil, err
		}
	}
	if x.Whole && !x.Force {
		if err := noneDepends(s, append([]string{t.ID}, deleted.Descendants...)); err != nil {
			return nil, err
		}
	}
	gone := make([]*projections.Task, 0, 1+len(deleted.Descendants))
	for _, id := range append([]string{t.ID}, deleted.Descendants...) {
		gone = append(gone, s.Task(id))
	}
	deleted.Notice = noticeTo(s, c, true, gone...)
	return deleted, nil
}

// Warnings implements Warner.
func (*DeleteTask) Warnings(s *projections.State, data events.Data) []Warning {
	deleted, ok := data.(*events.TaskDeleted)
	if !ok {
		return nil
	}
	about := "task " + deleted.TaskID
	if len(deleted.Descendants) > 0 {
		about += ", or on one below it"
	}
	return workStopped(s, deleted.Notice, about, false, append([]string{deleted.TaskID}, deleted.Descendants...)...)
}

// noneDepends refuses to delete tasks that open tasks depend on: a deleted dependency is never completed.
func noneDepends(s *projections.State, deleted []string) error {
	seen := setOf(deleted)
	var waiting []string
	first := ""
	for _, id := range deleted {
		for t := range s.WaitFor(id) {
			if seen[t.ID] {
				continue
			}
			seen[t.ID] = true
			waiting = append(waiting, t.ID)
			first = cmp.Or(first, id)
		}
	}
	if len(waiting) == 0 {
		return nil
	}
	return &Refusal{
		Code: CodeRule,
		Message: "Tasks depend on '" + first + "': " +
			someOf(waiting[:min(len(waiting), belowNamed)], len(waiting)),
		Why:  "a deleted task is never completed, so they could not be started",
		Next: "`maestro task update " + waiting[0] + " --remove-depends-on " + first + "`, or repeat it with --force",
	}
}

// noneBelow refuses a task with tasks below it, and names the first of them.
func noneBelow(s *projections.State, id string) error {
	var below []string
	for child := range s.Children(id) {
		if len(below) == belowNamed {
			below = append(below, "and others")
			break
		}
		below = append(below, child.ID)
	}
	if len(below) == 0 {
		return nil
	}
	return &Refusal{
		Code:    CodeRule,
		Message: "Task '" + id + "' has tasks below it: " + strings.Join(below, ", "),
		Why:     "deleting it alone would leave them without a parent",
		Next:    "delete everything with --recursive, or delete them first",
	}
}

// belowNamed is how many tasks a refusal names.
const belowNamed = 5

func (x *DeleteTask) from(e *events.Event, d *events.TaskDeleted) bool {
	*x = DeleteTask{ProjectRef: inProject(e), TaskID: d.TaskID, Recursive: d.Recursive}
	return true
}
