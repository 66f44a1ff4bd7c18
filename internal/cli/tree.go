package cli

import (
	"context"
	"fmt"

	"maestro/api/client"
	"maestro/service/wire"

	"github.com/spf13/cobra"

	"maestro/internal/safetext"
)

func (a *Run) taskTree() *cobra.Command {
	var project, order string
	cmd := &cobra.Command{
		Use: "tree [ID]", Short: "Draw the tasks of a project, or those below a task", Args: Takes("[ID]"),
		RunE: Running(func(ctx context.Context, args []string) error {
			trees, err := a.trees(ctx, at(args, 0), project, order)
			if err != nil {
				return err
			}
			a.Result(trees, func() {
				if len(trees) == 0 {
					a.Print("There are no tasks\n")
				}
				a.drawTrees(trees, treeLine)
			})
			return nil
		}),
	}
	projectFlag(cmd, &project)
	cmd.Flags().StringVar(&order, "order", "", "dependencies: each task after those next to it that it, or what is below it, depends on")
	choice(cmd, "order", "dependencies")
	return cmd
}

func (a *Run) trees(ctx context.Context, task, project, order string) ([]wire.TaskTree, error) {
	if task != "" {
		tree, err := ask(ctx, a, (*client.Client).TaskTree, wire.TreeOf{ID: task, Order: order})
		return []wire.TaskTree{tree}, err
	}
	project, err := a.knownProject(ctx, project)
	if err != nil {
		return nil, err
	}
	return ask(ctx, a, (*client.Client).ProjectTree, wire.TreeOf{ID: project, Order: order})
}

// progress sums up what lies below a task.
func progress(p *wire.Progress) string {
	if p == nil {
		return ""
	}
	text := fmt.Sprintf("%d of %d done", p.Completed, p.Total)
	for _, part := range []struct {
		n    int
		what string
	}{{p.Said, "said done"}, {p.Blocked, "blocked"}, {p.Failed, "failed"}, {p.Cancelled, "cancelled"}} {
		if part.n > 0 {
			text += fmt.Sprintf(", %d %s", part.n, part.what)
		}
	}
	return text
}

// treeLine shows a task in a tree: the authoritative status in brackets, behind it what is said, and of a parent how far it
// has come.
func treeLine(t wire.Task) string {
	line := t.ID + "  " + safetext.Clip(t.Title, 100) + "  [" + string(t.Status) + "]" + prefixed("  ", says(t.SessionStatus)) + prefixed("  ", progress(t.Progress))
	if len(t.UnmetDependencies) > 0 {
		line += "  waits for " + Many(len(t.UnmetDependencies), "task")
	}
	return line
}

// drawTrees draws trees with a line for each task.
func (a *Run) drawTrees(trees []wire.TaskTree, line func(wire.Task) string) {
	for _, tree := range trees {
		a.Print("%s\n", safetext.OneLine(line(tree.TaskView)))
		a.drawBelow(tree, "", line)
	}
}

func (a *Run) drawBelow(tree wire.TaskTree, indent string, line func(wire.Task) string) {
	if tree.Below > 0 {
		a.Print("%s└─ … %s below, see `maestro task tree %s`\n", indent, Many(tree.Below, "task"), tree.ID)
	}
	for i, child := range tree.Children {
		branch, below := "├─ ", "│  "
		if i == len(tree.Children)-1 {
			branch, below = "└─ ", "   "
		}
		a.Print("%s%s%s\n", indent, branch, safetext.OneLine(line(child.TaskView)))
		a.drawBelow(child, indent+below, line)
	}
}
