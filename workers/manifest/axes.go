package manifest

import (
	"slices"
	"strings"

	"maestro/commands"
	"maestro/events"
)

// Mode is the purpose of a session (docs/spec/002-prompt-contract.md, "Three-Axis Model").
type Mode string

// The modes (docs/spec/002-prompt-contract.md, "Three-Axis Model"): a worker's and an orchestrator's.
const (
	Execute    Mode = "execute"
	Coordinate Mode = "coordinate"
)

// Axes are the three questions that a prompt answers (docs/spec/002-prompt-contract.md, "Three-Axis Model"). Only this
// package derives them.
type Axes struct {
	Mode Mode `json:"mode"`
	// Strategy is never empty, and one of the mode's.
	Strategy events.Strategy `json:"strategy"`
	// Commands are the ids that the session may use, in the order of the permission table.
	Commands     []string     `json:"commands"`
	Capabilities Capabilities `json:"capabilities"`
}

// Capabilities are derived from the commands.
type Capabilities struct {
	CanSpawnSessions      bool `json:"can_spawn_sessions"`
	CanEditTasks          bool `json:"can_edit_tasks"`
	CanUseQueue           bool `json:"can_use_queue"`
	CanReportTaskLevel    bool `json:"can_report_task_level"`
	CanReportSessionLevel bool `json:"can_report_session_level"`
}

// Capability is a capability by name.
type Capability struct {
	Name    string
	Enabled bool
}

// List returns them by name, in the order of docs/spec/002-prompt-contract.md, "Three-Axis Model".
func (c Capabilities) List() []Capability {
	return []Capability{
		{"can_spawn_sessions", c.CanSpawnSessions},
		{"can_edit_tasks", c.CanEditTasks},
		{"can_use_queue", c.CanUseQueue},
		{"can_report_task_level", c.CanReportTaskLevel},
		{"can_report_session_level", c.CanReportSessionLevel},
	}
}

// Axes derives them from role, strategy, permission mode and allowed commands. For a manifest that Parse would refuse,
// it ignores an invalid strategy, and commands that may not be listed.
func (m *Manifest) Axes() Axes {
	axes := Axes{Mode: Execute}
	if m.Role == events.RoleOrchestrator {
		axes.Mode = Coordinate
	}
	strategy, err := commands.ResolveStrategy(m.Role, m.Strategy)
	if err != nil {
		strategy, _ = commands.ResolveStrategy(m.Role, "")
	}
	axes.Strategy = strategy
	table, who := commands.CurrentRules(), commands.RoleSetOf(m.Role, strategy)
	switch {
	case m.Session.AllowedCommands == nil && m.Session.PermissionMode == ReadOnly && axes.Mode == Execute:
		axes.Commands = commands.ReadOnlyCommands(strategy)
	case m.Session.AllowedCommands == nil:
		axes.Commands = table.Defaults(who)
	default:
		listed := slices.DeleteFunc(slices.Clone(*m.Session.AllowedCommands),
			func(id string) bool { return table.MayList(who, id) != "" })
		axes.Commands = table.Effective(who, listed)
	}
	one := func(ids ...string) bool {
		return slices.ContainsFunc(ids, func(id string) bool { return slices.Contains(axes.Commands, id) })
	}
	reports := slices.ContainsFunc(axes.Commands, func(id string) bool { return strings.HasPrefix(id, "report:") })
	axes.Capabilities = Capabilities{
		CanSpawnSessions:      one("session:spawn"),
		CanEditTasks:          one("task:create", "task:update", "task:complete", "task:block"),
		CanUseQueue:           one("queue:start"),
		CanReportTaskLevel:    reports,
		CanReportSessionLevel: reports,
	}
	return axes
}
