package prompt

import (
	"errors"
	"fmt"

	"maestro/commands"
	"maestro/events"
	"maestro/workers/manifest"
)

// axes are the three axes of a manifest (docs/spec/002-prompt-contract.md, "Three-Axis Model"), restricted to this
// binary's commands.
type axes struct{ manifest.Axes }

// axesOf returns the axes of a manifest. An error says which of them is invalid: no prompt is generated from a guess.
func axesOf(m *manifest.Manifest) (axes, error) {
	switch {
	case m == nil:
		return axes{}, errors.New("there is no manifest to write a prompt from")
	case m.Role != events.RoleWorker && m.Role != events.RoleOrchestrator:
		return axes{}, fmt.Errorf("the manifest's role is %q; it is worker or orchestrator", m.Role)
	}
	a := axes{m.Axes()}
	if _, err := commands.ResolveStrategy(m.Role, m.Strategy); err != nil {
		return axes{}, fmt.Errorf("the manifest's strategy does not fit its role: %w", err)
	}
	if len(m.Tasks) == 0 && a.Strategy != events.StrategyQueue {
		return axes{}, fmt.Errorf("the manifest has no tasks; only strategy %q works without", events.StrategyQueue)
	}
	return a, nil
}

// may reports whether the session may use a command, by any of its names, and this binary has it.
func (a axes) may(id string) bool {
	u, ok := usageOf(id)
	return ok && u.allows(withMail(a.Commands))
}

// shown returns the ids of the command lines that the session is told of, in the table's order.
func (a axes) shown() []string { return Lines(true, a.Commands) }
