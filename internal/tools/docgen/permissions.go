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
		`The server decides from its own state and the caller's credential; what an agent's command line claims does not count. This is the one table
that it uses (version %q of the rules; each event carries the version that permitted it).

A session may use the commands of its column, or, if its manifest lists `+"`allowedCommands`"+`, exactly those and the core commands,
and `+"`input:received`"+` for what was written to it. Such a
list may add reads that the column lacks, but no write that its role does not have; project commands belong to an orchestrator, queue commands
need the queue strategy, and the audit belongs to the user. A session works in its own project only, an orchestrator also in projects that it created. A
session whose permissions are unknown may do nothing.
A session reads its own mail and that of the sessions that it spawned. On the timelines of other sessions, and among causes, it sees that
something was written to them, but not what. A successor finds in its manifest what was written to its predecessor. A session can write to the
session that spawned it even if that session works in another project.

An admin's token may use what the table gives the user, an auditor's token reads everything and writes nothing, and a read-only token reads its
projects.

Every refusal is recorded before it is answered, beside the log: who asked for what, why it was refused, and when. Equal refusals
within a minute share one record with a count. The server keeps at most 1,000 records of each caller, as many of its kept commands, and 10,000
in all.
`+"`maestro audit denials`"+` lists them. `+"`maestro audit can ACTOR COMMAND [TARGET]`"+` tells beforehand what the
server would decide, and names the row. A dry run is neither recorded nor done.

A planned row has no command yet: its id is known, but appears in no list.

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
