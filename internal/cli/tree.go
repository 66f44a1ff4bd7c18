package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/events"
	"maestro/internal/safetext"
	"maestro/service/wire"
)

// taskTree is `maestro task tree`.
type taskTree struct {
	*Run
	project string
	query   wire.TreeOf
}

func newTaskTree(a *Run) *cobra.Command {
	c := &taskTree{Run: a}
	cmd := &cobra.Command{
		Use:   "tree [<taskId>]",
		Short: "Draw the tasks below a task, or all tasks of the project",
		Args:  Takes,
		Long: `Draw the tasks below a task, or all tasks of the project. Each task is drawn
below its parent. Tasks with the same parent are drawn in their own order, which
"maestro task move" changes.

With --order dependencies, tasks with the same parent are drawn in an order in
which they can be done. Read it from top to bottom: what a task waits for stands
above it, or above the branch that it is in. If two branches wait for each
other, one of them has to come first all the same.`,
		RunE: Running(c.run),
	}
	projectFlag(cmd, &c.project)
	bindQuery(cmd, &c.query)
	a.ListFlags(cmd)
	a.WatchFlag(cmd, "task")
	a.AtFlag(cmd)
	return Tell(cmd, "task:tree")
}

func (c *taskTree) run(ctx context.Context, args []string) error {
	trees, err := readTrees(ctx, c.Run, At(args, 0), c.project, c.query.Order)
	if err != nil {
		return err
	}
	answerList(c.Run, trees, TreeIDs, func() {
		if len(trees) == 0 {
			c.Say("No tasks\n")
		}
		if c.query.Order != "" && len(trees) > 0 {
			c.Print("In an order in which they can be done: what a task waits for stands above it\n")
		}
		DrawTrees(c.Run, trees, TreeLine)
	})
	return nil
}

// TreeIDs returns the ids of a tree's tasks, a line for each, in the order in which DrawTrees draws them.
func TreeIDs(tree wire.TaskTree) string {
	ids := tree.ID
	for _, child := range tree.Children {
		ids += "\n" + TreeIDs(child)
	}
	return ids
}

func readTrees(ctx context.Context, a *Run, task, project, order string) ([]wire.TaskTree, error) {
	if task != "" {
		tree, err := Ask(ctx, a, (*client.Client).TaskTree, wire.TreeOf{ID: task, Order: order})
		return []wire.TaskTree{tree}, err
	}
	project, err := a.knownProject(ctx, project)
	if err != nil {
		return nil, err
	}
	return Ask(ctx, a, (*client.Client).ProjectTree, wire.TreeOf{ID: project, Order: order})
}

// progress sums up everything below a task.
func progress(p *wire.Progress) string {
	if p == nil {
		return ""
	}
	text := fmt.Sprintf("%d of %d done", p.Completed, p.Total)
	for _, part := range []struct {
		n    int
		what string
	}{
		{p.Said, "said done"},
		{p.Blocked, "blocked"},
		{p.Failed, "failed"},
		{p.Cancelled, "cancelled"},
		{p.Unread, "or more not counted"},
	} {
		if part.n > 0 {
			text += fmt.Sprintf(", %d %s", part.n, part.what)
		}
	}
	return text
}

// TreeLine shows a task in a tree: the authoritative status in brackets, then the session status, and for a parent its
// progress.
func TreeLine(t wire.Task) string {
	line := t.ID + "  " + safetext.Clip(
		t.Title,
		100,
	) + "  [" + string(
		t.Status,
	) + "]" + Prefixed(
		"  ",
		says(t.SessionStatus),
	) + Prefixed(
		"  ",
		progress(t.Progress),
	)
	ended := t.Status.Over() || t.SessionStatus == events.SaysCompleted
	if len(t.UnmetDependencies) > 0 && !ended {
		line += "  waits for " + Many(len(t.UnmetDependencies), "task")
	}
	return line
}

// DrawTrees draws trees with a line for each task.
func DrawTrees(a *Run, trees []wire.TaskTree, line func(wire.Task) string) {
	for _, tree := range trees {
		a.hanging("", line(tree.TaskView))
		drawBelow(a, tree, "", line)
	}
}

func drawBelow(a *Run, tree wire.TaskTree, indent string, line func(wire.Task) string) {
	if tree.Below > 0 {
		a.Print("%s└─ … %s below, see `maestro task tree %s`\n", indent, Many(tree.Below, "task"), tree.ID)
	}
	for i, child := range tree.Children {
		branch, below := "├─ ", "│  "
		if i == len(tree.Children)-1 {
			branch, below = "└─ ", "   "
		}
		a.hanging(indent+branch, line(child.TaskView))
		drawBelow(a, child, indent+below, line)
	}
}
