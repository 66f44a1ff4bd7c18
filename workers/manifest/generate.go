package manifest

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"maestro/commands"
	"maestro/events"
)

// DefaultCriterion is the acceptance criterion of a task that has none.
const DefaultCriterion = "Task completion as described"

// Source is the input from which a manifest is generated. Zero values stand for the defaults.
type Source struct {
	// Said holds the requested parts of the manifest itself: its role, strategy, skills, session and template.
	Said Manifest
	// Tasks are the session's; the first is the primary one.
	Tasks []TaskSource
	// Around are other known tasks of the project. Those that matter to the session's become related tasks.
	Around           []TaskSource
	CodebaseContext  *CodebaseContext
	ProjectStandards *ProjectStandards
	// Custom is an object, or nil for one with the ids of the tasks, which existing clients look for.
	Custom json.RawMessage
	// Related come before the tasks derived from Around, and replace those with the same id.
	Related []RelatedTask
	// Agents are the configured agents, as in Reader.
	Agents []string
}

// TaskSource is a task as the server knows it.
type TaskSource struct {
	ID          string
	Title       string
	Description string
	// ParentID is "" for a root task.
	ParentID           string
	AcceptanceCriteria []string
	Dependencies       []string
	Priority           string
	ProjectID          string
	// CreatedAt is in milliseconds since 1970.
	CreatedAt int64
	Metadata  json.RawMessage
	// InitialPrompt is the creator's first instruction to the agent; that of the primary task is put into the free
	// context.
	InitialPrompt string
	// Reopened is why the task was reopened, "" if it was not.
	Reopened string
	// Status and Result are used for related tasks only; Result is the last completing report, or "".
	Status events.TaskStatus
	Result string
}

// Generate generates a manifest that Parse would accept. Otherwise an *InvalidError says what is wrong with the source,
// at the pointers of the manifest.
func Generate(from Source) (*Manifest, error) {
	m := &Manifest{
		ManifestVersion: Version,
		Role:            or(from.Said.Role, events.RoleWorker),
		Strategy:        from.Said.Strategy,
		Tasks:           []Task{},
		Skills:          from.Said.Skills,
		Session:         from.Said.Session,
		Context: &Context{
			CodebaseContext:  from.CodebaseContext,
			RelatedTasks:     related(from),
			ProjectStandards: from.ProjectStandards,
			Custom:           from.Custom,
		},
		TemplateID: from.Said.TemplateID,
	}
	m.Session.setDefaults()
	if strategy, err := commands.ResolveStrategy(m.Role, m.Strategy); err == nil {
		m.Strategy = strategy
	}
	ids := []string{}
	for _, task := range from.Tasks {
		m.Tasks = append(m.Tasks, task.task())
		ids = append(ids, task.ID)
	}
	if m.Context.Custom == nil {
		m.Context.Custom, _ = json.Marshal(map[string][]string{"taskIds": ids}) // it cannot fail
	}
	if err := unreadable(m); err != nil {
		return nil, err
	}
	if len(from.Tasks) > 0 {
		m.Context.Custom = withInitialPrompt(m.Context.Custom, from.Tasks[0].InitialPrompt)
	}
	return Reader{Agents: from.Agents}.Parse(m.Canonical())
}

// withInitialPrompt adds a prompt to the free context, unless there is one. It leaves anything but an object for Parse
// to refuse.
func withInitialPrompt(custom json.RawMessage, prompt string) json.RawMessage {
	var members map[string]json.RawMessage
	if prompt == "" || json.Unmarshal(custom, &members) != nil || members["initialPrompt"] != nil {
		return custom
	}
	members["initialPrompt"], _ = json.Marshal(prompt) // a text can always be marshalled
	merged, err := json.Marshal(members)
	if err != nil {
		return custom
	}
	return merged
}

func or[T ~string](value, otherwise T) T {
	if value == "" {
		return otherwise
	}
	return value
}

// unreadable finds raw values that are not JSON, with which the manifest could not be written.
func unreadable(m *Manifest) error {
	const message = "must be an object, but it is not JSON"
	for i, task := range m.Tasks {
		if task.Metadata != nil && !json.Valid(task.Metadata) {
			return &InvalidError{Faults: []Fault{{"/tasks/" + strconv.Itoa(i) + "/metadata", message}}}
		}
	}
	if !json.Valid(m.Context.Custom) {
		return &InvalidError{Faults: []Fault{{"/context/custom", message}}}
	}
	return nil
}

// task returns a task as its session sees it. It omits status and sessions, which would be outdated when they are read.
func (s TaskSource) task() Task {
	task := Task{
		ID:                 s.ID,
		Title:              s.Title,
		Description:        or(s.Description, s.Title),
		AcceptanceCriteria: s.AcceptanceCriteria,
		Dependencies:       s.Dependencies,
		Priority:           s.Priority,
		ProjectID:          s.ProjectID,
		Metadata:           s.Metadata,
		Reopened:           s.Reopened,
		CreatedAt:          time.UnixMilli(s.CreatedAt).UTC().Format("2006-01-02T15:04:05.000Z"),
	}
	if s.ParentID != "" {
		task.ParentID = &s.ParentID
	}
	if len(task.AcceptanceCriteria) == 0 {
		task.AcceptanceCriteria = []string{DefaultCriterion}
	}
	return task
}

// MostAround bounds how many tasks below its own a session is told of, and how many of their dependents; it can list
// the others.
const MostAround = commands.ManifestAround

// related returns the tasks outside the session that it should know of: what its tasks depend on, with their results;
// the tasks that contain them; their dependents; and the tasks directly below them. Each appears once, in the first of
// these relations.
func related(from Source) []RelatedTask {
	tasks := slices.Clone(from.Related)
	taken := map[string]bool{}
	own := make(map[string]bool, len(from.Tasks))
	for _, task := range from.Tasks {
		taken[task.ID], own[task.ID] = true, true
	}
	for _, task := range tasks {
		taken[task.ID] = true
	}
	around := make(map[string]TaskSource, len(from.Around))
	for _, task := range from.Around {
		around[task.ID] = task
	}
	add := func(id, relationship string) {
		task, known := around[id]
		if !known || taken[id] {
			return
		}
		taken[id] = true
		told := RelatedTask{
			ID:           id,
			Title:        task.Title,
			Status:       string(or(task.Status, events.TaskTodo)),
			Relationship: relationship,
			Summary:      task.Result,
		}
		if relationship == "blocks" {
			told.Description = task.Description
		}
		tasks = append(tasks, told)
	}
	for _, task := range from.Tasks {
		for _, id := range task.Dependencies {
			add(id, "dependency")
		}
	}
	for _, task := range from.Tasks {
		add(task.ParentID, "blocks")
	}
	waiting := 0
	for _, task := range from.Around {
		if waiting < MostAround && !taken[task.ID] &&
			slices.ContainsFunc(task.Dependencies, func(id string) bool { return own[id] }) {
			add(task.ID, "blocking")
			waiting++
		}
	}
	below := 0
	for _, task := range from.Around {
		if own[task.ParentID] && !taken[task.ID] && below < MostAround {
			add(task.ID, "related")
			tasks[len(tasks)-1].Description = "It is below your task " + task.ParentID + "."
			below++
		}
	}
	return tasks
}
