package cli

import (
	"fmt"
	"strings"

	"maestro/service/wire"
)

// mostBeside is how many tasks of earlier plans are named.
const mostBeside = 5

// ofEarlierPlans names the tasks that a plan no longer has, by both ids: the plan id is in the older file.
func ofEarlierPlans(tasks []wire.Task) string {
	named := make([]string, min(len(tasks), mostBeside))
	for n := range named {
		named[n] = fmt.Sprintf("%s (%s)", tasks[n].ID, tasks[n].PlanID)
	}
	text := fmt.Sprintf("%s of earlier plans: %s", Many(len(tasks), "task"), strings.Join(named, ", "))
	if more := len(tasks) - len(named); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
