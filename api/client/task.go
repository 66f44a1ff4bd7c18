package client

import (
	"context"

	"maestro/service/wire"
)

// Tasks lists the tasks that the caller may see.
func (c *Client) Tasks(ctx context.Context, filter wire.TaskFilter) ([]wire.Task, error) {
	query := queryOf(filter)
	if filter.Limit != "" {
		return list[wire.Task](ctx, c, "/api/tasks", query)
	}
	if filter.Order != "dependencies" && filter.Order != "completion" { // each page costs as much as the whole list
		query = inPages(query)
	}
	return read[[]wire.Task](ctx, c, "/api/tasks", query)
}

// Task returns a task.
func (c *Client) Task(ctx context.Context, id string) (wire.Task, error) {
	return read[wire.Task](ctx, c, pathTo("tasks", id), nil)
}

// Children lists the tasks directly below one.
func (c *Client) Children(ctx context.Context, id string) ([]wire.Task, error) {
	return read[[]wire.Task](ctx, c, pathTo("tasks", id, "children"), nil)
}

// TaskTree returns a task with everything below it.
func (c *Client) TaskTree(ctx context.Context, of wire.TreeOf) (wire.TaskTree, error) {
	return read[wire.TaskTree](ctx, c, pathTo("tasks", of.ID, "tree"), queryOf(of))
}

// TaskTimeline lists everything that happened to a task, oldest first.
func (c *Client) TaskTimeline(ctx context.Context, id string) ([]wire.Entry, error) {
	return read[[]wire.Entry](ctx, c, pathTo("tasks", id, "timeline"), nil)
}
