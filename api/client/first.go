package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"maestro/service/wire"
)

// first gives the first items of a list: one page of at most so many.
func first[T any](ctx context.Context, c *Client, path string, query url.Values, most int) (items []T, err error) {
	ctx, cancel := c.patiently(ctx, 0)
	defer cancel()
	query.Set("limit", strconv.Itoa(most))
	req, err := c.request(ctx, http.MethodGet, path, query, nil)
	if err != nil {
		return nil, err
	}
	return items, c.decode(req, &items)
}

// FirstTasks gives the first tasks that a filter selects, at most so many.
func (c *Client) FirstTasks(ctx context.Context, filter wire.TaskFilter, most int) ([]wire.Task, error) {
	return first[wire.Task](ctx, c, "/api/tasks", queryOf(filter), most)
}

// FirstSessions gives the first sessions that a filter selects, at most so many.
func (c *Client) FirstSessions(ctx context.Context, filter wire.SessionFilter, most int) ([]wire.Session, error) {
	return first[wire.Session](ctx, c, "/api/sessions", queryOf(filter), most)
}

// FirstProjects gives the first projects, at most so many.
func (c *Client) FirstProjects(ctx context.Context, most int) ([]wire.Project, error) {
	return first[wire.Project](ctx, c, "/api/projects", url.Values{}, most)
}
