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
		`The server decides from its own state and the caller's credential; what an agent's command line claims does
not count. It uses this one table (version %q of the rules; each event carries the version that permitted it).

A session may use the commands of its column. If its manifest lists `+"`allowedCommands`"+`, it may use exactly
those, the core commands, and `+"`input:received`"+` for its own mail. Such a list may add reads that the column lacks,
but no write that its role does not have. Project commands require an orchestrator, queue commands the queue strategy,
and audit commands are the user's. A session works only in its own project, an orchestrator also in projects that it
created. A session whose permissions are unknown may do nothing.

A session reads its own mail and that of the sessions that it spawned. On the timelines of other sessions, and among
causes, it sees that something was written to them, but not what. A successor finds its predecessor's mail in its
manifest, and the next holder of a queue item what was written about its task in the answer of `+
			"`queue start`"+`.
A session can write to the session that spawned it even if that session works in another project.

An admin token may use what the table gives the user, an auditor token reads everything and writes nothing, and a
read-only token reads its projects.

Every refusal is recorded beside the log before it is answered: who asked for what, why it was refused, and when. Equal
refusals within a minute share one record with a count. The server keeps at most 1,000 records of each caller, another
1,000 of its commands that came from an outbox, and 10,000 in all. `+"`maestro audit denials`"+` lists them.
`+"`maestro audit can ACTOR COMMAND [TARGET]`"+` tells you beforehand what the server would decide, and names the row.
A dry run neither does anything nor is recorded.

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
	b.WriteString("\n`task:report:<kind>` is another name for `report:<kind>` with a task, and appears in no list.\n")
	b.WriteString("\n## Default commands\n")
	for _, column := range columns {
		fmt.Fprintf(&b, "\n### %s\n\n`%s`\n", column.name, strings.Join(table.Defaults(column.role), "` `"))
	}
	return b.String()
}
