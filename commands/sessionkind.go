package commands

import (
	"slices"
	"strconv"

	"maestro/events"
	"maestro/internal/safetext"
	"maestro/projections"
)

// sessionKind holds the checks common to spawning and registering a new session.
type sessionKind struct {
	role     events.Role
	strategy events.Strategy
	name     string
	tasks    []string
}

// resolve sets the defaults and refuses invalid combinations.
func (k sessionKind) resolve(s *projections.State, project string) (sessionKind, error) {
	if k.role == "" {
		k.role = events.RoleWorker
	}
	if k.role != events.RoleWorker && k.role != events.RoleOrchestrator {
		return k, invalid("/role", "role must be \"worker\" or \"orchestrator\"")
	}
	strategy, err := ResolveStrategy(k.role, k.strategy)
	if err != nil {
		return k, err
	}
	k.strategy = strategy
	if err := ValidLine("/name", k.name, MaxName); err != nil {
		return k, err
	}
	k.tasks = unique(k.tasks)
	return k, tasksIn(s, project, k.tasks)
}

// ResolveStrategy returns a role's strategy, its default if none is named; simple means default for an orchestrator.
func ResolveStrategy(role events.Role, strategy events.Strategy) (events.Strategy, error) {
	if role == events.RoleOrchestrator {
		switch strategy {
		case "", events.StrategySimple:
			return events.StrategyDefault, nil
		case events.StrategyDefault, events.StrategyBatching, events.StrategyDAG:
			return strategy, nil
		case events.StrategyQueue, events.StrategyTree:
		}
		refusal := invalid("/strategy", "an orchestrator's strategy must be default, intelligent-batching or dag")
		refusal.Next = chooseStrategy
		return "", refusal
	}
	switch strategy {
	case "":
		return events.StrategySimple, nil
	case events.StrategySimple, events.StrategyQueue, events.StrategyTree:
		return strategy, nil
	case events.StrategyDefault, events.StrategyBatching, events.StrategyDAG:
	}
	refusal := invalid("/strategy", "strategy must be \"simple\", \"queue\", or \"tree\"")
	refusal.Next = chooseStrategy
	return "", refusal
}

// chooseStrategy is the next step after an unknown strategy.
const chooseStrategy = "choose one of them, or leave it out for the default"

// permissionsOf freezes what a session may do: exactly the list and the core commands, or its role's default.
func permissionsOf(t *Table, role events.Role, strategy events.Strategy, list *[]string) (events.Permissions, error) {
	who := RoleSetOf(role, strategy)
	if list == nil {
		return events.Permissions{Commands: t.Defaults(who)}, nil
	}
	for i, id := range *list {
		if why := t.MayList(who, id); why != "" {
			refusal := invalid(
				"/allowedCommands/"+strconv.Itoa(i), "'%s' cannot be allowed to %s (%s strategy)",
				safetext.Printable(id),
				aRole(role), strategy,
			)
			refusal.Why, refusal.Next = why, "leave it out; `maestro commands` lists the ids"
			if meant := t.Meant(id); meant != "" {
				refusal.Next = "did you mean " + meant + "?"
			}
			return events.Permissions{}, refusal
		}
	}
	return events.Permissions{Commands: t.Effective(who, *list), Explicit: true}, nil
}

// ReadOnlyCommands returns what a worker may do that reads only and was given no list: its role's default without the
// commands that make or change tasks, or what is queued. Reports, and what becomes of the item that it holds, are its
// result.
func ReadOnlyCommands(strategy events.Strategy) []string {
	return slices.DeleteFunc(CurrentRules().Defaults(RoleSetOf(events.RoleWorker, strategy)), func(id string) bool {
		switch id {
		case "task:create", "task:update", "task:complete", "task:block", "queue:push":
			return true
		}
		return false
	})
}

// aRole returns a role with its article.
func aRole(role events.Role) string {
	if role == events.RoleOrchestrator {
		return "an " + string(role)
	}
	return "a " + string(role)
}
