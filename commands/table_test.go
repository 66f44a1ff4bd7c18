package commands

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"maestro/events"
	"maestro/internal/oracle"
)

// letters writes a set of columns as docs/contract.md, "Permissions", does.
func letters(who RoleSet) string {
	text := ""
	for i, letter := range "WQTOURS" {
		if who&(1<<i) != 0 {
			text += string(letter)
		}
	}
	return text
}

// transcript returns the oracle's table.
func transcript() []string {
	var rows []string
	for _, row := range oracle.Table() {
		rows = append(rows, cells(row.ID, row.Who, row.Core, row.Event, row.Planned))
	}
	return rows
}

func cells(id, who string, core bool, event string, planned bool) string {
	return fmt.Sprintf("%s %s core: %t becomes: %q planned: %t", id, who, core, event, planned)
}

// page returns the table of docs/contract.md, "Permissions", with one row per id. A row of the page has one event for
// each of its ids, one for all of them, or none.
func page(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../docs/contract.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Permissions\n")
	section, _, _ = strings.Cut(section, "\n## ")
	code := regexp.MustCompile("`([^`]+)`")
	_, list, _ := strings.Cut(section, "No command belongs to these rows yet:")
	list, _, _ = strings.Cut(list, ".")
	planned := map[string]bool{}
	for _, id := range code.FindAllStringSubmatch(list, -1) {
		planned[id[1]] = true
	}
	var rows []string
	for line := range strings.Lines(section) {
		cell := strings.Split(line, "|")
		if !strings.HasPrefix(line, "| `") || len(cell) != 6 {
			continue
		}
		ids, types := code.FindAllStringSubmatch(cell[1], -1), code.FindAllStringSubmatch(cell[2], -1)
		if len(types) > 1 && len(types) != len(ids) {
			t.Errorf("%d events for %d commands: %s", len(types), len(ids), line)
			continue
		}
		who, core := strings.CutSuffix(strings.TrimSpace(cell[3]), ", core")
		for i, id := range ids {
			event := ""
			if len(types) > 0 {
				event = types[min(i, len(types)-1)][1]
			}
			rows = append(rows, cells(id[1], strings.ReplaceAll(who, " ", ""), core, event, planned[id[1]]))
		}
	}
	return rows
}

// The code's table has the same rows in the same order as that of docs/contract.md, "Permissions", and the oracle's.
func TestTableMatchesContract(t *testing.T) {
	var rows []string
	for _, row := range CurrentRules().Rows() {
		rows = append(rows, cells(row.ID, letters(row.Who), row.Core, row.Events, row.Planned))
	}
	for name, want := range map[string][]string{"docs/contract.md": page(t), "internal/oracle": transcript()} {
		for _, row := range rows {
			if !slices.Contains(want, row) {
				t.Errorf("not in %s: %s", name, row)
			}
		}
		for _, row := range want {
			if !slices.Contains(rows, row) {
				t.Errorf("only in %s: %s", name, row)
			}
		}
		if !t.Failed() && !slices.Equal(rows, want) {
			t.Errorf("the rows of %s are in another order, or one is there twice", name)
		}
	}
}

func TestRowsHoldTogether(t *testing.T) {
	table := CurrentRules()
	seen := map[string]bool{}
	for _, row := range table.Rows() {
		if seen[row.ID] {
			t.Errorf("%s is there twice", row.ID)
		}
		seen[row.ID] = true
		if row.Rule == "" || row.Who == 0 || row.Write != (row.Events != "") {
			t.Errorf("%s is incomplete: %+v", row.ID, row)
		}
		target, ok := table.Row(row.Alias)
		if kind, isAlias := strings.CutPrefix(row.ID, "task:report:"); isAlias {
			if row.Alias != "report:"+kind || !ok || target.Who != row.Who || target.Events != row.Events {
				t.Errorf("%s is not report:%s", row.ID, kind)
			}
		} else if row.Alias != "" {
			t.Errorf("%s is an alias of %s", row.ID, row.Alias)
		}
	}
	for id, make := range makers() {
		if got := make.empty().ID(); got != id {
			t.Errorf("%s makes a %s", id, got)
		}
	}
	for _, entry := range events.Catalogue() {
		if len(makersOf()[entry.Type]) == 0 {
			t.Errorf("no command becomes a %s", entry.Type)
		}
	}
	table.Rows()[0].ID = "changed"
	if table.Rows()[0].ID == "changed" {
		t.Error("Rows returns its own list, not a copy")
	}
	if old, ok := Rules("1"); !ok || old.Version != "1" {
		t.Error("version 1 of the rules is gone")
	}
	if _, ok := Rules("0"); ok {
		t.Error("there must be no rules 0")
	}
}

// listed returns the ids of the list that docs/spec/000-command-permissions.md, "Default Command Sets", has below a
// heading.
func listed(t *testing.T, heading string) []string {
	t.Helper()
	text, err := os.ReadFile("../docs/spec/000-command-permissions.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n#### "+heading+"\n")
	_, section, _ = strings.Cut(section, "[")
	section, _, found := strings.Cut(section, "];")
	if !found {
		t.Fatalf("there is no list below %q", heading)
	}
	var ids []string
	for _, id := range regexp.MustCompile(`'([^']+)'`).FindAllStringSubmatch(section, -1) {
		ids = append(ids, id[1])
	}
	return ids
}

// byContract is what docs/contract.md, "Permissions", adds to every session's list, orchestratorByContract to an
// orchestrator's.
var (
	byContract             = []string{"session:message", "session:note", "input:received", "input:wait"}
	orchestratorByContract = []string{
		"task:reopen", "session:kill", "session:update", "inbox", "input:list", "input:answer",
		"manifest:generate", "manifest:show", "manifest:schema", "template:list", "template:get", "watch", "since",
		"why", "events", "session:resume",
	}
)

func TestDefaultsMatchDocument000(t *testing.T) {
	worker := listed(t, "Worker (Simple Strategy)")
	queue := listed(t, "Worker (Queue Strategy)")
	orchestrator := listed(t, "Orchestrator (Simple Strategy)")
	for _, c := range []struct {
		name string
		role events.Role
		as   events.Strategy
		want []string
	}{
		{"worker", events.RoleWorker, events.StrategySimple, slices.Concat(worker, byContract)},
		{"queue worker", events.RoleWorker, events.StrategyQueue, slices.Concat(worker, queue, byContract)},
		{
			"tree worker", events.RoleWorker, events.StrategyTree,
			slices.Concat(worker, []string{"task:tree"}, byContract),
		},
		{"orchestrator", events.RoleOrchestrator, events.StrategyDefault, slices.Concat(orchestrator, byContract,
			orchestratorByContract)},
	} {
		got := CurrentRules().Defaults(RoleSetOf(c.role, c.as))
		for _, id := range got {
			if !slices.Contains(c.want, id) {
				t.Errorf("%s: %s should not be there", c.name, id)
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
	if RoleSetOf("auditor", "") != 0 || len(CurrentRules().Defaults(RoleSetOf("", ""))) != 0 {
		t.Error("an unknown role has a default")
	}
}

// docs/contract.md, "Permissions", below the letters.
func TestMayList(t *testing.T) {
	const ok = ""
	for _, c := range []struct {
		who  RoleSet
		id   string
		says string
	}{
		{RoleWorker, "task:get", ok},
		{RoleWorker, "report:progress", ok},
		{RoleWorker, "task:report:progress", ok},
		{RoleWorker, "task:tree", ok},    // a read that the default list lacks
		{RoleWorker, "session:list", ok}, // the example of docs/contract.md, "Permissions"
		{RoleQueueWorker, "task:tree", ok},
		{RoleWorker, "watch", ok},
		{RoleWorker, "inbox", ok},
		{RoleWorker, "manifest:generate", ok},
		{RoleQueueWorker, "queue:start", ok},
		{RoleOrchestrator, "project:create", ok},
		{RoleWorker, "task:update", "may use it"},
		{RoleWorker, "task:complete", "may use it"},
		{RoleWorker, "task:block", "may use it"},
		{RoleWorker, "task:reopen", "may use it"},
		{RoleWorker, "task:delete", "may use it"},
		{RoleOrchestrator, "task:delete", "may use it"},
		{RoleWorker, "session:spawn", "may use it"},
		{RoleWorker, "session:kill", "may use it"},
		{RoleWorker, "project:create", "may use it"},
		{RoleWorker, "project:list", "project commands are an orchestrator's"},
		{RoleTreeWorker, "project:get", "project commands are an orchestrator's"},
		{RoleWorker, "queue:start", "may use it"},
		{RoleWorker, "queue:top", "need the queue strategy"},
		{RoleOrchestrator, "queue:list", "need the queue strategy"},
		{RoleTreeWorker, "queue:status", "need the queue strategy"},
		{RoleWorker, "audit:verify", "the user's"},
		{RoleOrchestrator, "audit:can", "the user's"},
		{RoleOrchestrator, "token:list", "the user's"},
		{RoleOrchestrator, "runner:list", "the user's"},
		{RoleOrchestrator, "worker:init", "may use it"},
		{RoleWorker, "orchestrator:init", "may use it"},
		{RoleOrchestrator, "session:claim", "runners and the system"},
		{RoleWorker, "session:lost", "runners and the system"},
		{RoleUser, "session:lost", "runners and the system"},
		{RoleWorker, "task:paint", "no such command"},
		{RoleWorker, "", "no such command"},
	} {
		got := CurrentRules().MayList(c.who, c.id)
		if (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
			t.Errorf("%s in the list of a %s: %q, want %q", c.id, c.who, got, c.says)
		}
	}
	// In general: no list grants a write that the row does not, and every role may list everything that it has by
	// default.
	table := CurrentRules()
	for _, row := range table.Rows() {
		for _, who := range []RoleSet{RoleWorker, RoleQueueWorker, RoleTreeWorker, RoleOrchestrator} {
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
		who        RoleSet
		list, want []string
	}{
		{RoleWorker, nil, append(slices.Clone(core), "worker:init")},
		{RoleOrchestrator, nil, append(slices.Clone(core), "orchestrator:init")},
		{RoleWorker, []string{"task:get", "whoami", "report:progress"}, append(slices.Clone(core), "worker:init",
			"report:progress", "task:get")},
		{RoleWorker, []string{"task:report:blocked"}, append(slices.Clone(core), "worker:init", "report:blocked")},
		// runner:enroll is planned.
		{RoleWorker, []string{"runner:enroll", "task:get"}, append(slices.Clone(core), "worker:init", "task:get")},
		{RoleQueueWorker, []string{"queue:fail", "queue:start"}, append(slices.Clone(core), "worker:init",
			"queue:start", "queue:fail")},
	} {
		if got := CurrentRules().Effective(c.who, c.list); !slices.Equal(got, c.want) {
			t.Errorf("%s with %q: got %q, want %q", c.who, c.list, got, c.want)
		}
	}
}

func TestHidden(t *testing.T) {
	table := CurrentRules()
	allowed := table.Defaults(RoleWorker)
	hidden := table.Hidden(allowed)
	// The example of docs/spec/000-command-permissions.md, "JSON Output", without task:children and the like, which are
	// allowed.
	for _, id := range []string{
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
		want := row.Alias == "" && !row.Planned && row.Who&^(RoleRunner|RoleSystem) != 0 &&
			!slices.Contains(allowed, row.ID)
		if listed != want {
			t.Errorf("%s hidden: %t", row.ID, listed)
		}
	}
	if hidden := table.Hidden(nil); hidden == nil || !slices.IsSortedFunc(hidden,
		func(a, b string) int { return table.index[a] - table.index[b] }) {
		t.Error("the commands must be in the table's order, and a list")
	}
}

func TestLettersAsWords(t *testing.T) {
	const want = "worker, queue worker, tree worker, orchestrator, user, runner, system"
	if got := (agents | RoleUser | RoleRunner | RoleSystem).String(); got != want {
		t.Error(got)
	}
}

// docs/contract.md, "Without a connection": reports, track-file and session complete are kept without a connection;
// commands whose answer matters are not.
func TestMayWait(t *testing.T) {
	for _, row := range CurrentRules().Rows() {
		report := strings.HasPrefix(strings.TrimPrefix(row.ID, "task:"), "report:")
		want := report || row.ID == "track-file" || row.ID == "session:complete"
		if got := MayWait(row.ID); got != want {
			t.Errorf("%s may wait: %t", row.ID, got)
		}
	}
	if MayWait("") || MayWait("none") {
		t.Error("an unknown command may wait")
	}
}
