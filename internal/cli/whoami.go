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

func (a *Run) whoamiCommand() *cobra.Command {
	var asPrompt bool
	cmd := &cobra.Command{
		Use: "whoami", Short: "Show who you are to the server", Args: Takes(),
		Long: `Show who you are to the server; a session also sees the commands that it may use.

With --prompt: what an agent is told of it, which is a session's system prompt (document 002), and the list of commands for a user.`,
		RunE: Running(func(ctx context.Context, _ []string) error {
			address, _, err := a.find()
			if err != nil {
				return err
			}
			me := identity{Server: address}
			if me.Whoami, err = look(ctx, a, (*client.Client).Whoami); err != nil {
				return err
			}
			if asPrompt {
				return a.whoamiPrompt(ctx, me)
			}
			brief := ""
			if me.Session != "" && !a.JSON {
				if brief, err = a.brief(ctx); err != nil {
					return err
				}
			}
			a.Result(me, func() {
				a.Print("%s %s\n", me.Kind, me.Actor)
				a.field("Role", me.Role+prefixed(", strategy ", me.Strategy))
				a.field("Project", me.Project)
				a.field("Access", string(me.Access))
				a.field("Known by", me.Authn)
				a.field("Server", me.Server)
				if brief != "" {
					a.Print("\n%s", brief)
				}
			})
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asPrompt, "prompt", false, "what an agent is told of it")
	return cmd
}

// brief gives the list of commands of document 000.
func (a *Run) brief(ctx context.Context) (string, error) {
	p, err := look(ctx, a, (*client.Client).AllowedCommands)
	if err != nil {
		return "", err
	}
	return prompt.Brief(p.Role, p.Strategy, p.AllowedCommands), nil
}

// whoamiPrompt prints what an agent is told: of a session, by the manifest that the server gave it.
func (a *Run) whoamiPrompt(ctx context.Context, me identity) error {
	shown := struct {
		identity
		Prompt string `json:"prompt"`
	}{identity: me}
	if me.Session == "" {
		brief, err := a.brief(ctx)
		if err != nil {
			return err
		}
		shown.Prompt = brief
	} else {
		m, err := a.manifestOf(ctx, me.Session)
		if err != nil {
			return err
		}
		told, err := a.prompts(ctx, m, me.Session)
		if err != nil {
			return err
		}
		shown.Prompt = told.System
	}
	a.Result(shown, func() { a.raw([]byte(shown.Prompt)) })
	return nil
}
