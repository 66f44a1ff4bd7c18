package plan

import (
	"encoding/json"
	"fmt"
	"strings"

	"maestro/commands"
)

// Plan is a project's tasks, as a file lists them.
type Plan struct {
	// Name, Description and WorkingDir are the project's, if the file gives them.
	Name        string
	Description string
	WorkingDir  string
	// Tasks are in an order in which they can be created: parents before those below them, and dependencies before
	// those that wait for them, except where a task is Later.
	Tasks []Task
}

// Task is one task of a plan. ID, Parent and Dependencies are local ids, which have a meaning only in this plan.
type Task struct {
	ID                 string
	Title              string
	Description        string
	AcceptanceCriteria []string
	Priority           string
	Parent             string
	Dependencies       []string
	InitialPrompt      string
	Skills             []string
	Model              string
	Labels             []string
	// Metadata is a JSON object, nil if there is none.
	Metadata json.RawMessage
	// Later says that it waits for tasks that are created after it, such as parts of it.
	Later bool
	// Place is how many tasks come before it in the file.
	Place int
	// Line is where the task begins in the file.
	Line int
}

// Fault is one fault of a plan.
type Fault struct {
	Line int `json:"line"`
	// Pointer is the RFC 6901 location of the fault.
	Pointer string `json:"pointer"`
	Message string `json:"message"`
}

// String returns "line 3: …".
func (f Fault) String() string { return fmt.Sprintf("line %d: %s", f.Line, f.Message) }

// maxFaults bounds the faults that are reported.
const maxFaults = 20

// InvalidError holds the first faults of a plan, in the order of its lines. Match it with errors.As.
type InvalidError struct {
	// Faults are at most 20.
	Faults []Fault
	// Count is the number of faults found.
	Count int
	// Cut says that reading ended at the last one, so that there may be more.
	Cut bool
}

func (e *InvalidError) Error() string {
	lines := make([]string, len(e.Faults), len(e.Faults)+1)
	for i, fault := range e.Faults {
		lines[i] = fault.String()
	}
	if more := e.Count - len(e.Faults); more > 0 {
		orMore := ""
		if e.Cut {
			orMore = " or more"
		}
		lines = append(lines, fmt.Sprintf("and %d%s others", more, orMore))
	}
	return strings.Join(lines, "\n")
}

// The limits of a plan; docs/limits.md lists them.
const (
	// MaxBytes is the maximum size of a plan.
	MaxBytes = 4 << 20
	// MaxTasks and MaxDependencies bound the tasks, and the dependencies of all tasks together, of a plan.
	MaxTasks        = 10_000
	MaxDependencies = 50_000
	// MaxDepth bounds the levels of tasks of a plan, whether tasks are nested or name their parents.
	MaxDepth = 100
	// MaxDependents bounds the dependents of a task: the server accepts no more.
	MaxDependents = 1000
	// MaxTask bounds the request body with one field of a task, MaxText an entry of a list of texts, in bytes.
	MaxTask = 1 << 20
	MaxText = 64 << 10
	// MaxFaults is the number of faults at which reading ends.
	MaxFaults = 200
)

// maxCyclePath is how many tasks of a cycle are named.
const maxCyclePath = 10

// Limits of the server.
var (
	maxTitle    = int(commands.LimitTitle.Value)
	maxName     = int(commands.LimitName.Value)
	maxID       = int(commands.LimitID.Value)
	maxList     = int(commands.LimitIDs.Value)
	maxWaitsFor = int(commands.LimitDependencies.Value) // of one task
	maxKeys     = int(commands.LimitNames.Value)        // in one object of metadata
	maxLevels   = int(commands.LimitDepth.Value)        // of metadata
	maxValues   = int(commands.LimitValues.Value)       // of one task's metadata
	maxMetadata = int(commands.LimitFree.Value)
)
