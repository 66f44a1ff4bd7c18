package manifest

import (
	"encoding/json"

	"maestro/events"
)

// Version is the only version of the schema (docs/spec/003-manifest-schema.md, "Version Migration").
const Version = "1.0"

// Manifest describes a session: its identity, what it works on, and how. docs/spec/003-manifest-schema.md, "Complete
// Schema".
//
// The tags are what Parse and Schema both go by: "is" names the rule in rules.go that a text, a number or each item of
// a list has to keep, or lists the words that there are, "atLeast" is how many items a list must have, "use"
// marks what is checked against another part of the document, and what has no omitempty is required.
type Manifest struct {
	ManifestVersion string      `json:"manifestVersion" is:"version" doc:"version of the schema"`
	Role            events.Role `json:"role" is:"role" use:"role" doc:"worker or orchestrator"`
	// Strategy is the strategy as written; "" for the role's default. Axes resolves it.
	Strategy events.Strategy `json:"strategy,omitempty" is:"strategy" use:"strategy" doc:"worker: simple (default), queue or tree; orchestrator: default (or simple), intelligent-batching or dag"`
	// Tasks are never nil after Parse and Generate.
	Tasks      []Task   `json:"tasks" use:"tasks" doc:"its tasks, the primary one first; only a queue worker may have none"`
	Skills     []string `json:"skills,omitempty" is:"id" doc:"skills to load"`
	Session    Session  `json:"session" doc:"how the agent is run"`
	Context    *Context `json:"context,omitempty" doc:"what else it should know"`
	TemplateID string   `json:"templateId,omitempty" is:"id" doc:"template of its prompt"`
}

// Task is a task as its session's manifest describes it.
type Task struct {
	ID          string `json:"id" is:"id" use:"id" doc:"unique among the tasks"`
	Title       string `json:"title" is:"title" doc:"short"`
	Description string `json:"description" is:"filled" doc:"in detail"`
	// ParentID is nil for a root task.
	ParentID           *string  `json:"parentId" null:"root" is:"id" use:"parent" doc:"the task above it, or null; it may be outside the manifest"`
	AcceptanceCriteria []string `json:"acceptanceCriteria" atLeast:"1" doc:"what must be true when it is complete"`
	Dependencies       []string `json:"dependencies,omitempty" is:"id" use:"dependency" doc:"tasks that must be completed first; they may be outside the manifest"`
	Priority           string   `json:"priority,omitempty" is:"priority" doc:"how urgent it is"`
	ProjectID          string   `json:"projectId" is:"id" doc:"its project"`
	// CreatedAt is the time as written.
	CreatedAt       string            `json:"createdAt" is:"time" doc:"when it was created, with a zone"`
	Metadata        json.RawMessage   `json:"metadata,omitempty" doc:"free"`
	Reopened        string            `json:"reopened,omitempty" doc:"why it was reopened, after work on it was done or blocked"`
	Status          events.TaskStatus `json:"status,omitempty" is:"status" doc:"its status at the time; the server knows the current one"`
	SessionIDs      []string          `json:"sessionIds,omitempty" is:"id" doc:"sessions that work or worked on it"`
	ActiveSessionID string            `json:"activeSessionId,omitempty" is:"id" doc:"the session at work on it"`
}

// PermissionMode says how an agent handles the permission prompts of its tool.
type PermissionMode string

// The permission modes (docs/spec/003-manifest-schema.md, "TypeScript Definition").
const (
	AcceptEdits PermissionMode = "acceptEdits"
	Interactive PermissionMode = "interactive"
	ReadOnly    PermissionMode = "readOnly"
)

// Session configures the agent. A default tag is the default in a generated manifest.
type Session struct {
	Model          string         `json:"model" is:"model" use:"model" default:"sonnet" doc:"sonnet, opus, haiku, or the full name of a model"`
	PermissionMode PermissionMode `json:"permissionMode" is:"acceptEdits|interactive|readOnly" default:"acceptEdits" doc:"what happens when a step needs permission"`
	ThinkingMode   string         `json:"thinkingMode,omitempty" is:"auto|interleaved|disabled" default:"auto" doc:"how it thinks"`
	// MaxTurns is 0 for no limit.
	MaxTurns int `json:"maxTurns,omitempty" is:"turns" doc:"turns after which it ends"`
	// Timeout is 0 for none.
	Timeout          int64  `json:"timeout,omitempty" is:"milliseconds" doc:"end it after this many milliseconds; 0: never"`
	WorkingDirectory string `json:"workingDirectory,omitempty" doc:"where it works"`
	// AllowedCommands is nil for the commands of role and strategy; with an empty list only the core commands are left.
	AllowedCommands *[]string `json:"allowedCommands,omitempty" is:"command" use:"command" doc:"exactly these and the core ones; absent: by role and strategy"`
	// Agent is "" for claude.
	Agent string `json:"agent,omitempty" is:"agent" use:"agent" doc:"claude (default), codex, gemini, a configured one, or auto: by the task"`
	// Network is what a runner lets the agent reach: see confine.ParseNetwork.
	Network string `json:"network,omitempty" is:"network" doc:"open (default), none, or the TCP ports that it may connect to, such as 443,8080"`
}

// Context is further information for the agent.
type Context struct {
	CodebaseContext  *CodebaseContext  `json:"codebaseContext,omitempty" doc:"what is known about the code"`
	RelatedTasks     []RelatedTask     `json:"relatedTasks,omitempty" doc:"tasks beside those of the session"`
	ProjectStandards *ProjectStandards `json:"projectStandards,omitempty" doc:"the project's conventions"`
	Custom           json.RawMessage   `json:"custom,omitempty" doc:"free"`
}

// CodebaseContext describes the code base.
type CodebaseContext struct {
	RelevantFiles []string           `json:"relevantFiles,omitempty" doc:"files to look at first"`
	Patterns      *CodebasePatterns  `json:"patterns,omitempty" doc:"conventions of the code"`
	TestingSetup  *TestingSetup      `json:"testingSetup,omitempty" doc:"how it is tested"`
	Commands      *DevelopmentScript `json:"commands,omitempty" doc:"how it is built and run"`
}

// CodebasePatterns are the code's conventions.
type CodebasePatterns struct {
	FileStructure     string `json:"fileStructure,omitempty" doc:"where things are"`
	NamingConventions string `json:"namingConventions,omitempty" doc:"what things are called"`
	ArchitectureNotes string `json:"architectureNotes,omitempty" doc:"how things fit together"`
}

// TestingSetup says how the code is tested.
type TestingSetup struct {
	Framework    string `json:"framework,omitempty" doc:"what runs the tests"`
	TestLocation string `json:"testLocation,omitempty" doc:"where they are"`
	RunCommand   string `json:"runCommand,omitempty" doc:"the command that runs them"`
}

// DevelopmentScript are the commands that build and run the code.
type DevelopmentScript struct {
	Install string `json:"install,omitempty" doc:"the command that installs what it needs"`
	Dev     string `json:"dev,omitempty" doc:"the command that runs it for development"`
	Build   string `json:"build,omitempty" doc:"the command that builds it"`
	Test    string `json:"test,omitempty" doc:"the command that tests it"`
}

// RelatedTask is a task outside the session. Status and relationship stay as written.
type RelatedTask struct {
	ID           string `json:"id" is:"id" doc:"the task"`
	Title        string `json:"title" doc:"its title"`
	Status       string `json:"status" is:"relatedStatus" doc:"where it stood"`
	Relationship string `json:"relationship" is:"relationship" doc:"dependency, related, blocking (it waits for the session's tasks) or blocks (they wait for it)"`
	Summary      string `json:"summary,omitempty" doc:"what came of it"`
	Description  string `json:"description,omitempty" doc:"what it is about"`
}

// ProjectStandards are the project's conventions.
type ProjectStandards struct {
	CodeStyle     *CodeStyle     `json:"codeStyle,omitempty" doc:"how code should look"`
	Testing       *Testing       `json:"testing,omitempty" doc:"what has to be tested"`
	Documentation *Documentation `json:"documentation,omitempty" doc:"what has to be documented"`
	GitWorkflow   *GitWorkflow   `json:"gitWorkflow,omitempty" doc:"how changes are brought in"`
}

// CodeStyle says how code should look.
type CodeStyle struct {
	Formatter   string `json:"formatter,omitempty" doc:"what formats it"`
	Linter      string `json:"linter,omitempty" doc:"what checks it"`
	Conventions string `json:"conventions,omitempty" doc:"a style guide"`
}

// Testing says what has to be tested.
type Testing struct {
	Required        bool     `json:"required" doc:"whether tests are required"`
	MinimumCoverage *float64 `json:"minimumCoverage,omitempty" doc:"in percent"`
	Frameworks      []string `json:"frameworks,omitempty" doc:"what runs the tests"`
}

// Documentation says what has to be documented.
type Documentation struct {
	Required bool   `json:"required" doc:"whether documentation is required"`
	Format   string `json:"format,omitempty" doc:"in which form"`
}

// GitWorkflow says how changes are brought in.
type GitWorkflow struct {
	BranchNaming      string `json:"branchNaming,omitempty" doc:"what branches are called"`
	CommitConventions string `json:"commitConventions,omitempty" doc:"how commits are worded"`
	PRProcess         string `json:"prProcess,omitempty" doc:"how a change is accepted"`
}

// document is the input of Parse: a manifest, or one in the form before tasks were a list and strategies had one name.
type document struct {
	Manifest
	Task                 *Task           `json:"task,omitempty" legacy:"tasks" doc:"as tasks with this one task"`
	OrchestratorStrategy events.Strategy `json:"orchestratorStrategy,omitempty" legacy:"strategy" is:"strategy" use:"orchestratorStrategy" doc:"as strategy"`
}

// TaskIDs returns the ids of its tasks, the primary one first.
func (m *Manifest) TaskIDs() []string {
	ids := make([]string, 0, len(m.Tasks))
	for _, t := range m.Tasks {
		ids = append(ids, t.ID)
	}
	return ids
}
