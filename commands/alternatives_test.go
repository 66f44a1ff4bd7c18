package commands

import (
	"errors"
	"strings"
	"testing"

	"maestro/events"
)

// Whatever permissions a session was given, a refusal names one command that it may use, and no list.
func TestAlternatives(t *testing.T) {
	table := CurrentRules()
	for id, others := range alternatives {
		for _, other := range append([]string{id}, others...) {
			if row, ok := table.Row(other); !ok || row.Alias != "" {
				t.Errorf("%s is not a command", other)
			}
		}
		for _, other := range others {
			if spelled[other] == "" {
				t.Errorf("%s, in place of %s, has no command line", other, id)
			}
		}
	}
	for id, line := range spelled {
		if !strings.HasPrefix(line, "maestro "+strings.ReplaceAll(id, ":", " ")) {
			t.Errorf("%s is called with %s", id, line)
		}
	}
	for _, c := range []struct {
		role     events.Role
		strategy events.Strategy
	}{
		{events.RoleWorker, events.StrategySimple},
		{events.RoleWorker, events.StrategyQueue},
		{events.RoleWorker, events.StrategyTree},
		{events.RoleOrchestrator, events.StrategyDefault},
	} {
		column := RoleSetOf(c.role, c.strategy)
		for _, allowed := range [][]string{table.Defaults(column), table.Effective(column, nil)} {
			for _, row := range table.Rows() {
				err := PermitListed(table, c.role, c.strategy, allowed, row.ID)
				if err == nil {
					continue
				}
				other, line := table.Alternative(column, allowed, row.ID)
				if PermitListed(table, c.role, c.strategy, allowed, other) != nil {
					t.Errorf("a %s is told to use %s in place of %s, but may not", column, other, row.ID)
				}
				next := nextOf(t, err)
				named := next == "use `"+line+"`" || next == "see `maestro commands`"
				if !named || strings.Contains(next, "\n") || strings.Count(next, "maestro") != 1 {
					t.Errorf("%s: a %s is told: %s", row.ID, column, next)
				}
			}
		}
	}
	err := PermitListed(table, events.RoleWorker, events.StrategySimple, table.Defaults(RoleWorker), "task:complete")
	want := "use `maestro report complete \"<summary>\" --task <taskId>`"
	if got := nextOf(t, err); got != want {
		t.Errorf("a worker that completes a task is told: %s", got)
	}
}

// nextOf returns the next step that a refusal suggests.
func nextOf(t *testing.T, err error) string {
	t.Helper()
	var refusal *Refusal
	if !errors.As(err, &refusal) {
		t.Fatalf("not a refusal: %v", err)
	}
	return refusal.Next
}
