package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/internal/safetext"
	"maestro/service/wire"
	"maestro/workers/prompt"
)

// identity is what the server knows about the caller, and the server's address.
type identity struct {
	wire.Whoami
	Server string `json:"server"`
}

// whoami is `maestro whoami`.
type whoami struct {
	*Run
	asPrompt, all bool
}

func newWhoami(a *Run) *cobra.Command {
	c := &whoami{Run: a}
	cmd := &cobra.Command{
		Use:   "whoami",
		Short: "Show who you are to the server",
		Args:  Takes,
		Long: `Show who you are to the server. A session also sees its tasks and what to do
next and, if it has ended, when and by whom it was ended.

With --all, also show how the server identifies you, and the commands that you
may use. With --system-prompt, print the text for an agent: a session's system
prompt or, for a user, the list of commands.`,
		RunE: Running(c.run),
	}
	cmd.Flags().BoolVar(&c.asPrompt, "system-prompt", false, "print the text for an agent")
	cmd.Flags().BoolVar(&c.all, "all", false,
		"also show how the server identifies you, and the commands that you may use")
	Exclude(cmd, "all", "system-prompt")
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
	if c.all && !c.JSON {
		if brief, err = commandsBrief(ctx, c.Run); err != nil {
			return err
		}
	}
	c.Result(me, func() { c.show(me, brief) })
	return nil
}

// show prints the caller in a few lines; for a user also the server, because people have several.
func (c *whoami) show(me identity, brief string) {
	c.hanging(string(me.Kind)+" ", me.Actor+Prefixed("  ", safetext.OneLine(me.Name)))
	c.Field("Role", me.Role+Prefixed(", strategy ", me.Strategy))
	c.Field("Project", strings.TrimSpace(me.Project+"  "+safetext.OneLine(me.ProjectName)))
	c.Field("Status", string(me.Status))
	c.Field("Ended", me.Ended)
	c.Field("Lost", me.Lost)
	for _, t := range me.Tasks {
		about := string(t.Status) + Prefixed(", you said ", string(t.Says))
		if t.Held {
			about += ", held"
		}
		c.Field("Task", t.ID+"  "+safetext.Clip(t.Title, 60)+"  ["+about+"]")
	}
	if me.TasksMore > 0 {
		c.Field("Tasks", fmt.Sprintf("%d more: see `maestro task list --mine`", me.TasksMore))
	}
	c.Field("Access", string(me.Access))
	if c.all || me.Session == "" {
		c.Field("Known by", me.Authn)
		c.Field("Server", me.Server)
	}
	if c.all {
		c.Field("Queue", me.Queue)
		c.Field("Spawned", Prefixed("by ", withName(me.SpawnedBy, me.SpawnedByName)))
	}
	c.Field("Next", me.Next)
	if brief != "" {
		c.Print("\n%s", brief)
	}
}

// commandsBrief returns the list of commands (docs/spec/000-command-permissions.md, "Command Brief Generation").
func commandsBrief(ctx context.Context, a *Run) (string, error) {
	p, err := Look(ctx, a, (*client.Client).AllowedCommands)
	if err != nil {
		return "", err
	}
	return prompt.Brief(p.Role, p.Strategy, p.AllowedCommands), nil
}

// whoamiPrompt prints what an agent is told: for a session, according to the manifest that the server gave it.
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
