package events

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// TaskStatus is the authoritative state of a task. Only a user or an orchestrator changes it
// (docs/spec/003-manifest-schema.md, "Status Types").
type TaskStatus string

// The task statuses (docs/spec/003-manifest-schema.md, "Status Types").
const (
	TaskTodo       TaskStatus = "todo"
	TaskInProgress TaskStatus = "in_progress"
	TaskCompleted  TaskStatus = "completed"
	TaskCancelled  TaskStatus = "cancelled"
	TaskBlocked    TaskStatus = "blocked"
)

// Over reports whether nobody works any more on a task with this status.
func (s TaskStatus) Over() bool { return s == TaskCompleted || s == TaskCancelled }

// Priorities returns the priorities that a task may have, the lowest first.
func Priorities() []string { return []string{"low", "medium", "high", "critical"} }

// AnyPriority names the priorities in a sentence.
const AnyPriority = "low, medium, high or critical"

// StatusChange is one change of a task's status.
type StatusChange struct {
	From TaskStatus `json:"from" doc:"status before"`
	To   TaskStatus `json:"to" doc:"status after"`
}

// Notice lists the sessions that are notified by mail of what became of a task.
type Notice struct {
	MailID     string   `json:"mailId" doc:"what input.delivered names once a session was shown it"`
	SessionIDs []string `json:"sessionIds" doc:"the living sessions that have the task or reported on it, sorted; of a completed or deleted task, only those still at work on it"`
}

// SiblingOrder is a task's position among its siblings. Siblings are ordered by their keys, which compare as text; the
// key of a task without one is "8" and the 15 hexadecimal digits of the sequence that created it.
type SiblingOrder struct {
	Key    string `json:"key" doc:"16 hexadecimal digits or more"`
	Before string `json:"before,omitempty" doc:"the sibling directly before which it was put"`
	After  string `json:"after,omitempty" doc:"the sibling directly after which it was put"`
	// Respaced: the tasks of the project whose keys are the first 16 digits of Key and a fraction get new keys, with
	// this task at its place among them. The i-th of n has the fraction i*(2^32/(n+1)), rounded down before it is
	// multiplied, as 8 hexadecimal digits without zeros at the end.
	Respaced bool `json:"respaced,omitempty" doc:"there was no room: all tasks there got new keys, in the same order"`
}

// TaskCreated: a task was created, with status todo.
type TaskCreated struct {
	TaskID             string          `json:"taskId" doc:"the new task"`
	Title              string          `json:"title" doc:"1 to 200 characters"`
	Description        string          `json:"description,omitempty" doc:"what is to be done"`
	AcceptanceCriteria []string        `json:"acceptanceCriteria,omitempty" doc:"what must be true when it is done"`
	Priority           string          `json:"priority" doc:"low, medium, high or critical"`
	ParentID           string          `json:"parentId,omitempty" doc:"the task above it; absent: a root task"`
	Dependencies       []string        `json:"dependencies,omitempty" doc:"tasks that must be completed first"`
	InitialPrompt      string          `json:"initialPrompt,omitempty" doc:"what to tell the agent first"`
	SkillIDs           []string        `json:"skillIds,omitempty" doc:"skills that the work needs"`
	Model              string          `json:"model,omitempty" doc:"model that should do it"`
	PlanID             string          `json:"planId,omitempty" doc:"its id in a plan, unique in its project"`
	Labels             []string        `json:"labels,omitempty" doc:"words that group tasks"`
	Metadata           json.RawMessage `json:"metadata,omitempty" doc:"free, as given"`
	Forced             bool            `json:"forced,omitempty" doc:"forced, in spite of its completed parent"`
	Blobs              Blobs           `json:"blobs,omitempty" doc:"digests of the long texts in MAESTRO_BLOBS, by field"`
}

// TaskUpdated: the fields that are present have new values.
type TaskUpdated struct {
	TaskID             string          `json:"taskId" doc:"the task"`
	Title              *string         `json:"title,omitempty" doc:"new title"`
	Description        *string         `json:"description,omitempty" doc:"new description"`
	AcceptanceCriteria *[]string       `json:"acceptanceCriteria,omitempty" doc:"new criteria, all of them"`
	Priority           *string         `json:"priority,omitempty" doc:"new priority"`
	Dependencies       *[]string       `json:"dependencies,omitempty" doc:"new dependencies, all of them"`
	SkillIDs           *[]string       `json:"skillIds,omitempty" doc:"new skills, all of them"`
	AgentIDs           *[]string       `json:"agentIds,omitempty" doc:"new agents, all of them"`
	Model              *string         `json:"model,omitempty" doc:"new model"`
	ParentID           *string         `json:"parentId,omitempty" doc:"new parent; empty: it is a root task now"`
	InitialPrompt      *string         `json:"initialPrompt,omitempty" doc:"new text to tell the agent first"`
	PlanID             *string         `json:"planId,omitempty" doc:"new id in a plan; empty: none"`
	Labels             *[]string       `json:"labels,omitempty" doc:"new labels, all of them"`
	Order              *SiblingOrder   `json:"order,omitempty" doc:"new place among its siblings"`
	Metadata           json.RawMessage `json:"metadata,omitempty" doc:"new metadata, whole"`
	Status             *StatusChange   `json:"status,omitempty" doc:"the move of its status, if it moved"`
	Forced             bool            `json:"forced,omitempty" doc:"forced, in spite of open tasks below it or of a completed parent"`
	Notice             *Notice         `json:"notice,omitempty" doc:"who hears that it is open again, blocked, cancelled or completed"`
	Blobs              Blobs           `json:"blobs,omitempty" doc:"digests of the long texts in MAESTRO_BLOBS, by field"`
}

// TaskStatusChanged: a caller with the right to do so changed the task's status.
type TaskStatusChanged struct {
	TaskID string     `json:"taskId" doc:"the task"`
	From   TaskStatus `json:"from" doc:"status before"`
	To     TaskStatus `json:"to" doc:"status after"`
	Reason string     `json:"reason,omitempty" doc:"why"`
	Forced bool       `json:"forced,omitempty" doc:"forced, in spite of open tasks below it or of a completed parent"`
	Notice *Notice    `json:"notice,omitempty" doc:"who hears that it is open again, blocked, cancelled or completed"`
}

// TaskDeleted: the task, and with recursive its descendants, are removed from the views; their history stays.
type TaskDeleted struct {
	TaskID      string   `json:"taskId" doc:"the task"`
	Recursive   bool     `json:"recursive,omitempty" doc:"its descendants went with it"`
	Descendants []string `json:"descendants,omitempty" doc:"which they were, parents first"`
	Title       string   `json:"title,omitempty" doc:"the title that the task had"`
	Notice      *Notice  `json:"notice,omitempty" doc:"who is told that a task is gone on which it works"`
}

// Fields names the fields that have new values, in the order of the payload; the status is not among them.
func (d *TaskUpdated) Fields() []string {
	var names []string
	for _, field := range []struct {
		name  string
		given bool
	}{
		{"title", d.Title != nil},
		{"description", d.Description != nil},
		{"acceptanceCriteria", d.AcceptanceCriteria != nil},
		{"priority", d.Priority != nil},
		{"dependencies", d.Dependencies != nil},
		{"skillIds", d.SkillIDs != nil},
		{"agentIds", d.AgentIDs != nil},
		{"model", d.Model != nil},
		{"parentId", d.ParentID != nil},
		{"initialPrompt", d.InitialPrompt != nil},
		{"planId", d.PlanID != nil},
		{"labels", d.Labels != nil},
		{"order", d.Order != nil},
		{"metadata", d.Metadata != nil},
	} {
		if field.given {
			names = append(names, field.name)
		}
	}
	return names
}

// ownFields are Fields without those that Describe words itself.
func (d *TaskUpdated) ownFields() []string {
	return slices.DeleteFunc(d.Fields(), func(name string) bool { return name == "parentId" || name == "order" })
}

var taskEvents = []Entry{
	entry[TaskCreated]("A task exists from now on, with status todo."),
	entry[TaskUpdated]("Fields of a task, and perhaps its status, have new values."),
	entry[TaskStatusChanged]("A user or an orchestrator moved a task's status."),
	entry[TaskDeleted]("A task is gone from the views."),
}

// EventType implements Data.
func (*TaskCreated) EventType() string { return "maestro.task.created.v1" }

// EventType implements Data.
func (*TaskUpdated) EventType() string { return "maestro.task.updated.v1" }

// EventType implements Data.
func (*TaskStatusChanged) EventType() string { return "maestro.task.status_changed.v1" }

// EventType implements Data.
func (*TaskDeleted) EventType() string { return "maestro.task.deleted.v1" }

// Aggregate implements Data.
func (d *TaskCreated) Aggregate() (kind, id string) { return AggregateTask, d.TaskID }

// Aggregate implements Data.
func (d *TaskUpdated) Aggregate() (kind, id string) { return AggregateTask, d.TaskID }

// Aggregate implements Data.
func (d *TaskStatusChanged) Aggregate() (kind, id string) { return AggregateTask, d.TaskID }

// Aggregate implements Data.
func (d *TaskDeleted) Aggregate() (kind, id string) { return AggregateTask, d.TaskID }

// Describe implements Data.
func (d *TaskCreated) Describe() Description {
	return describe("created", "create",
		named(" task ", d.TaskID, ""), quoted(d.Title), besides(" below ", d.ParentID),
		allOf(" after ", d.Dependencies))
}

// Describe implements Data.
func (d *TaskUpdated) Describe() Description {
	moved := phrase{}
	if d.ParentID != nil {
		moved = text(", moved to the root")
		if *d.ParentID != "" {
			moved = besides(", moved below ", *d.ParentID)
		}
	}
	var status, before, after phrase
	if d.Status != nil {
		status = text(fmt.Sprintf(": %s → %s", d.Status.From, d.Status.To))
	}
	if d.Order != nil {
		before, after = besides(", put before ", d.Order.Before), besides(", put after ", d.Order.After)
	}
	return describe("updated", "update", named(" ", d.TaskID, " it"), status, forced(d.Forced),
		prefixed(", changed ", strings.Join(d.ownFields(), ", ")), moved, before, after)
}

// Describe implements Data.
func (d *TaskStatusChanged) Describe() Description {
	if d.From == d.To && d.To == TaskInProgress {
		return describe("said", "say", text(" why"), named(" ", d.TaskID, " it"), text(" was reopened"),
			forced(d.Forced), prefixed(": ", d.Reason))
	}
	return describe("moved", "move", named(" ", d.TaskID, " it"), text(fmt.Sprintf(": %s → %s", d.From, d.To)),
		forced(d.Forced), prefixed(": ", d.Reason))
}

// Describe implements Data.
func (d *TaskDeleted) Describe() Description {
	title := phrase{}
	if d.Title != "" {
		title = quoted(d.Title)
	}
	return describe("deleted", "delete",
		named(" task ", d.TaskID, ""), title, allOf(" and all below it: ", d.Descendants))
}

func (*TaskCreated) sealed()       {}
func (*TaskUpdated) sealed()       {}
func (*TaskStatusChanged) sealed() {}
func (*TaskDeleted) sealed()       {}
