package main

import (
	"fmt"
	"strconv"
	"strings"

	"maestro/api"
	"maestro/commands"
	"maestro/internal/plan"
	"maestro/workers/manifest"
)

// fileLimits are the limits of files that the command line reads.
var fileLimits = commands.LimitGroup{
	Title: "Files",
	Intro: "`maestro task import` checks a plan before it makes anything, and names the line of each fault. " +
		"`maestro manifest validate`, and the server, check a manifest.",
	Limits: []commands.Limit{
		inPlan("plan-bytes", plan.MaxBytes, "bytes", "a plan"),
		inPlan("plan-tasks", plan.MaxTasks, "tasks", "a plan"),
		inPlan("plan-dependencies", plan.MaxDependencies, "dependencies",
			"all tasks of a plan; one task has the limit `dependencies`"),
		inPlan("plan-depth", plan.MaxDepth, "levels", "levels of tasks in a plan"),
		inPlan("plan-dependents", plan.MaxDependents, "dependents", "tasks of a plan that depend on one"),
		inPlan("plan-task", plan.MaxTask, "bytes",
			"each field of a task of a plan as JSON, with its name; a task with more is sent in several commands"),
		inPlan("plan-text", plan.MaxText, "bytes", "an entry of a list of texts in a plan"),
		inPlan("plan-faults", plan.MaxFaults, "faults", "faults that are reported; reading ends there"),
		{
			Name:   "manifest-bytes",
			Value:  manifest.MaxSize,
			Unit:   "bytes",
			Bounds: "a manifest, on the route of manifests too",
			Answer: "exit 5; 413 `TOO_LARGE`",
		},
		{
			Name:   "manifest-depth",
			Value:  manifest.MaxDepth,
			Unit:   "levels",
			Bounds: "JSON levels of a manifest",
			Answer: "exit 5; 422 `INVALID_MANIFEST`",
		},
	},
}

func inPlan(name string, value int64, unit, bounds string) commands.Limit {
	return commands.Limit{
		Name:   name,
		Value:  value,
		Unit:   unit,
		Bounds: bounds,
		Answer: "exit 5",
	}
}

func limitsPage() string {
	var b strings.Builder
	b.WriteString("# Limits\n\n" + notice)
	b.WriteString(
		`Every limit has a name, which a refusal states together with the number. A normal fleet reaches none of them:
each bounds what one caller can cost everybody else.
`,
	)
	for _, group := range append(commands.Limits(), fileLimits) {
		fmt.Fprintf(&b, "\n## %s\n\n", group.Title)
		if group.Intro != "" {
			b.WriteString(group.Intro + "\n\n")
		}
		b.WriteString("| limit | at most | bounds | above it |\n|---|---|---|---|\n")
		for _, l := range group.Limits {
			fmt.Fprintf(&b, "| `%s` | %s %s | %s | %s |\n", l.Name, grouped(l.Value), l.Unit, l.Bounds, above(l))
		}
	}
	return b.String() + quotasSection()
}

// above describes the answer to a caller above a limit: a code with its HTTP status, or words.
func above(l commands.Limit) string {
	if l.Code == "" {
		return l.Answer
	}
	return fmt.Sprintf("%d `%s`", api.StatusOf(l.Code), l.Code)
}

// grouped writes a number with a comma between thousands.
func grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}
