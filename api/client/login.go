package client

import (
	"context"
	"net/http"

	"maestro/service/wire"
)

// LoginCode returns a code with which a browser logs in once as the caller.
func (c *Client) LoginCode(ctx context.Context) (wire.LoginCode, error) {
	return post[wire.LoginCode](ctx, c, "/api/login-codes", nil)
}

// Logins lists the browsers that are logged in.
func (c *Client) Logins(ctx context.Context) ([]wire.Login, error) {
	return read[[]wire.Login](ctx, c, "/api/logins", nil)
}

// EndLogin ends the login of a browser.
func (c *Client) EndLogin(ctx context.Context, id string) (answer wire.EndedLogin, err error) {
	ctx, cancel := c.patiently(ctx, 0)
	defer cancel()
	req, err := c.request(ctx, http.MethodDelete, pathTo("logins", id), nil, nil)
	if err != nil {
		return answer, err
	}
	return answer, c.decode(req, &answer)
}
