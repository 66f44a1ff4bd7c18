package client

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"reflect"
	"strings"
)

// read reads a view. It reads a list that comes in pages to its end. It fails as Do does.
func read[T any](ctx context.Context, c *Client, path string, query url.Values) (view T, err error) {
	ctx, cancel := c.patiently(ctx, 0)
	defer cancel()
	return view, c.get(ctx, path, query, &view)
}

// post sends a JSON document unchanged and reads the answer. It fails as Do does.
func post[T any](ctx context.Context, c *Client, path string, document []byte) (answer T, err error) {
	ctx, cancel := c.patiently(ctx, 0)
	defer cancel()
	req, err := c.request(ctx, http.MethodPost, path, nil, bytes.NewReader(document))
	if err != nil {
		return answer, err
	}
	req.Header.Set("Content-Type", "application/json")
	return answer, c.decode(req, &answer)
}

// pathTo joins parts of a route; ids may contain any characters.
func pathTo(parts ...string) string {
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return "/api/" + strings.Join(parts, "/")
}

// inPages requests pages of a list that the server otherwise returns as a whole, for older clients.
func inPages(query url.Values) url.Values {
	query.Set("limit", "1000")
	return query
}

// queryOf returns the parameters that the fields of a shape name by their `query` tags; it omits empty ones.
func queryOf(shape any) url.Values {
	query := url.Values{}
	fields := reflect.ValueOf(shape)
	for i := range fields.NumField() {
		name, value := fields.Type().Field(i).Tag.Get("query"), fields.Field(i).String()
		if name != "" && value != "" {
			query.Set(name, value)
		}
	}
	return query
}
