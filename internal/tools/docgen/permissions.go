package main

import (
	"fmt"
	"strings"

	"maestro/commands"
)

// columns are the sessions of docs/spec/000-command-permissions.md, "Default Command Sets", by the role of their
// column.
var columns = []struct {
	role commands.RoleSet
	name string
}{
	{commands.RoleWorker, "Worker (simple strategy)"},
	{commands.RoleQueueWorker, "Worker (queue strategy)"},
	{commands.RoleTreeWorker, "Worker (tree strategy)"},
	{commands.RoleOrchestrator, "Orchestrator"},
}

func permissionsPage() string {
	table := commands.CurrentRules()
	var b strings.Builder
	b.WriteString("# Permissions\n\n" + notice)
	fmt.Fprintf(&b,
		`The server decides, from its own state and the caller's credential; what an agent's command line says of itself does not count. This
is the one table that it asks (version %q of the rules; each event carries the version that let it through).

A session may use the commands of its column, or, if its manifest lists `+"`allowedCommands`"+`, exactly those and the core commands,
and `+"`input:received`"+` for what was written to it. Such a
list may add reads that the column lacks, but no write that its role does not have; project commands are an orchestrator's, queue commands
need the queue strategy, and the audit is the user's. A session works in its own project only, an orchestrator also in projects that it created. A
session whose permissions are unknown may do nothing.
A session reads its own mail and that of the sessions that it spawned. On the timelines of other sessions, and among causes, it sees that
something was written to them, not what. A successor is told in its manifest what was written to its predecessor. A session writes to the
session that spawned it also where that session works in another project.

An admin's token may use what the table gives the user, an auditor's token reads everything and writes nothing, a read-only token reads its
projects.

Every refusal is recorded before it is answered, beside the log: who asked for what, what it was refused by, and when. Equal ones within a
minute are one record with a count, and of each caller the newest thousand are kept, of all 10,000.
`+"`maestro audit denials`"+` lists them. `+"`maestro audit can ACTOR COMMAND [TARGET]`"+` asks beforehand, and
names the row; a dry run is neither recorded nor done.

A planned row has no command yet: its id is known, and no list has it.

| command | worker | queue | tree | orchestrator | user | runner | system | | becomes | decided on |
|---|---|---|---|---|---|---|---|---|---|---|
`, table.Version)
	for _, row := range table.Rows() {
		fmt.Fprintf(&b, "| `%s` ", row.ID)
		for _, role := range []commands.RoleSet{
			commands.RoleWorker,
			commands.RoleQueueWorker,
			commands.RoleTreeWorker,
			commands.RoleOrchestrator,
			commands.RoleUser,
			commands.RoleRunner,
			commands.RoleSystem,
		} {
			mark := ""
			if row.Who&role != 0 {
				mark = "✓"
			}
			fmt.Fprintf(&b, "| %s ", mark)
		}
		var kind []string
		if row.Core {
			kind = append(kind, "core")
		}
		if !row.Write {
			kind = append(kind, "read")
		}
		if row.Planned {
			kind = append(kind, "planned")
		}
		becomes := ""
		if row.Events != "" {
			becomes = "`" + row.Events + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", strings.Join(kind, ", "), becomes, row.Rule)
	}
	b.WriteString("\n`task:report:<kind>` is another name for `report:<kind>` with a task and stands in no list.\n\n## By default\n")
	for _, column := range columns {
		fmt.Fprintf(&b, "\n### %s\n\n`%s`\n", column.name, strings.Join(table.Defaults(column.role), "` `"))
	}
	return b.String()
}
