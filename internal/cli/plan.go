package cli

import "github.com/spf13/cobra"

func newPlan(a *Run) *cobra.Command {
	return a.group("plan", "Plans: files that list the tasks of a project", newPlanApply(a), newPlanExport(a))
}
