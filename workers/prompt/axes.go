package prompt

import (
	"errors"
	"fmt"
	"slices"

	"maestro/commands"
	"maestro/events"
	"maestro/workers/manifest"
)

// mode is what a session is for: document 002, axis 1.
type mode string

const (
	execute    mode = "execute"
	coordinate mode = "coordinate"
)

// axes are the three axes of document 002.
type axes struct {
	mode         mode
	strategy     events.Strategy
	commands     []string
	capabilities []capability
}

type capability struct {
	name    string
	enabled bool
}

// strategies are those of each mode, its default first.
var strategies = map[mode][]events.Strategy{
	execute:    {events.StrategySimple, events.StrategyQueue, events.StrategyTree},
	coordinate: {events.StrategyDefault, events.StrategyBatching, events.StrategyDAG},
}

// axesOf resolves the axes of a manifest. What its list has beyond what its role may have is left out.
func axesOf(m *manifest.Manifest) (axes, error) {
	var a axes
	switch {
	case m == nil:
		return a, errors.New("there is no manifest to write a prompt from")
	case m.Role == events.RoleWorker:
		a.mode = execute
	case m.Role == events.RoleOrchestrator:
		a.mode = coordinate
	default:
		return a, fmt.Errorf("the manifest's role is %q; it is worker or orchestrator", m.Role)
	}
	a.strategy = m.Strategy
	if a.strategy == "" || a.mode == coordinate && a.strategy == events.StrategySimple {
		a.strategy = strategies[a.mode][0]
	}
	if !slices.Contains(strategies[a.mode], a.strategy) {
		return a, fmt.Errorf("the manifest's strategy is %q; mode %s has %q", m.Strategy, a.mode, strategies[a.mode])
	}
	if len(m.Tasks) == 0 && a.strategy != events.StrategyQueue {
		return a, fmt.Errorf("the manifest has no tasks; only strategy %q works without", events.StrategyQueue)
	}
	rules, who := commands.CurrentRules(), commands.Letter(m.Role, a.strategy)
	a.commands = rules.Defaults(who)
	if m.Session.AllowedCommands != nil {
		a.commands = rules.Effective(who, *m.Session.AllowedCommands)
	}
	a.commands = slices.DeleteFunc(a.commands, func(id string) bool { return rules.MayList(who, id) != "" })
	report := a.any("report:progress", "report:blocked", "report:error", "report:needs-input", "report:complete")
	a.capabilities = []capability{
		{"can_spawn_sessions", a.any("session:spawn")},
		{"can_edit_tasks", a.any("task:create", "task:update", "task:complete", "task:block")},
		{"can_use_queue", a.any("queue:start")},
		{"can_report_task_level", report},
		{"can_report_session_level", report},
	}
	return a, nil
}

// any reports whether the session may use one of these commands.
func (a axes) any(ids ...string) bool {
	return slices.ContainsFunc(ids, func(id string) bool { return slices.Contains(a.commands, id) })
}

// may reports whether the session may use a command, by whatever name, and this binary has it.
func (a axes) may(id string) bool {
	row, ok := commands.CurrentRules().Row(id)
	if !ok {
		return false
	}
	if row.Alias != "" {
		row.ID = row.Alias
	}
	_, _, has := Syntax(id)
	return has && slices.Contains(a.commands, row.ID)
}

// shown gives the ids, aliases among them, that the session is told of, in the table's order.
func (a axes) shown() []string {
	var ids []string
	for _, row := range commands.CurrentRules().Rows() {
		if a.may(row.ID) {
			ids = append(ids, row.ID)
		}
	}
	return ids
}
