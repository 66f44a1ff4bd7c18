package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/commands"
	"maestro/events"
)

// reportKind is one of the five things that an agent reports.
type reportKind struct {
	name     string
	argument string
	short    string
	says     events.TaskSessionStatus
}

func reportKinds() []reportKind {
	return []reportKind{
		{"progress", "MESSAGE", "Say how the work goes", events.SaysWorking},
		{"complete", "SUMMARY", "Say that it is done; without --task the session is done too", events.SaysCompleted},
		{"blocked", "REASON", "Say what stands in the way", events.SaysBlocked},
		{"error", "DESCRIPTION", "Say what failed", events.SaysFailed},
		{"needs-input", "QUESTION", "Ask the user", events.SaysNeedsInput},
	}
}

func (a *app) reportCommand() *cobra.Command {
	cmd := group("report", "Say how the work goes: an agent's word, which decides nothing")
	for _, kind := range reportKinds() {
		var key string
		var tasks []string
		verb := &cobra.Command{
			Use: kind.name + " " + kind.argument, Short: kind.short, Args: takes(kind.argument),
			RunE: running(func(ctx context.Context, args []string) error {
				return a.report(ctx, "report:"+kind.name, kind, args[0], ids(tasks), key)
			}),
		}
		verb.Flags().StringSliceVar(&tasks, "task", nil, "ids of the tasks that it is about, with commas; else the session as a whole")
		keyFlag(verb, &key)
		cmd.AddCommand(verb)
	}
	return cmd
}

// report sends a report, in one call, or keeps it. The session, its project and its permissions are the server's to know.
func (a *app) report(ctx context.Context, id string, kind reportKind, message string, tasks []string, key string) error {
	if message == "-" {
		text, err := io.ReadAll(io.LimitReader(a.stdin, 1<<20))
		if err != nil {
			return fmt.Errorf("read the message: %w", err)
		}
		message = strings.TrimRight(string(text), "\n")
	}
	return a.tell(ctx, id, &commands.Report{Message: message, TaskIDs: tasks}, key, func(answer client.Answer) {
		a.reported(answer, kind, tasks)
	})
}

func (a *app) reported(answer client.Answer, kind reportKind, tasks []string) {
	on := ""
	switch {
	case len(tasks) > 0:
		on = " on " + strings.Join(tasks, ", ") + ", which now says " + string(kind.says)
	case kind.says == events.SaysCompleted:
		on = "; the session is completed"
	}
	if data, err := dataOf(answer); err == nil {
		if reported, ok := data.(*events.SessionReported); ok && reported.Late {
			on = ", late: the session had ended, so no status moves"
		}
	}
	a.wrote(answer, "", "Reported %s%s", kind.name, on)
}
