package main

import (
	"context"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"maestro/projections"
)

func (a *app) inboxCommand() *cobra.Command {
	var project, session, kind string
	cmd := &cobra.Command{
		Use: "inbox", Short: "Show all that needs a person, longest wait first", Args: takes(),
		RunE: running(func(ctx context.Context, _ []string) error {
			if project == "" {
				project = a.getenv("MAESTRO_PROJECT_ID")
			}
			query := url.Values{}
			for name, value := range map[string]string{"projectId": project, "sessionId": session, "kind": kind} {
				if value != "" {
					query.Set(name, value)
				}
			}
			var items []projections.InboxItem
			if err := a.get(ctx, "/api/inbox", query, &items); err != nil {
				return err
			}
			named := map[string]string{"projects": project, "sessions": session}
			if err := a.unlessEmpty(ctx, len(items), named); err != nil {
				return err
			}
			a.showSetAside(ctx)
			if a.json || a.format == "jsonl" || len(items) == 0 {
				list(a, items, "Nothing needs you", nil)
				return nil
			}
			a.showInbox(items)
			return nil
		}),
	}
	projectFlag(cmd, &project)
	cmd.Flags().StringVar(&session, "session", "", "only this session's, and all of them; else they are bounded")
	cmd.Flags().StringVar(&kind, "kind", "", "only this kind")
	choice(cmd, "kind", "question", "blocked", "failed", "unconfirmed", "quarantined", "stuck", "stranded", "lost", "late", "refused")
	a.listFlags(cmd)
	return cmd
}

// showInbox prints each thing in two or three lines: what it is, in whose words, and what to do.
func (a *app) showInbox(items []projections.InboxItem) {
	for _, item := range items {
		about := strings.TrimSpace(item.TaskID + " " + item.SessionID)
		if about == "" {
			about = item.Queue
		}
		a.print("%-11s  %s  %s  (waits %s)\n", item.Kind, about, clip(item.What, 40), waited(item.Waited))
		if item.Message != "" {
			a.print("             %s\n", clip(item.Message, lineWidth-len("unconfirmed  ")))
		}
		if len(item.Options) > 0 {
			a.print("             options: %s\n", oneLine(strings.Join(item.Options, " · ")))
		}
		a.print("             → %s\n", item.Next)
	}
}
