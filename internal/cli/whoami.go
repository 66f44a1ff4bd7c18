package cli

import (
	"context"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/service/wire"
	"maestro/workers/prompt"
)

// identity is what the server knows of who asks, and where it is.
type identity struct {
	wire.Whoami
	Server string `json:"server"`
}

// whoami is `maestro whoami`.
type whoami struct {
	*Run
	asPrompt bool
}

func newWhoami(a *Run) *cobra.Command {
	c := &whoami{Run: a}
	cmd := &cobra.Command{
		Use:   "whoami",
		Short: "Show who you are to the server",
		Args:  Takes,
		Long: `Show who you are to the server; a session also sees the commands that it may use.

With --prompt: what an agent is told of it, which is a session's system prompt, and the list of commands for a user.`,
		RunE: Running(c.run),
	}
	cmd.Flags().BoolVar(&c.asPrompt, "prompt", false, "what an agent is told of it")
	return Tell(cmd, "whoami")
}

func (c *whoami) run(ctx context.Context, _ []string) error {
	server, err := c.Connect(ctx)
	if err != nil {
		return err
	}
	me := identity{Server: server.Base()}
	if me.Whoami, err = Look(ctx, c.Run, (*client.Client).Whoami); err != nil {
		return err
	}
	if c.asPrompt {
		return whoamiPrompt(ctx, c.Run, me)
	}
	brief := ""
	if me.Session != "" && !c.JSON {
		if brief, err = commandsBrief(ctx, c.Run); err != nil {
			return err
		}
	}
	c.Result(me, func() {
		c.Print("%s %s\n", me.Kind, me.Actor)
		c.Field("Role", me.Role+Prefixed(", strategy ", me.Strategy))
		c.Field("Project", me.Project)
		c.Field("Access", string(me.Access))
		c.Field("Known by", me.Authn)
		c.Field("Server", me.Server)
		if brief != "" {
			c.Print("\n%s", brief)
		}
	})
	return nil
}

// commandsBrief gives the list of commands (docs/spec/000-command-permissions.md, "Command Brief Generation").
func commandsBrief(ctx context.Context, a *Run) (string, error) {
	p, err := Look(ctx, a, (*client.Client).AllowedCommands)
	if err != nil {
		return "", err
	}
	return prompt.Brief(p.Role, p.Strategy, p.AllowedCommands), nil
}

// whoamiPrompt prints what an agent is told: of a session, by the manifest that the server gave it.
func whoamiPrompt(ctx context.Context, a *Run, me identity) error {
	shown := struct {
		identity
		Prompt string `json:"prompt"`
	}{identity: me}
	if me.Session == "" {
		brief, err := commandsBrief(ctx, a)
		if err != nil {
			return err
		}
		shown.Prompt = brief
	} else {
		m, err := manifestOf(ctx, a, me.Session)
		if err != nil {
			return err
		}
		told, err := promptsFor(ctx, a, m, me.Session)
		if err != nil {
			return err
		}
		shown.Prompt = told.System
	}
	a.Result(shown, func() { a.raw([]byte(shown.Prompt)) })
	return nil
}
