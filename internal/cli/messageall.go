package cli

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"github.com/google/uuid"

	"maestro/api/client"
	"maestro/commands"
	"maestro/internal/failure"
	"maestro/service/wire"
)

// sentToAll is the JSON output of a message to a team.
type sentToAll struct {
	Sent []string `json:"sent"`
	// NotSent are the sessions whose message was refused, with the reason.
	NotSent map[string]string `json:"notSent,omitempty"`
}

// toAll writes to the working sessions of a team, each in a command of its own, so that a refusal for one does not
// affect the others. A retry with the same key writes to nobody twice.
func (c *sessionMessage) toAll(ctx context.Context, text string) error {
	if text == "-" {
		var err error
		if text, err = textOf(c.Stdin); err != nil {
			return err
		}
	}
	team, names, err := c.team(ctx)
	if err != nil {
		return err
	}
	key := cmp.Or(c.key, uuid.NewString())
	said := sentToAll{Sent: []string{}}
	var refused error
	for _, id := range team {
		body := c.body
		body.SessionID, body.Text = id, text
		_, err := c.sendWith(ctx, body.ID(), &body, client.Options{Key: key + "-" + id})
		switch {
		case err == nil:
			said.Sent = append(said.Sent, id)
		case exitCode(err) == ExitNoConnection || exitCode(err) == ExitFailed:
			return err
		default:
			refused = err
			if said.NotSent == nil {
				said.NotSent = map[string]string{}
			}
			said.NotSent[id] = explain(err).message
		}
	}
	if len(said.Sent) == 0 && refused != nil {
		return refused
	}
	c.Result(said, func() {
		if len(said.Sent) == 0 {
			c.Print("There is no working session to write to\n")
			return
		}
		c.Print("Sent to %s; each sees the message with its next command: %s\n", Many(len(said.Sent), "session"),
			allNamed(said.Sent, names))
		for _, id := range team {
			if why := said.NotSent[id]; why != "" {
				c.Print("Not sent to %s: %s\n", withName(id, names[id]), why)
			}
		}
	})
	return nil
}

// writeInstead returns the next step of a session that may not write to a team: its spawner, if it has one.
func (c *sessionMessage) writeInstead(ctx context.Context) string {
	if me, err := Look(ctx, c.Run, (*client.Client).Whoami); err == nil && me.SpawnedBy == "" {
		return "ask the user: `" + commands.LineOf("report:needs-input") + "`"
	}
	return "write to the session that spawned you: `maestro session message parent \"<text>\"`"
}

// team returns the working sessions that receive a message to all, and their names.
func (c *sessionMessage) team(ctx context.Context) (ids []string, names map[string]string, err error) {
	if c.isSession() && c.project != "" {
		return nil, nil, failure.Usage("A session writes to those that it spawned").WithNext("leave --project out")
	}
	filter := wire.SessionFilter{Active: "true", Living: "true", Brief: "true"}
	if c.isSession() {
		filter.SpawnedBy = c.sessionID() // in all projects
	} else {
		project, err := c.Run.project(ctx, c.project)
		if err != nil {
			return nil, nil, err
		}
		filter.ProjectID = project
	}
	living, err := Ask(ctx, c.Run, (*client.Client).Sessions, filter)
	var refused *client.Error
	if errors.As(err, &refused) && refused.Status == http.StatusForbidden && c.isSession() {
		return nil, nil, &failure.Error{
			Code:    failure.NotAllowed,
			Message: "`maestro session message --all` is not allowed for this session",
			Why:     "it writes to the sessions that yours spawned, and yours may not list sessions",
			Next:    c.writeInstead(ctx),
			Err:     err,
		}
	}
	if err != nil {
		return nil, nil, err
	}
	names = map[string]string{}
	for _, x := range living {
		ids = append(ids, x.ID)
		names[x.ID] = x.Name
	}
	return ids, names, nil
}
