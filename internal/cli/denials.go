package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/commands"
	"maestro/internal/failure"
	"maestro/internal/safetext"
	"maestro/service/wire"
)

func (a *Run) auditDenials() *cobra.Command {
	var actor, command, project string
	var limit int
	var cmd *cobra.Command
	cmd = &cobra.Command{
		Use: "denials", Short: "List the recorded refusals, newest last", Args: Takes(),
		RunE: Running(func(ctx context.Context, _ []string) error {
			filter := wire.DenialFilter{Actor: actor, Command: command, Project: project}
			if cmd.Flags().Changed("limit") {
				if limit < 1 {
					return failure.Usage("--limit must be 1 or more, not %d", limit)
				}
				filter.Limit = strconv.Itoa(limit)
			}
			if _, known := commands.CurrentRules().Row(command); command != "" && !known {
				return failure.Usage("There is no command %q", command).WithNext("name an id such as task:complete; docs/permissions.md lists them")
			}
			denials, err := ask(ctx, a, (*client.Client).Denials, filter)
			if err != nil {
				return err
			}
			if err := a.unlessEmpty(ctx, len(denials), named{project: project}); err != nil {
				return err
			}
			if len(denials) == 0 && actor != "" { // an actor that there is not was refused nothing either
				_, err := ask(ctx, a, (*client.Client).Can, wire.CanQuery{Actor: actor, Command: "whoami"})
				if exitCode(err) == ExitNotFound {
					return err
				}
			}
			if a.JSON || a.format == "jsonl" || len(denials) == 0 {
				list(a, denials, "Nothing was refused", nil)
				return nil
			}
			for _, d := range denials {
				a.showDenial(d)
			}
			return a.showNobodies(ctx)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&actor, "actor", "", "only of this session or token")
	f.StringVar(&command, "command", "", "only of this command, such as task:complete")
	f.StringVar(&project, "project", "", "only in this project")
	f.IntVar(&limit, "limit", 0, "at most so many, the newest")
	a.listFlags(cmd)
	return cmd
}

// showNobodies says how many calls were nobody's, if any were: they are counted, not recorded.
func (a *Run) showNobodies(ctx context.Context) error {
	nobody, err := look(ctx, a, (*client.Client).Unauthenticated)
	if err != nil || nobody.Count == 0 {
		return err
	}
	a.Print(
		"%s without a valid credential since %s\n", Many(int(min(nobody.Count, 1<<30)), "call"),
		instant(nobody.Since),
	)
	return nil
}

// showDenial prints a refusal in two lines: who asked for what, and what they were told.
func (a *Run) showDenial(d wire.Denial) {
	about := d.Command
	if d.Kept {
		about += ", which had been kept"
	}
	if d.Rule != "" && d.Rule != d.Command {
		about += ", by the row " + d.Rule
	}
	if d.Count > 1 {
		about += fmt.Sprintf(", ×%d", d.Count)
	}
	if d.Sequence > 0 {
		about += fmt.Sprintf(", at event %d", d.Sequence)
	}
	a.Print("%s  %s  %s  %s\n", instant(d.Last), who(d.Actor), d.Code, about)
	texts := []string{d.Text, d.Message}
	if d.Kept {
		texts = append(texts, d.Why)
	}
	for _, text := range texts {
		if text != "" {
			a.Print("    %s\n", safetext.Clip(text, lineWidth-len("    ")))
		}
	}
}

func (a *Run) auditLimits() *cobra.Command {
	cmd := &cobra.Command{
		Use: "limits", Short: "List the limits of the running server, and how many calls each has refused", Args: Takes(),
		RunE: Running(func(ctx context.Context, _ []string) error {
			limits, err := look(ctx, a, (*client.Client).Limits)
			if err != nil {
				return err
			}
			list(a, limits, "There are no limits", func(l wire.LimitView) []string {
				return []string{l.Name, l.Limit, fmt.Sprintf("%d refused", l.Refused), l.About}
			})
			return nil
		}),
	}
	a.listFlags(cmd)
	return cmd
}

func (a *Run) auditCan() *cobra.Command {
	var project string
	cmd := &cobra.Command{
		Use: "can ACTOR COMMAND [TARGET]", Short: "Say whether an actor may use a command, and by which row of the table", Args: Takes("ACTOR", "COMMAND", "[TARGET]"),
		Long: `Say whether an actor may use a command, and by which row of the table: exit 0, or 4 if not. ACTOR is a session's id, a token's name, or
admin, system or runner. COMMAND is an id such as task:complete. TARGET is the task, session, question, project or queue that it would
be about.`,
		RunE: Running(func(ctx context.Context, args []string) error {
			query := wire.CanQuery{Actor: args[0], Command: args[1], Target: at(args, 2), Project: project}
			can, err := ask(ctx, a, (*client.Client).Can, query)
			if err != nil {
				return err
			}
			a.Result(can, func() {
				word := "NOT ALLOWED"
				if can.Allowed {
					word = "allowed"
				}
				a.Print("%s for %s: %s\n", strings.TrimSpace(can.Command+" "+can.Target), can.Actor, word)
				a.field("Why", can.Why)
				a.field("Row", can.Row.ID+", for "+can.Row.Who+prefixed("; decided on: ", can.Row.Rule)+" (rules "+can.Row.Rules+")")
				a.field("But", can.Else)
				for _, limit := range can.Limits {
					a.field("Limit", fmt.Sprintf("%s: %s; %d left", limit.Name, limit.Limit, limit.Left))
				}
				a.field("Next", can.Next)
			})
			if can.Allowed {
				return nil
			}
			return &failure.Error{Status: 403, Code: "NOT_ALLOWED", Shown: true}
		}),
	}
	cmd.Flags().StringVar(&project, "project", "", "the project, where the target names none")
	return cmd
}
