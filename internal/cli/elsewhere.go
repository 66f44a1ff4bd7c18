package cli

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/internal/failure"
	"maestro/internal/safetext"
	"maestro/service/wire"
)

// allProjectsFlag lets a command look beyond the current project.
func allProjectsFlag(cmd *cobra.Command, all *bool) {
	cmd.Flags().BoolVar(all, "all-projects", false, "all projects, not only the current one")
}

// bothProjects refuses --all-projects beside --project.
func bothProjects() error {
	return failure.Usage("--project and --all-projects cannot be used together").WithNext("leave one of them out")
}

// asData reports whether the output is for a program, which is told only what it asked for.
func (a *Run) asData() bool { return a.JSON || a.format == "jsonl" || a.quiet }

// thingsElsewhere returns how much needs the user in other projects than that of a filter, "" for no such project. It
// is for a current project: who works on one does not see that agents of another wait. A count that fails is none,
// because the answer itself is there.
func thingsElsewhere(ctx context.Context, a *Run, filter wire.InboxFilter) int {
	if filter.ProjectID == "" || filter.SessionID != "" || filter.Kind == string(inboxSetAside) {
		return 0
	}
	count, err := Ask(ctx, a, (*client.Client).InboxCount,
		wire.InboxCountFilter{Kind: filter.Kind, Except: filter.ProjectID})
	if err != nil {
		return 0
	}
	return count.Things
}

// inOthers says that things in other projects need the user.
func inOthers(n int) string {
	needs := " need you"
	if n == 1 {
		needs = " needs you"
	}
	return Many(n, "thing") + " in other projects" + needs + ": see `maestro inbox --all-projects`"
}

// inNamedProject returns ` in project "Shop"` for the project that an answer is limited to; "" for none, or if there is
// no other.
func inNamedProject(ctx context.Context, a *Run, id string) string {
	if id == "" {
		return ""
	}
	some, err := Ask(ctx, a, (*client.Client).Projects, wire.ProjectFilter{Limit: "2"})
	if err == nil && len(some) == 1 && some[0].ID == id {
		return ""
	}
	project, err := Ask(ctx, a, (*client.Client).Project, id)
	if err != nil {
		return " in project " + id
	}
	return " in project " + strconv.Quote(safetext.OneLine(project.Name))
}
