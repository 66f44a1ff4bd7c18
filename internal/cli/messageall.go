package cli

import (
	"context"
	"strings"

	"maestro/api/client"
	"maestro/internal/failure"
	"maestro/service/wire"
)

// toAll writes to the working sessions of a team.
func (c *sessionMessage) toAll(ctx context.Context, text string) error {
	project := c.project
	var err error
	if !c.isSession() {
		if project, err = c.Run.project(ctx, c.project); err != nil {
			return err
		}
	}
	if text == "-" {
		if text, err = textOf(c.Stdin, false); err != nil {
			return err
		}
	}
	if strings.TrimSpace(text) == "" {
		return failure.Usage("text is required").
			WithWhy("the given text is empty, perhaps because a variable is not set").
			WithNext("see `maestro session message --help`")
	}
	c.body.Text, c.body.Project = text, project
	answer, err := c.sendWith(ctx, c.body.ID(), &c.body, client.Options{Key: c.key, All: true})
	if err != nil {
		return err
	}
	team := answer.Team
	c.Result(team, func() {
		if len(team.Sent) == 0 {
			c.Print("There is no working session to write to\n")
			return
		}
		before := ""
		if answer.Retried {
			before = " (by an earlier try with this key)"
		}
		c.Print("Sent to %s%s; each sees the message with its next command: %s\n", Many(len(team.Sent), "session"),
			before, allNamed(team.Sent, team.Names))
		c.notSent(team)
	})
	return nil
}

// teamNamed counts and names the sessions that get a message.
func teamNamed(team *wire.Team) string {
	if len(team.Sent) == 0 {
		return "no session"
	}
	return Many(len(team.Sent), "session") + ": " + allNamed(team.Sent, team.Names)
}

// notSent prints to whom a message was refused.
func (a *Run) notSent(team *wire.Team) {
	for _, x := range team.NotSent {
		a.Print("Not sent to %s: %s\n", withName(x.SessionID, team.Names[x.SessionID]), x.Message)
	}
}
