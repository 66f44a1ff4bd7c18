package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/service/wire"
)

// why is `maestro why`.
type why struct {
	*Run
}

func newWhy(a *Run) *cobra.Command {
	c := &why{Run: a}
	return Tell(&cobra.Command{
		Use:   "why <id>",
		Short: "Show why something is as it is: the chain of causes back to a person or a deadline",
		Args:  Takes,
		Long: `Show why something is in its current state. The id is that of a task, a
session, a question, a project or an event, the sequence of an event, or a
queue's item as <queue>/<taskId>. Each line shows an event's sequence, its
time, its actor and what happened; the event on the line below caused it.
States with the same cause share one chain.`,
		RunE: Running(c.run),
	}, "why")
}

func (c *why) run(ctx context.Context, args []string) error {
	id := args[0]
	if at := strings.LastIndexByte(id, '/'); at > 0 { // a queue's item
		task, err := c.fullID(ctx, "taskId", id[at+1:])
		if err != nil {
			return err
		}
		id = id[:at+1] + task
	}
	why, err := Ask(ctx, c.Run, (*client.Client).Why, id)
	if err != nil {
		return err
	}
	c.Result(why, func() { showWhy(c.Run, why) })
	return nil
}

// whyTold groups the facts that one chain of events explains.
type whyTold struct {
	lines []string
	wire.WhyChain
}

// merged groups facts with the same causes above one chain, the longest of them.
func merged(chains []wire.WhyChain) []*whyTold {
	var told []*whyTold
	longest := slices.Clone(chains)
	slices.SortStableFunc(longest, func(x, y wire.WhyChain) int { return len(y.Steps) - len(x.Steps) })
	for _, chain := range longest {
		i := slices.IndexFunc(
			told,
			func(other *whyTold) bool { return len(chain.Steps) > 0 && other.has(chain.Steps[0].Sequence) },
		)
		if i < 0 {
			told = append(told, &whyTold{WhyChain: chain})
		}
	}
	for _, chain := range chains { // in the order of the answer
		for _, t := range told {
			if len(chain.Steps) == 0 || !t.has(chain.Steps[0].Sequence) {
				continue
			}
			line := chain.What
			if chain.Steps[0].Sequence != t.Steps[0].Sequence {
				line += fmt.Sprintf(" (since event %d)", chain.Steps[0].Sequence)
			}
			t.lines = append(t.lines, line)
			break
		}
	}
	return told
}

func (t *whyTold) has(sequence uint64) bool {
	return slices.ContainsFunc(t.Steps, func(s wire.WhyStep) bool { return s.Sequence == sequence })
}

func showWhy(a *Run, why wire.Why) {
	if len(why.Chains) == 0 {
		a.Print("%s: nothing has happened to it\n", why.ID)
	}
	for i, told := range merged(why.Chains) {
		if i > 0 {
			a.Print("\n")
		}
		a.Print("%s, because\n", Mention(strings.Join(told.lines, "\n"), why.Names))
		rows := make([][]string, len(told.Steps))
		for i, step := range told.Steps {
			who := WhoNamed(step.Source, why.Names)
			if a.onScreen() != nil {
				a.hanging(fmt.Sprintf("  %6d  %s  ", step.Sequence, Instant(step.Time)), a.told(who, step.What))
				continue
			}
			rows[i] = []string{fmt.Sprintf("  %6d", step.Sequence), Instant(step.Time), who, step.What}
		}
		if a.onScreen() == nil {
			a.table(nil, rows)
		}
		a.Print("  which goes back to %s\n", Mention(told.Root, why.Names))
	}
	if why.ChainsMore > 0 {
		a.Print("\nIt is in %d more queues: see `maestro why QUEUE/%s`\n", why.ChainsMore, why.ID)
	}
}
