package commands

import (
	"encoding/json"
	"slices"
	"strings"

	"maestro/events"
	"maestro/internal/safetext"
	"maestro/projections"
)

// CreateTask creates a task, with status todo. docs/contract.md, "Permissions"; compat: POST /api/tasks.
type CreateTask struct {
	ProjectRef
	Title              string          `json:"title" doc:"1 to 200 characters"`
	Description        string          `json:"description,omitempty" flag:"\"<text>\"" doc:"what to do"`
	AcceptanceCriteria []string        `json:"acceptanceCriteria,omitempty" flag:"criteria \"<text>\"…" doc:"what must be true when the task is done"`
	Priority           string          `json:"priority,omitempty" flag:"low|medium|high|critical" doc:"its priority; medium if absent"`
	ParentID           string          `json:"parentId,omitempty" flag:"parent <taskId>" doc:"its parent; null or absent: a root task"`
	Dependencies       []string        `json:"dependencies,omitempty" flag:"depends-on <taskIds>" doc:"tasks that must be completed first"`
	InitialPrompt      string          `json:"initialPrompt,omitempty" flag:"prompt \"<text>\"" doc:"what to tell the agent first"`
	SkillIDs           []string        `json:"skillIds,omitempty" flag:"skills <skills>" doc:"skills that the work needs"`
	Model              string          `json:"model,omitempty" doc:"its model: sonnet, opus, haiku or a full name"`
	PlanID             string          `json:"planId,omitempty" flag:"<id>" doc:"its id in a plan, unique in the project"`
	Labels             []string        `json:"labels,omitempty" flag:"<labels>" doc:"words that group tasks"`
	Metadata           json.RawMessage `json:"metadata,omitempty" doc:"what your own tools store with it"`
	Force              bool            `json:"force,omitempty" doc:"create it even if its parent is completed"`

	blobs events.Blobs
}

// UpdateTask updates fields of a task, including its status. docs/contract.md, "Permissions"; compat: PATCH
// /api/tasks/:id.
type UpdateTask struct {
	ProjectRef
	TaskID             string             `json:"taskId" doc:"the task"`
	Title              *string            `json:"title,omitempty" flag:"\"<text>\"" doc:"new title"`
	Description        *string            `json:"description,omitempty" flag:"\"<text>\"" doc:"new description"`
	AcceptanceCriteria *[]string          `json:"acceptanceCriteria,omitempty" flag:"criteria \"<text>\"…" doc:"new criteria: what must be true when it is done"`
	Priority           *string            `json:"priority,omitempty" flag:"low|medium|high|critical" doc:"new priority"`
	Dependencies       *[]string          `json:"dependencies,omitempty" flag:"depends-on <taskIds>" doc:"the new list of tasks that must be completed first"`
	AddDependencies    []string           `json:"addDependencies,omitempty" flag:"add-depends-on <taskIds>" doc:"more tasks that must be completed first"`
	RemoveDependencies []string           `json:"removeDependencies,omitempty" flag:"remove-depends-on <taskIds>" doc:"tasks that it no longer depends on"`
	ParentID           *string            `json:"parentId,omitempty" flag:"parent <taskId>" doc:"the task to move it below; null: make it a root task"`
	Before             string             `json:"before,omitempty" flag:"before <taskId>" doc:"the sibling to put it directly before"`
	After              string             `json:"after,omitempty" flag:"after <taskId>" doc:"the sibling to put it directly after"`
	InitialPrompt      *string            `json:"initialPrompt,omitempty" flag:"prompt \"<text>\"" doc:"what to tell the agent first"`
	SkillIDs           *[]string          `json:"skillIds,omitempty" flag:"skills <skills>" doc:"the new list of skills that the work needs"`
	AgentIDs           *[]string          `json:"agentIds,omitempty" doc:"its agents, in place of the old ones"`
	Model              *string            `json:"model,omitempty" doc:"its model: sonnet, opus, haiku or a full name"`
	PlanID             *string            `json:"planId,omitempty" flag:"<id>" doc:"its id in a plan, unique in the project; empty: none"`
	Labels             *[]string          `json:"labels,omitempty" flag:"<labels>" doc:"the new list of words that group tasks"`
	AddLabels          []string           `json:"addLabels,omitempty" flag:"<labels>" doc:"labels to add"`
	RemoveLabels       []string           `json:"removeLabels,omitempty" flag:"<labels>" doc:"labels to take away"`
	Metadata           json.RawMessage    `json:"metadata,omitempty" doc:"what your own tools store with it now"`
	Status             *events.TaskStatus `json:"status,omitempty" flag:"todo|in_progress|completed|blocked" doc:"new status; a user may also set cancelled"`
	Force              bool               `json:"force,omitempty" doc:"allow open tasks below a completed one"`

	blobs events.Blobs
	// decided says that the command was reconstructed from its event, whose dependencies are those after the update:
	// some may be older, and deleted since.
	decided bool
}

// ReopenTask returns a task that is completed, blocked or said to be done to in_progress.
type ReopenTask struct {
	noTexts
	ProjectRef
	TaskID string `json:"taskId" doc:"the task"`
	Reason string `json:"reason,omitempty" flag:"\"<reason>\"" doc:"what is missing; the task's timeline shows it"`
	Force  bool   `json:"force,omitempty" doc:"reopen it even if its parent is completed"`
}

// ID implements Command.
func (*CreateTask) ID() string { return "task:create" }

// ID implements Command.
func (*UpdateTask) ID() string { return "task:update" }

// ID implements Command.
func (*ReopenTask) ID() string { return "task:reopen" }

func (x *CreateTask) project(_ *projections.State, by Actor) string { return x.projectOr(by) }

func (x *UpdateTask) project(s *projections.State, by Actor) string {
	return projectOfTask(s, by, x.ProjectRef, x.TaskID)
}

func (x *ReopenTask) project(s *projections.State, by Actor) string {
	return projectOfTask(s, by, x.ProjectRef, x.TaskID)
}

// projectOfTask returns the project of a command's task; the project that the caller names counts only if there is no
// such task.
func projectOfTask(s *projections.State, by Actor, in ProjectRef, task string) string {
	if project := s.TaskProject(task); project != "" {
		return project
	}
	return in.projectOr(by)
}

func (x *CreateTask) texts() (map[string]*string, *events.Blobs) {
	return map[string]*string{"description": &x.Description, "initialPrompt": &x.InitialPrompt}, &x.blobs
}

func (x *UpdateTask) texts() (map[string]*string, *events.Blobs) {
	return map[string]*string{"description": x.Description, "initialPrompt": x.InitialPrompt}, &x.blobs
}

// Decide implements Command.
func (x *CreateTask) Decide(s *projections.State, c Call) (events.Data, error) {
	if c.Project == "" {
		return nil, invalid("/project", "Project ID is required")
	}
	title := strings.TrimSpace(x.Title)
	if title == "" {
		refusal := invalid("/title", "Task title is required")
		refusal.Next = "give the task a title that says what to do"
		return nil, refusal
	}
	if _, err := project(s, "/project", c.Project); err != nil {
		return nil, err
	}
	priority := x.Priority
	if priority == "" {
		priority = "medium"
	}
	check := taskFields{
		&title, &x.Description, &x.AcceptanceCriteria, &priority, &x.SkillIDs, nil, &x.Model,
		x.Metadata,
	}
	if err := check.valid(); err != nil {
		return nil, err
	}
	if err := ValidText("/initialPrompt", x.InitialPrompt); err != nil {
		return nil, err
	}
	labels, err := validLabels(x.Labels)
	if err != nil {
		return nil, err
	}
	if err := parentIn(s, c.Project, x.ParentID); err != nil {
		return nil, err
	}
	if err := planIDIn(s, c, c.Project, "", x.PlanID); err != nil {
		return nil, err
	}
	g := graphOf(s, c)
	if err := g.below(x.ParentID); err != nil {
		return nil, err
	}
	dependencies := unique(x.Dependencies)
	if err := g.dependencies(c.Project, "", x.ParentID, nil, dependencies); err != nil {
		return nil, err
	}
	forced, err := mayBeOpen(s, c, x.ParentID, x.Force)
	if err != nil {
		return nil, err
	}
	return &events.TaskCreated{
		TaskID:             newID("task", c, taskTaken(s)),
		Title:              title,
		Description:        x.Description,
		AcceptanceCriteria: x.AcceptanceCriteria,
		Priority:           priority,
		ParentID:           x.ParentID,
		Dependencies:       dependencies,
		InitialPrompt:      x.InitialPrompt,
		SkillIDs:           x.SkillIDs,
		Model:              x.Model,
		PlanID:             x.PlanID,
		Labels:             labels,
		Metadata:           x.Metadata,
		Forced:             forced,
		Blobs:              x.blobs,
	}, nil
}

func (x *CreateTask) from(e *events.Event, d *events.TaskCreated) bool {
	*x = CreateTask{
		ProjectRef:         inProject(e),
		Title:              d.Title,
		Description:        d.Description,
		AcceptanceCriteria: d.AcceptanceCriteria,
		Priority:           d.Priority,
		ParentID:           d.ParentID,
		Dependencies:       d.Dependencies,
		InitialPrompt:      d.InitialPrompt,
		SkillIDs:           d.SkillIDs,
		Model:              d.Model,
		PlanID:             d.PlanID,
		Labels:             d.Labels,
		Metadata:           d.Metadata,
		Force:              d.Forced,
		blobs:              d.Blobs,
	}
	return true
}

// Decide implements Command.
func (x *UpdateTask) Decide(s *projections.State, c Call) (events.Data, error) {
	t, err := task(s, c, x.ProjectRef, x.TaskID)
	if err != nil {
		return nil, err
	}
	title := x.Title
	if title != nil {
		trimmed := strings.TrimSpace(*title)
		if trimmed == "" {
			return nil, invalid("/title", "Task title cannot be empty")
		}
		title = &trimmed
	}
	check := taskFields{
		title, x.Description, x.AcceptanceCriteria, x.Priority, x.SkillIDs, x.AgentIDs, x.Model,
		x.Metadata,
	}
	if err := check.valid(); err != nil {
		return nil, err
	}
	if x.InitialPrompt != nil {
		if err := ValidText("/initialPrompt", *x.InitialPrompt); err != nil {
			return nil, err
		}
	}
	labels, err := x.labels(s, t)
	if err != nil {
		return nil, err
	}
	parent, dependencies, err := x.place(s, c, t)
	if err != nil {
		return nil, err
	}
	order, err := x.order(s, c, t, parent)
	if err != nil {
		return nil, err
	}
	if x.PlanID != nil && *x.PlanID != t.PlanID {
		if err := planIDIn(s, c, t.ProjectID, t.ID, *x.PlanID); err != nil {
			return nil, err
		}
	}
	update := &events.TaskUpdated{
		TaskID:             t.ID,
		Title:              title,
		Description:        x.Description,
		AcceptanceCriteria: x.AcceptanceCriteria,
		Priority:           x.Priority,
		Dependencies:       dependencies,
		SkillIDs:           x.SkillIDs,
		AgentIDs:           x.AgentIDs,
		Model:              x.Model,
		ParentID:           parent,
		InitialPrompt:      x.InitialPrompt,
		PlanID:             x.PlanID,
		Labels:             labels,
		Order:              order,
		Metadata:           x.Metadata,
		Blobs:              x.blobs,
	}
	if x.Status != nil {
		if err := mayMoveTo(c.By, *x.Status); err != nil {
			return nil, err
		}
		if *x.Status != t.Status {
			update.Status = &events.StatusChange{From: t.Status, To: *x.Status}
		}
	}
	if update.Forced, err = x.mayMove(s, c, t, parent); err != nil {
		return nil, err
	}
	given := len(update.Fields())
	if thirdOn(c.Rules) {
		s.Worked(len(x.Metadata)/jsonPerStep + len(t.Metadata)/jsonPerStep*min(len(x.Metadata), 1))
		update = onlyChanges(t, update)
	}
	if update.Status == nil && len(update.Fields()) == 0 && (thirdOn(c.Rules) || given == 0 && x.Status != nil) {
		return nil, nil
	}
	if update.Status != nil {
		update.Notice = noticeOf(s, c, t, update.Status.To, false)
	}
	return update, nil
}

func (x *UpdateTask) from(e *events.Event, d *events.TaskUpdated) bool {
	*x = UpdateTask{
		ProjectRef:         inProject(e),
		TaskID:             d.TaskID,
		Title:              d.Title,
		Description:        d.Description,
		AcceptanceCriteria: d.AcceptanceCriteria,
		Priority:           d.Priority,
		Dependencies:       d.Dependencies,
		SkillIDs:           d.SkillIDs,
		AgentIDs:           d.AgentIDs,
		Model:              d.Model,
		ParentID:           d.ParentID,
		InitialPrompt:      d.InitialPrompt,
		PlanID:             d.PlanID,
		Labels:             d.Labels,
		Metadata:           d.Metadata,
		Force:              d.Forced,
		blobs:              d.Blobs,
		decided:            true,
	}
	if d.Order != nil {
		x.Before, x.After = d.Order.Before, d.Order.After
	}
	if d.Status != nil {
		x.Status = &d.Status.To
	}
	return true
}

// mayMove checks the task's status and place after the update.
func (x *UpdateTask) mayMove(s *projections.State, c Call, t *projections.Task, parent *string) (forced bool,
	err error,
) {
	above, to := t.ParentID, t.Status
	if parent != nil {
		above = *parent
	}
	if x.Status != nil {
		to = *x.Status
	}
	return mayMove(s, c, t, above, to, x.Force)
}

// means returns the command for the status that the update sets.
func (x *UpdateTask) means() string {
	if x.Status != nil {
		switch *x.Status {
		case events.TaskCompleted:
			return "task:complete"
		case events.TaskBlocked:
			return "task:block"
		case events.TaskTodo, events.TaskInProgress, events.TaskCancelled:
		}
	}
	return x.ID()
}

// Decide implements Command.
func (x *ReopenTask) Decide(s *projections.State, c Call) (events.Data, error) {
	t, err := task(s, c, x.ProjectRef, x.TaskID)
	if err != nil {
		return nil, err
	}
	says, _ := s.SessionStatus(t)
	if t.Status != events.TaskCompleted && t.Status != events.TaskBlocked && says != events.SaysCompleted &&
		!x.saysWhy(c, t) {
		next := nextOfOpen(s, c, t)
		switch {
		case t.Status == events.TaskCancelled && c.By.Kind != ActorUser:
			next = "leave it, or ask the user, who cancelled it"
		case t.Status == events.TaskCancelled:
			next = "reverse the cancellation with `maestro task update " + t.ID + " --status todo`"
		}
		return nil, forbidden("only a task that is completed, blocked or reported as completed can be reopened", next,
			"Task '%s' is %s", t.ID,
			t.Status)
	}
	forced, err := mayMove(s, c, t, t.ParentID, events.TaskInProgress, x.Force)
	if err != nil {
		return nil, err
	}
	if err := validReason(x.Reason); err != nil {
		return nil, err
	}
	return &events.TaskStatusChanged{
		TaskID: t.ID,
		From:   t.Status,
		To:     events.TaskInProgress,
		Reason: x.Reason,
		Forced: forced,
		Notice: noticeOf(s, c, t, events.TaskInProgress, true),
	}, nil
}

// saysWhy reports whether the command gives a reason, or another one, for a task that was reopened before.
func (x *ReopenTask) saysWhy(c Call, t *projections.Task) bool {
	return thirdOn(c.Rules) && t.Reopened && x.Reason != "" && x.Reason != t.StatusReasonText()
}

func (*ReopenTask) warnsAhead() {}

// Warnings implements Warner.
func (x *ReopenTask) Warnings(s *projections.State, data events.Data) (warnings []Warning) {
	t := s.Task(x.TaskID)
	changed, ok := data.(*events.TaskStatusChanged)
	if t == nil || !ok {
		return nil
	}
	isAtWork := func(id string) bool {
		session := s.Session(id)
		return session != nil && isAtWorkOn(s, session, []string{t.ID})
	}
	if x.Reason != "" && (changed.Notice == nil || !slices.ContainsFunc(changed.Notice.SessionIDs, isAtWork)) {
		warnings = append(warnings, Warning{
			Text:  "no session is at work on task " + t.ID + ": the next one that gets it is told the reason",
			Tasks: []string{t.ID},
		})
	}
	if x.Reason == "" && changed.From != events.TaskBlocked {
		warnings = append(warnings, Warning{
			Text:  "nobody is told why task " + t.ID + " was reopened",
			Next:  []string{"say it with `maestro task reopen " + t.ID + " \"<what is missing>\"`"},
			Tasks: []string{t.ID},
		})
	}
	warnings = append(warnings, unheardNotice(s, changed.Notice)...)
	if changed.From != events.TaskBlocked { // it was completed, or reported as completed
		warnings = append(warnings, buildOn(s, t.ID)...)
	}
	return append(warnings, endedInQueues(s, t)...)
}

func (x *ReopenTask) from(e *events.Event, d *events.TaskStatusChanged) bool {
	*x = ReopenTask{
		ProjectRef: inProject(e),
		TaskID:     d.TaskID,
		Reason:     d.Reason,
		Force:      d.Forced,
	}
	return d.To == events.TaskInProgress
}

// task returns the caller's target task, in the caller's project.
func task(s *projections.State, c Call, in ProjectRef, id string) (*projections.Task, error) {
	if err := ValidID("/taskId", id); err != nil {
		return nil, err
	}
	t := s.Task(id)
	if t == nil {
		return nil, notFound("Task", id)
	}
	if in.Project != "" && in.Project != t.ProjectID {
		return nil, invalid(
			"/project", "task '%s' is in project '%s', not in '%s'", id, t.ProjectID, safetext.Printable(in.Project),
		)
	}
	return t, nil
}
