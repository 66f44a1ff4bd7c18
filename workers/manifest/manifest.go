package manifest

import (
	"encoding/json"

	"maestro/events"
)

// Version is the only version of the schema that there is (document 003).
const Version = "1.0"

// Manifest says what a session is: who it is, what it works on, and how. Document 003, "Complete Schema".
type Manifest struct {
	ManifestVersion string      `json:"manifestVersion"`
	Role            events.Role `json:"role"`
	// Strategy is how it works through its tasks; "" for the role's default.
	Strategy events.Strategy `json:"strategy,omitempty"`
	// Tasks are never nil; the first is the primary one. Only a queue worker may have none.
	Tasks      []Task   `json:"tasks"`
	Skills     []string `json:"skills,omitempty"`
	Session    Session  `json:"session"`
	Context    *Context `json:"context,omitempty"`
	TemplateID string   `json:"templateId,omitempty"`
}

// Task is what a session is told of a task.
type Task struct {
	ID          string `json:"id"`
	Title       string `json:"title"`
	Description string `json:"description"`
	// ParentID is nil for a root task.
	ParentID           *string  `json:"parentId"`
	AcceptanceCriteria []string `json:"acceptanceCriteria"`
	Dependencies       []string `json:"dependencies,omitempty"`
	Priority           string   `json:"priority,omitempty"`
	ProjectID          string   `json:"projectId"`
	// CreatedAt is a date and time with a zone, as it was written.
	CreatedAt       string            `json:"createdAt"`
	Metadata        json.RawMessage   `json:"metadata,omitempty"`
	Status          events.TaskStatus `json:"status,omitempty"`
	SessionIDs      []string          `json:"sessionIds,omitempty"`
	ActiveSessionID string            `json:"activeSessionId,omitempty"`
}

// PermissionMode says how an agent asks for what its tool would ask a person.
type PermissionMode string

// The permission modes of document 003.
const (
	AcceptEdits PermissionMode = "acceptEdits"
	Interactive PermissionMode = "interactive"
	ReadOnly    PermissionMode = "readOnly"
)

// Session configures the agent.
type Session struct {
	// Model is sonnet, opus, haiku, or a full name.
	Model          string         `json:"model"`
	PermissionMode PermissionMode `json:"permissionMode"`
	// ThinkingMode is auto, interleaved or disabled.
	ThinkingMode string `json:"thinkingMode,omitempty"`
	MaxTurns     int    `json:"maxTurns,omitempty"`
	// Timeout is in milliseconds.
	Timeout          int64  `json:"timeout,omitempty"`
	WorkingDirectory string `json:"workingDirectory,omitempty"`
	// AllowedCommands are exactly these and the core commands; nil for those of role and strategy.
	AllowedCommands *[]string `json:"allowedCommands,omitempty"`
	// Agent is claude, codex, gemini or a configured one; "" for claude.
	Agent string `json:"agent,omitempty"`
}

// Context is what else the agent should know.
type Context struct {
	CodebaseContext  *CodebaseContext  `json:"codebaseContext,omitempty"`
	RelatedTasks     []RelatedTask     `json:"relatedTasks,omitempty"`
	ProjectStandards *ProjectStandards `json:"projectStandards,omitempty"`
	// Custom is free.
	Custom json.RawMessage `json:"custom,omitempty"`
}

// CodebaseContext is what is known of the code.
type CodebaseContext struct {
	RelevantFiles []string           `json:"relevantFiles,omitempty"`
	Patterns      *CodebasePatterns  `json:"patterns,omitempty"`
	TestingSetup  *TestingSetup      `json:"testingSetup,omitempty"`
	Commands      *DevelopmentScript `json:"commands,omitempty"`
}

// CodebasePatterns are the code's conventions.
type CodebasePatterns struct {
	FileStructure     string `json:"fileStructure,omitempty"`
	NamingConventions string `json:"namingConventions,omitempty"`
	ArchitectureNotes string `json:"architectureNotes,omitempty"`
}

// TestingSetup says how the code is tested.
type TestingSetup struct {
	Framework    string `json:"framework,omitempty"`
	TestLocation string `json:"testLocation,omitempty"`
	RunCommand   string `json:"runCommand,omitempty"`
}

// DevelopmentScript are the commands that build and run the code.
type DevelopmentScript struct {
	Install string `json:"install,omitempty"`
	Dev     string `json:"dev,omitempty"`
	Build   string `json:"build,omitempty"`
	Test    string `json:"test,omitempty"`
}

// RelatedTask is a task beside those of the session. Status and relationship are kept as they were written.
type RelatedTask struct {
	ID           string `json:"id"`
	Title        string `json:"title"`
	Status       string `json:"status"`
	Relationship string `json:"relationship"`
	Summary      string `json:"summary,omitempty"`
	Description  string `json:"description,omitempty"`
}

// ProjectStandards are the project's conventions.
type ProjectStandards struct {
	CodeStyle     *CodeStyle     `json:"codeStyle,omitempty"`
	Testing       *Testing       `json:"testing,omitempty"`
	Documentation *Documentation `json:"documentation,omitempty"`
	GitWorkflow   *GitWorkflow   `json:"gitWorkflow,omitempty"`
}

// CodeStyle says how code should look.
type CodeStyle struct {
	Formatter   string `json:"formatter,omitempty"`
	Linter      string `json:"linter,omitempty"`
	Conventions string `json:"conventions,omitempty"`
}

// Testing says what has to be tested.
type Testing struct {
	Required        bool     `json:"required"`
	MinimumCoverage *float64 `json:"minimumCoverage,omitempty"`
	Frameworks      []string `json:"frameworks,omitempty"`
}

// Documentation says what has to be documented.
type Documentation struct {
	Required bool   `json:"required"`
	Format   string `json:"format,omitempty"`
}

// GitWorkflow says how changes are brought in.
type GitWorkflow struct {
	BranchNaming      string `json:"branchNaming,omitempty"`
	CommitConventions string `json:"commitConventions,omitempty"`
	PRProcess         string `json:"prProcess,omitempty"`
}
