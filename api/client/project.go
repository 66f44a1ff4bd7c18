package client

import (
	"context"

	"maestro/service/wire"
)

// Projects lists the projects that the caller may see.
func (c *Client) Projects(ctx context.Context, filter wire.ProjectFilter) ([]wire.Project, error) {
	query := queryOf(filter)
	if filter.Limit != "" {
		return list[wire.Project](ctx, c, "/api/projects", query)
	}
	return read[[]wire.Project](ctx, c, "/api/projects", inPages(query))
}

// Project returns a project.
func (c *Client) Project(ctx context.Context, id string) (wire.Project, error) {
	return read[wire.Project](ctx, c, pathTo("projects", id), nil)
}

// ProjectStatus counts the tasks and sessions of a project by status.
func (c *Client) ProjectStatus(ctx context.Context, id string) (wire.ProjectStatus, error) {
	return read[wire.ProjectStatus](ctx, c, pathTo("projects", id, "status"), nil)
}

// ProjectTree returns the tasks of a project as trees.
func (c *Client) ProjectTree(ctx context.Context, of wire.TreeOf) ([]wire.TaskTree, error) {
	return read[[]wire.TaskTree](ctx, c, pathTo("projects", of.ID, "tree"), queryOf(of))
}
