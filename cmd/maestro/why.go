package main

import (
	"context"

	"github.com/spf13/cobra"
)

// explanation is what the server answers to why.
type explanation struct {
	ID     string `json:"id"`
	Chains []struct {
		What  string `json:"what"`
		Steps []struct {
			Sequence uint64 `json:"sequence"`
			ID       string `json:"id"`
			Time     int64  `json:"time"`
			Source   string `json:"source"`
			Type     string `json:"type"`
			What     string `json:"what"`
		} `json:"steps"`
		Root string `json:"root"`
	} `json:"chains"`
}

func (a *app) whyCommand() *cobra.Command {
	return &cobra.Command{
		Use: "why ID", Short: "Say why something is as it is: the chain of causes back to a person or a deadline", Args: takes("ID"),
		Long: `Say why something is as it is. ID is a task, a session, a question, or an event by its id or its sequence. Each line has the
event's sequence, its time, who and what; the one below led to it.`,
		RunE: running(func(ctx context.Context, args []string) error {
			var why explanation
			if err := a.get(ctx, pathTo("why", args[0]), nil, &why); err != nil {
				return err
			}
			a.result(why, func() { a.showWhy(why) })
			return nil
		}),
	}
}

func (a *app) showWhy(why explanation) {
	if len(why.Chains) == 0 {
		a.print("%s: nothing has happened to it\n", why.ID)
	}
	for i, chain := range why.Chains {
		if i > 0 {
			a.print("\n")
		}
		a.print("%s, because\n", chain.What)
		for _, step := range chain.Steps {
			a.print("  %6d  %s  %s  %s\n", step.Sequence, instant(step.Time), who(step.Source), clip(step.What, 160))
		}
		a.print("  which goes back to %s\n", chain.Root)
	}
}
