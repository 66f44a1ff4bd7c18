package commands

import (
	"slices"
	"strings"

	"maestro/events"
)

// RoleSet is a set of the roles that the columns of the permission table stand for.
type RoleSet uint8

// The roles of the permission table. Workers have one column for each strategy: simple, queue and tree.
const (
	RoleWorker RoleSet = 1 << iota
	RoleQueueWorker
	RoleTreeWorker
	RoleOrchestrator
	RoleUser
	RoleRunner
	RoleSystem
)

const (
	workers = RoleWorker | RoleQueueWorker | RoleTreeWorker
	agents  = workers | RoleOrchestrator
)

// Row is one command id of the permission table (docs/contract.md, "Permissions").
type Row struct {
	// ID is the command's id, "command" or "parent:subcommand".
	ID string
	// Who may use it without an explicit list.
	Who RoleSet
	// Core commands are a session's whatever its explicit list says.
	Core bool
	// Write marks what may become an event; the others are reads. It follows from Events.
	Write bool
	// Events names the type that it may become, without "maestro." and version. It follows from what makes the command,
	// if that is there.
	Events string
	// Waits marks what nobody waits for the answer of: a session that does not reach the server keeps it in an outbox.
	Waits bool
	// Alias is the row that this id is another name for.
	Alias string
	// Rule says what the decision rests on, for people.
	Rule string
	// Planned marks what this version has no command for: its id is known, and no list and no advice has it. It follows
	// for what names an event that no command makes.
	Planned bool

	// since is the version that added the row, or that let others use it; "" for the first.
	since string
	// before is who could use it until then, 0 for nobody.
	before RoleSet
	// beyond says where a session may use it besides the projects that it works in.
	beyond beyond
	// makes is nil for a read, an alias in rows, and a command that is not there yet.
	makes *maker
}

// RulesVersion is the version of the table and of Decide that new events carry.
const RulesVersion = thirdRules

// The versions of the rules. A row of the table says what differs there; what else they decide otherwise, each decision
// says.
const (
	// firstRules made no queues of sessions and no questions of reports, and knew no cause but a session's.
	firstRules = "1"
	// secondRules bounded neither what an orchestrator gives a child nor the size of a graph.
	secondRules = "2"
	// thirdRules let every session write to the one that spawned it and wait for its own mail, and queues be changed.
	thirdRules = "3"
)

// thirdOn reports whether a version of the rules is the third or a later one.
func thirdOn(version string) bool { return version != firstRules && version != secondRules }

// Table is one version of the rules.
type Table struct {
	Version string
	rows    []Row
	index   map[string]int
}

// Rules returns the table of a version, or false for one that this maestro does not know. Old versions stay, so that
// old events are judged by the rules of their time.
func Rules(version string) (*Table, bool) {
	switch version {
	case RulesVersion:
		return current, true
	case secondRules:
		return second, true
	case firstRules:
		return first, true
	}
	return nil, false
}

// tableOf returns the table of a version; the current one for none.
func tableOf(version string) *Table {
	if t, known := Rules(version); known {
		return t
	}
	return current
}

// CurrentRules returns the table that decides now.
func CurrentRules() *Table { return current }

// Rows returns the table's rows in the order of docs/contract.md, "Permissions".
func (t *Table) Rows() []Row { return slices.Clone(t.rows) }

// Row returns the row of a command id.
func (t *Table) Row(id string) (Row, bool) {
	i, ok := t.index[id]
	if !ok {
		return Row{}, false
	}
	return t.rows[i], true
}

// MayWait reports whether a command of this id may be kept in an outbox and delivered later. Only these commands carry
// the time at which they were said.
func MayWait(id string) bool {
	row, _ := current.Row(id)
	return row.Waits
}

// RoleSetOf returns the column of a role and strategy, or 0 if there is none.
func RoleSetOf(role events.Role, strategy events.Strategy) RoleSet {
	switch {
	case role == events.RoleOrchestrator:
		return RoleOrchestrator
	case role != events.RoleWorker:
		return 0
	case strategy == events.StrategyQueue:
		return RoleQueueWorker
	case strategy == events.StrategyTree:
		return RoleTreeWorker
	}
	return RoleWorker
}

// listed reports whether lists may have a row: it is no alias, and its command is there. Lists of the first two
// versions had what was planned.
func (t *Table) listed(row Row) bool {
	return row.Alias == "" && (!row.Planned || !thirdOn(t.Version))
}

// Defaults returns the commands of a column in the table's order.
func (t *Table) Defaults(who RoleSet) []string {
	var ids []string
	for _, row := range t.rows {
		if row.Who&who != 0 && t.listed(row) {
			ids = append(ids, row.ID)
		}
	}
	return ids
}

// Hidden returns, in the table's order, every id that is not in a list, without the runners' and the system's and
// without what is planned.
func (t *Table) Hidden(allowed []string) []string {
	hidden := []string{}
	for _, row := range t.rows {
		if t.listed(row) && row.Who&^(RoleRunner|RoleSystem) != 0 && !slices.Contains(allowed, row.ID) {
			hidden = append(hidden, row.ID)
		}
	}
	return hidden
}

// Effective returns what an explicit list comes to for a column: those of the list that are there and the core
// commands, in the table's order.
func (t *Table) Effective(who RoleSet, list []string) []string {
	named := make(map[string]bool, len(list))
	for _, id := range list {
		named[t.canonical(id)] = true
	}
	var ids []string
	for _, row := range t.rows {
		if !t.listed(row) {
			continue
		}
		if row.Core && row.Who&who != 0 || named[row.ID] {
			ids = append(ids, row.ID)
		}
	}
	return ids
}

// Offered returns those ids of a list that a session may be told of: a list of an older version has what is planned.
func (t *Table) Offered(list []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(id string) bool {
		row, _ := t.Row(id)
		return row.Planned
	})
}

// canonical returns the id that an alias stands for.
func (t *Table) canonical(id string) string {
	if row, ok := t.Row(id); ok && row.Alias != "" {
		return row.Alias
	}
	return id
}

// MayList says why an explicit list of a column may not hold this id, or "" if it may. A list may add reads that the
// default lacks, but no write that its role does not have, and nothing that belongs to another by its name.
func (t *Table) MayList(who RoleSet, id string) string {
	row, ok := t.Row(id)
	switch {
	case !ok:
		return "there is no such command"
	case row.Who&who != 0:
		return ""
	case row.Who&(agents|RoleUser) == 0:
		return "it belongs to runners and the system"
	case row.Write:
		return "only " + row.Who.String() + " may use it"
	case strings.HasPrefix(id, "project:"):
		return "project commands are an orchestrator's"
	case strings.HasPrefix(id, "queue:"):
		return "queue commands need the queue strategy"
	case row.Who&agents == 0:
		return "it is the user's"
	case row.Core:
		return "it belongs to the other role"
	}
	return ""
}

// String returns the columns as words.
func (l RoleSet) String() string {
	var words []string
	for _, column := range []struct {
		roles RoleSet
		word  string
	}{
		{RoleWorker, "worker"},
		{RoleQueueWorker, "queue worker"},
		{RoleTreeWorker, "tree worker"},
		{RoleOrchestrator, "orchestrator"},
		{RoleUser, "user"},
		{RoleRunner, "runner"},
		{RoleSystem, "system"},
	} {
		if l&column.roles != 0 {
			words = append(words, column.word)
		}
	}
	return strings.Join(words, ", ")
}

var (
	current = newTable(RulesVersion)
	second  = newTable(secondRules)
	first   = newTable(firstRules)
)

func newTable(version string) *Table {
	t := &Table{Version: version, index: make(map[string]int, len(rows))}
	for _, row := range rows {
		if version < row.since {
			row.Who = row.before
		}
		if row.Who == 0 {
			continue
		}
		if target, ok := t.Row(row.Alias); ok { // which comes before it
			row.makes, row.Waits = target.makes, target.Waits
		}
		if row.makes != nil {
			row.Events = strings.TrimSuffix(strings.TrimPrefix(row.makes.event, "maestro."), ".v1")
		}
		row.Write = row.Events != ""
		row.Planned = row.Planned || row.Write && row.makes == nil
		t.index[row.ID] = len(t.rows)
		t.rows = append(t.rows, row)
	}
	return t
}
