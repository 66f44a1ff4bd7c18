package commands

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"maestro/events"
	"maestro/internal/oracle"
)

// letters draws a set of columns as contract.md does.
func letters(who Letters) string {
	text := ""
	for i, letter := range "WQTOURS" {
		if who&(1<<i) != 0 {
			text += string(letter)
		}
	}
	return text
}

// transcript gives the table that was written by hand, from the contract: the oracle's.
func transcript() []string {
	var rows []string
	for _, row := range oracle.Table() {
		rows = append(rows, cells(row.ID, row.Who, row.Core, row.Event))
	}
	return rows
}

func cells(id, who string, core bool, event string) string {
	return fmt.Sprintf("%s %s core: %t becomes: %q", id, who, core, event)
}

// The code's table is the contract's: every row in both directions, in the same order.
func TestTableIsTheContract(t *testing.T) {
	var rows []string
	for _, row := range CurrentRules().Rows() {
		rows = append(rows, cells(row.ID, letters(row.Who), row.Core, row.Events))
	}
	want := transcript()
	for _, row := range rows {
		if !slices.Contains(want, row) {
			t.Errorf("only in the code:     %s", row)
		}
	}
	for _, row := range want {
		if !slices.Contains(rows, row) {
			t.Errorf("only in the contract: %s", row)
		}
	}
	if !t.Failed() && !slices.Equal(rows, want) {
		t.Error("the rows stand in another order, or twice")
	}
}

func TestRowsHoldTogether(t *testing.T) {
	table := CurrentRules()
	seen := map[string]bool{}
	for _, row := range table.Rows() {
		if seen[row.ID] {
			t.Errorf("%s stands twice", row.ID)
		}
		seen[row.ID] = true
		if row.Rule == "" || row.Who == 0 || row.Write != (row.Events != "") {
			t.Errorf("%s lacks something: %+v", row.ID, row)
		}
		target, ok := table.Row(row.Alias)
		if kind, isAlias := strings.CutPrefix(row.ID, "task:report:"); isAlias {
			if row.Alias != "report:"+kind || !ok || target.Who != row.Who || target.Events != row.Events {
				t.Errorf("%s is not report:%s", row.ID, kind)
			}
		} else if row.Alias != "" {
			t.Errorf("%s is another name for %s", row.ID, row.Alias)
		}
	}
	for id, make := range makers {
		if got := make.empty().ID(); got != id {
			t.Errorf("%s makes a %s", id, got)
		}
	}
	for _, entry := range events.Catalogue() {
		if len(makersOf[entry.Type]) == 0 {
			t.Errorf("no command becomes a %s", entry.Type)
		}
	}
	table.Rows()[0].ID = "changed"
	if table.Rows()[0].ID == "changed" {
		t.Error("Rows hands out its own list")
	}
	if old, ok := Rules("1"); !ok || old.Version != "1" {
		t.Error("version 1 of the rules is for good")
	}
	if _, ok := Rules("0"); ok {
		t.Error("there are no rules 0")
	}
}

// The lists of document 000, as they stand there.
var (
	doc000Worker = []string{
		"whoami", "status", "commands", "report:progress", "report:complete", "report:blocked", "report:error",
		"report:needs-input",
		"task:list", "task:get", "task:create", "task:children", "session:info", "session:register", "session:complete",
		"track-file", "worker:init",
	}
	doc000Queue = []string{
		"queue:top", "queue:start", "queue:complete", "queue:fail", "queue:skip", "queue:list", "queue:status",
		"queue:push",
	}
	doc000Orchestrator = []string{
		"whoami", "status", "commands", "report:progress", "report:complete", "report:blocked", "report:error",
		"report:needs-input",
		"task:list", "task:get", "task:create", "task:update", "task:complete", "task:block", "task:children",
		"task:tree", "session:list",
		"session:info", "session:spawn", "session:register", "session:complete", "project:list", "project:get",
		"project:create", "project:delete",
		"track-file", "orchestrator:init",
	}
	// byContract is what the contract's table adds to every session's list, orchestratorByContract to an
	// orchestrator's.
	byContract             = []string{"session:message", "session:note", "input:received", "input:wait"}
	orchestratorByContract = []string{
		"task:reopen", "session:kill", "session:update", "session:resume", "inbox", "input:list", "input:answer",
		"manifest:generate", "watch", "since", "why", "events",
	}
)

func TestDefaultsAreDocument000(t *testing.T) {
	for _, c := range []struct {
		name string
		role events.Role
		as   events.Strategy
		want []string
	}{
		{"worker", events.RoleWorker, events.StrategySimple, slices.Concat(doc000Worker, byContract)},
		{"queue worker", events.RoleWorker, events.StrategyQueue, slices.Concat(doc000Worker, doc000Queue, byContract)},
		{"tree worker", events.RoleWorker, events.StrategyTree, slices.Concat(doc000Worker, []string{"task:tree"},
			byContract)},
		{"orchestrator", events.RoleOrchestrator, events.StrategyDefault, slices.Concat(doc000Orchestrator, byContract,
			orchestratorByContract)},
	} {
		got := CurrentRules().Defaults(Letter(c.role, c.as))
		for _, id := range got {
			if !slices.Contains(c.want, id) {
				t.Errorf("%s: %s is too much", c.name, id)
			}
		}
		for _, id := range c.want {
			if !slices.Contains(got, id) {
				t.Errorf("%s: %s is missing", c.name, id)
			}
		}
		if len(got) != len(c.want) {
			t.Errorf("%s: %d commands, want %d", c.name, len(got), len(c.want))
		}
	}
	if Letter("auditor", "") != 0 || len(CurrentRules().Defaults(Letter("", ""))) != 0 {
		t.Error("an unknown role has a default")
	}
}

// The contract's second paragraph.
func TestMayList(t *testing.T) {
	const ok = ""
	for _, c := range []struct {
		who  Letters
		id   string
		says string
	}{
		{W, "task:get", ok},
		{W, "report:progress", ok},
		{W, "task:report:progress", ok},
		{W, "task:tree", ok},    // a read that the default lacks
		{W, "session:list", ok}, // the contract's own example
		{Q, "task:tree", ok},
		{W, "watch", ok},
		{W, "inbox", ok},
		{W, "manifest:generate", ok},
		{Q, "queue:start", ok},
		{O, "project:create", ok},
		{W, "task:update", "may use it"},
		{W, "task:complete", "may use it"},
		{W, "task:block", "may use it"},
		{W, "task:reopen", "may use it"},
		{W, "task:delete", "may use it"},
		{O, "task:delete", "may use it"},
		{W, "session:spawn", "may use it"},
		{W, "session:kill", "may use it"},
		{W, "project:create", "may use it"},
		{W, "project:list", "project commands are an orchestrator's"},
		{T, "project:get", "project commands are an orchestrator's"},
		{W, "queue:start", "may use it"},
		{W, "queue:top", "need the queue strategy"},
		{O, "queue:list", "need the queue strategy"},
		{T, "queue:status", "need the queue strategy"},
		{W, "audit:verify", "the user's"},
		{O, "audit:can", "the user's"},
		{O, "token:list", "the user's"},
		{O, "runner:list", "the user's"},
		{O, "worker:init", "may use it"},
		{W, "orchestrator:init", "may use it"},
		{O, "session:claim", "runners and the system"},
		{W, "session:lost", "runners and the system"},
		{U, "session:lost", "runners and the system"},
		{W, "task:paint", "no such command"},
		{W, "", "no such command"},
	} {
		got := CurrentRules().MayList(c.who, c.id)
		if (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
			t.Errorf("%s in the list of a %s: %q, want %q", c.id, c.who, got, c.says)
		}
	}
	// In general: no list gives a write that the row does not, and every role may list all that it has by default.
	table := CurrentRules()
	for _, row := range table.Rows() {
		for _, who := range []Letters{W, Q, T, O} {
			why := table.MayList(who, row.ID)
			if has := row.Who&who != 0; has && why != "" || row.Write && !has && why == "" {
				t.Errorf("%s in the list of a %s: %q", row.ID, who, why)
			}
		}
	}
}

func TestEffective(t *testing.T) {
	core := []string{"whoami", "status", "commands", "session:register", "session:complete", "track-file"}
	for _, c := range []struct {
		who        Letters
		list, want []string
	}{
		{W, nil, append(slices.Clone(core), "worker:init")},
		{O, nil, append(slices.Clone(core), "orchestrator:init")},
		{W, []string{"task:get", "whoami", "report:progress"}, append(slices.Clone(core), "worker:init",
			"report:progress", "task:get")},
		{W, []string{"task:report:blocked"}, append(slices.Clone(core), "worker:init", "report:blocked")},
		{Q, []string{"queue:fail", "queue:start"}, append(slices.Clone(core), "worker:init", "queue:start",
			"queue:fail")},
	} {
		if got := CurrentRules().Effective(c.who, c.list); !slices.Equal(got, c.want) {
			t.Errorf("%s with %q: got %q, want %q", c.who, c.list, got, c.want)
		}
	}
}

func TestHidden(t *testing.T) {
	table := CurrentRules()
	allowed := table.Defaults(W)
	hidden := table.Hidden(allowed)
	for _, id := range []string{ // document 000's example, without task:children and the like, which are allowed
		"task:update", "task:complete", "task:block", "task:tree", "session:list", "session:spawn", "project:list",
		"project:get", "project:create",
		"orchestrator:init", "queue:top", "queue:start", "queue:complete", "queue:fail", "queue:skip", "queue:list",
		"queue:status",
	} {
		if !slices.Contains(hidden, id) {
			t.Errorf("%s is not hidden", id)
		}
	}
	for _, row := range table.Rows() {
		listed := slices.Contains(hidden, row.ID)
		want := row.Alias == "" && row.Who&(W|Q|T|O|U) != 0 && !slices.Contains(allowed, row.ID)
		if listed != want {
			t.Errorf("%s hidden: %t", row.ID, listed)
		}
	}
	if hidden := table.Hidden(nil); hidden == nil || !slices.IsSortedFunc(hidden,
		func(a, b string) int { return table.index[a] - table.index[b] }) {
		t.Error("in the table's order, and a list")
	}
}

func TestLettersAsWords(t *testing.T) {
	if got := (W | Q | T | O | U | R | S).String(); got != "worker, queue worker, tree worker, orchestrator, user, runner, system" {
		t.Error(got)
	}
}

// Contract, CLI: reports, track-file and session complete are kept without a connection; what has an answer that
// matters is not.
func TestMayWait(t *testing.T) {
	for _, row := range CurrentRules().Rows() {
		report := strings.HasPrefix(strings.TrimPrefix(row.ID, "task:"), "report:")
		want := report || row.ID == "track-file" || row.ID == "session:complete"
		if got := MayWait(row.ID); got != want {
			t.Errorf("%s may wait: %t", row.ID, got)
		}
	}
	if MayWait("") || MayWait("none") {
		t.Error("what is no command may wait")
	}
}
