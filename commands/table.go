package commands

import (
	"slices"
	"strings"
	"sync"

	"maestro/events"
)

// RoleSet is a set of the roles in the columns of the permission table.
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
	// Core commands belong to every session, whatever its explicit list says.
	Core bool
	// Write marks commands that may become an event; the others are reads. It is derived from Events.
	Write bool
	// Events names the type that it may become, without "maestro." and version. It is derived from the maker, if there
	// is one.
	Events string
	// Waits marks commands whose answer nobody waits for: a session that does not reach the server keeps them in an
	// outbox.
	Waits bool
	// Alias is the row that this id is another name for.
	Alias string
	// Rule says, for people, what the decision depends on.
	Rule string
	// Planned marks commands that this version does not have: the id is known, but no list and no advice includes it.
	// It is derived for a row with an event but without a command.
	Planned bool

	// since is the version that added the row, or that permitted it to others; "" for the first.
	since string
	// before is who could use it until then, 0 for nobody.
	before RoleSet
	// built is the version of the rules in which this row became available; earlier versions only planned it. "" if no
	// version planned it.
	built string
	// beyond says where a session may use it besides the projects that it works in.
	beyond beyond
	// makes is nil for a read, an alias in rows, and a planned command.
	makes *maker
}

// RulesVersion is the version of the table and of Decide that new events carry.
const RulesVersion = seventhRules

// The versions of the rules. A row of the table says what differs there; each decision says what else differs.
const (
	// firstRules gave sessions no queues and reports no questions, and knew no cause but a session's.
	firstRules = "1"
	// secondRules limited neither what an orchestrator gives a child nor the size of a graph.
	secondRules = "2"
	// thirdRules let every session write to the one that spawned it and wait for its own mail, and permit changes of
	// queues.
	thirdRules = "3"
	// fourthRules has a command for the live views.
	fourthRules = "4"
	// fifthRules has a command for the events of the log. It notifies orchestrators of what the user decides about the
	// work that they lead, takes no relative working directory, lets no session skip the next item of a queue once it
	// has said that it is done, and lets one note the end of its own command if the orchestrator that spawned it has
	// ended.
	fifthRules = "5"
	// sixthRules has commands for the runs of a session: a runner claims it, and whoever spawned it resumes it.
	sixthRules = "6"
	// seventhRules gives no session more of an agent's options than the session has that spawns it.
	seventhRules = "7"
)

// thirdOn reports whether a version of the rules is 3 or later.
func thirdOn(version string) bool { return version != firstRules && version != secondRules }

// fifthOn reports whether a version of the rules is 5 or later.
func fifthOn(version string) bool {
	return thirdOn(version) && version != thirdRules && version != fourthRules
}

// seventhOn reports whether a version of the rules is 7 or later.
func seventhOn(version string) bool {
	return fifthOn(version) && version != fifthRules && version != sixthRules
}

// isOlder reports whether a version comes before another one. "" comes before all.
func isOlder(version, other string) bool {
	return len(version) < len(other) || len(version) == len(other) && version < other
}

// Table is one version of the rules.
type Table struct {
	Version string
	rows    []Row
	index   map[string]int
}

// Rules returns the table of a version, or false for an unknown one. Old versions stay, so that old events are judged
// by the rules of their time.
func Rules(version string) (*Table, bool) {
	switch version {
	case RulesVersion:
		return current(), true
	case sixthRules:
		return sixth(), true
	case fifthRules:
		return fifth(), true
	case fourthRules:
		return fourth(), true
	case thirdRules:
		return third(), true
	case secondRules:
		return second(), true
	case firstRules:
		return first(), true
	}
	return nil, false
}

// tableOf returns the table of a version, or the current one for "".
func tableOf(version string) *Table {
	if t, known := Rules(version); known {
		return t
	}
	return current()
}

// CurrentRules returns the table for new decisions.
func CurrentRules() *Table { return current() }

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
	row, _ := current().Row(id)
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

// listed reports whether lists may have a row: it is not an alias, and its command exists. Lists of the first two
// versions also had planned commands.
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

// Hidden returns, in the table's order, every id that is not in a list, without those of runners and of the system and
// without planned ones.
func (t *Table) Hidden(allowed []string) []string {
	hidden := []string{}
	for _, row := range t.rows {
		if t.listed(row) && row.Who&^(RoleRunner|RoleSystem) != 0 && !slices.Contains(allowed, row.ID) {
			hidden = append(hidden, row.ID)
		}
	}
	return hidden
}

// Effective returns the effect of an explicit list for a column: the existing commands of the list and the core
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

// Offered returns the ids of a list that a session may be told of: a list of an older version contains planned ones.
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
// default lacks, but no write that its role does not have, and nothing whose name says that it belongs to another role.
func (t *Table) MayList(who RoleSet, id string) string {
	row, ok := t.Row(id)
	switch {
	case !ok:
		return whyNoRow(id)
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

// The tables are made when they are first needed: most processes are short, and ask the server.
var (
	current = sync.OnceValue(func() *Table { return newTable(RulesVersion) })
	sixth   = sync.OnceValue(func() *Table { return newTable(sixthRules) })
	fifth   = sync.OnceValue(func() *Table { return newTable(fifthRules) })
	fourth  = sync.OnceValue(func() *Table { return newTable(fourthRules) })
	third   = sync.OnceValue(func() *Table { return newTable(thirdRules) })
	second  = sync.OnceValue(func() *Table { return newTable(secondRules) })
	first   = sync.OnceValue(func() *Table { return newTable(firstRules) })
)

func newTable(version string) *Table {
	t := &Table{Version: version, index: make(map[string]int, len(rows()))}
	for _, row := range rows() {
		if isOlder(version, row.since) {
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
		row.Planned = row.Planned || isOlder(version, row.built) || row.Write && row.makes == nil
		t.index[row.ID] = len(t.rows)
		t.rows = append(t.rows, row)
	}
	return t
}
