package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"maestro/service/wire"
)

// first returns the first items of a list, at most so many. A page may have fewer although there are more.
func first[T any](ctx context.Context, c *Client, path string, query url.Values, most int) (items []T, err error) {
	ctx, cancel := c.patiently(ctx, 0)
	defer cancel()
	query = c.asOf(query)
	empty := 0
	for {
		query.Set("limit", strconv.Itoa(most-len(items)))
		req, err := c.request(ctx, http.MethodGet, path, query, nil)
		if err != nil {
			return nil, err
		}
		resp, answer, err := c.answer(req)
		if err != nil {
			return nil, err
		}
		var page []T
		if err := decoded(resp, answer, &page); err != nil {
			return nil, err
		}
		items = append(items, page...)
		next := resp.Header.Get(wire.HeaderNext)
		switch {
		case next == "" || len(items) >= most:
			return items, nil
		case len(page) > 0:
			empty = 0
		case empty == emptyPages:
			return nil, notOurs(resp, errEmptyPages)
		default:
			empty++
		}
		query.Set("cursor", next)
	}
}

// list reads a list to its end, or its first items if the query has a limit.
func list[T any](ctx context.Context, c *Client, path string, query url.Values) ([]T, error) {
	if most, err := strconv.Atoi(query.Get("limit")); err == nil && most > 0 {
		return first[T](ctx, c, path, query, most)
	}
	return read[[]T](ctx, c, path, query)
}

// FirstTasks returns the first tasks that a filter selects, at most so many.
func (c *Client) FirstTasks(ctx context.Context, filter wire.TaskFilter, most int) ([]wire.Task, error) {
	return first[wire.Task](ctx, c, "/api/tasks", queryOf(filter), most)
}

// FirstSessions returns the first sessions that a filter selects, at most so many.
func (c *Client) FirstSessions(ctx context.Context, filter wire.SessionFilter, most int) ([]wire.Session, error) {
	return first[wire.Session](ctx, c, "/api/sessions", queryOf(filter), most)
}

// FirstProjects returns the first projects that a filter selects, at most so many.
func (c *Client) FirstProjects(ctx context.Context, filter wire.ProjectFilter, most int) ([]wire.Project, error) {
	return first[wire.Project](ctx, c, "/api/projects", queryOf(filter), most)
}

// FirstInputs returns the first questions that a filter selects, at most so many.
func (c *Client) FirstInputs(ctx context.Context, filter wire.InputFilter, most int) ([]wire.Input, error) {
	return first[wire.Input](ctx, c, "/api/inputs", queryOf(filter), most)
}
