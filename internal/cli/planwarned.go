package cli

import (
	"context"
	"strconv"

	"maestro/api/client"
	"maestro/internal/safetext"
)

// sayWhereTo says which project the tasks of a plan go to that is named differently, if nobody named that project.
func (i *applying) sayWhereTo(ctx context.Context, a *Run, name string) {
	project, err := i.client.Project(ctx, i.Project)
	if err != nil || project.Name == name || !i.user {
		return
	}
	a.Say("maestro: the plan's name is %s; its tasks go to project %s (%s): "+
		"for a project of that name, use --name ''\n",
		strconv.Quote(safetext.OneLine(name)), strconv.Quote(safetext.OneLine(project.Name)), project.ID)
}

// mostWarned is how many warnings of an apply are shown.
const mostWarned = 20

// warn shows the server's warnings, also those about what an apply did before it stopped.
func (i *applying) warn(a *Run) {
	shown := i.warnings[:min(len(i.warnings), mostWarned)]
	a.warn(client.Answer{Warnings: shown})
	if more := len(i.warnings) - len(shown); more > 0 {
		a.Say("maestro: and %s: see `maestro session list`\n", Many(more, "more warning"))
	}
}
