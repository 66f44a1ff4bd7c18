package cli

import (
	"context"
	"strconv"
	"strings"

	"maestro/api/client"
	"maestro/internal/plan"
	"maestro/internal/safetext"
	"maestro/service/wire"
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

// sayUnqueued reminds the user of new tasks that no queue of the project has, although others of its tasks came from
// one: the workers of that queue do not get them.
func (i *applying) sayUnqueued(ctx context.Context, a *Run) {
	var created []string
	for _, t := range i.Done {
		if t.Action == plan.Created {
			created = append(created, t.LocalID)
		}
	}
	if !i.user || i.dryRun || i.absent || len(created) == 0 || a.asData() {
		return
	}
	queues, err := i.client.Queues(ctx, wire.QueueFilter{ProjectID: i.Project})
	if err != nil {
		return
	}
	into := ""
	for _, q := range queues {
		switch {
		case q.SessionID != "" || q.Stats.Total == 0:
		case into == "":
			into = q.Name
		default:
			into = "<queue>"
		}
	}
	if into == "" {
		return
	}
	some, more, verb := created[:min(len(created), mostBeside)], "", " are"
	if len(created) == 1 {
		verb = " is"
	}
	if len(created) > len(some) {
		more = " …"
	}
	a.Say("maestro: %s%s in no queue: `maestro queue push %s%s --queue %s` adds tasks to one\n",
		Many(len(created), "new task"), verb, strings.Join(some, " "), more, into)
}
