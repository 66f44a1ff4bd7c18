package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"maestro/service/wire"
)

// Sessions lists the sessions that the caller may see.
func (c *Client) Sessions(ctx context.Context, filter wire.SessionFilter) ([]wire.Session, error) {
	return list[wire.Session](ctx, c, "/api/sessions", queryOf(filter))
}

// Session returns a session.
func (c *Client) Session(ctx context.Context, id string) (wire.Session, error) {
	return read[wire.Session](ctx, c, pathTo("sessions", id), nil)
}

// SessionTimeline lists everything that a session did, oldest first.
func (c *Client) SessionTimeline(ctx context.Context, id string) ([]wire.Entry, error) {
	return read[[]wire.Entry](ctx, c, pathTo("sessions", id, "timeline"), nil)
}

// SessionManifest returns the manifest that a session was given, byte for byte.
func (c *Client) SessionManifest(ctx context.Context, id string) (json.RawMessage, error) {
	return read[json.RawMessage](ctx, c, pathTo("sessions", id, "manifest"), nil)
}

// SessionWorkflow returns the template of a session's prompts, and what the session said and was told before.
func (c *Client) SessionWorkflow(ctx context.Context, id string) (wire.Workflow, error) {
	return read[wire.Workflow](ctx, c, pathTo("sessions", id, "workflow"), nil)
}

// Whoami describes the caller as the server sees it.
func (c *Client) Whoami(ctx context.Context) (wire.Whoami, error) {
	return read[wire.Whoami](ctx, c, "/api/whoami", nil)
}

// AllowedCommands lists what the caller may do.
func (c *Client) AllowedCommands(ctx context.Context) (wire.AllowedCommands, error) {
	return read[wire.AllowedCommands](ctx, c, "/api/commands", nil)
}

// CheckCommand says whether the caller may use a command.
func (c *Client) CheckCommand(ctx context.Context, id string) (wire.CommandCheck, error) {
	return read[wire.CommandCheck](ctx, c, pathTo("commands", id), nil)
}

// Heartbeat says that a session is alive; it requires the session's own secret.
func (c *Client) Heartbeat(ctx context.Context, session string) (wire.Beat, error) {
	ctx, cancel := c.patiently(ctx, 0)
	defer cancel()
	req, err := c.request(ctx, http.MethodPost, pathTo("sessions", session, "heartbeat"), nil, nil)
	if err != nil {
		return wire.Beat{}, err
	}
	resp, _, err := c.answer(req)
	if err != nil {
		return wire.Beat{}, err
	}
	lease, _ := time.ParseDuration(resp.Header.Get(wire.HeaderLease)) // 0 if nothing watches the session
	return wire.Beat{Lease: lease, Ended: resp.Header.Get(wire.HeaderEnded) == "true"}, nil
}

// Credential returns the secret of a living session.
func (c *Client) Credential(ctx context.Context, session string) (wire.Credential, error) {
	return read[wire.Credential](ctx, c, pathTo("sessions", session, "credential"), nil)
}

// RunnerCredential returns the credential with which a runner speaks for one session: the calling runner, or else the
// runner terminal.
func (c *Client) RunnerCredential(ctx context.Context, session string) (wire.RunnerCredential, error) {
	return read[wire.RunnerCredential](ctx, c, pathTo("sessions", session, "runner-credential"), nil)
}

// AwaitMail returns the calling session's unread mail once there is some, or after a time that the server bounds.
func (c *Client) AwaitMail(ctx context.Context, session string, wait time.Duration) (box wire.Mailbox, err error) {
	ctx, cancel := c.patiently(ctx, wait)
	defer cancel()
	return box, c.get(ctx, pathTo("sessions", session, "mail"), url.Values{"wait": {wait.String()}}, &box)
}

// Mail returns a session's unread mail.
func (c *Client) Mail(ctx context.Context, session string) (wire.Mailbox, error) {
	return read[wire.Mailbox](ctx, c, pathTo("sessions", session, "mail"), nil)
}
