package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"maestro/internal/safetext"
	"maestro/service/wire"
)

const (
	// offered is how many ids the shell is offered at most, offeredWithin how long the server may take to name them.
	offered       = 100
	offeredWithin = 700 * time.Millisecond
)

// completeIDs lets the shell offer the ids of tasks, sessions and projects, with what they are called. Nothing is
// offered, and nothing said, when no server answers in time, or to a session.
func completeIDs(a *Run, root *cobra.Command) {
	for _, verb := range root.Commands() {
		completeIDs(a, verb)
	}
	places := placeholders(root.Use)
	if len(places) == 0 {
		return
	}
	root.ValidArgsFunction = func(
		cmd *cobra.Command, args []string, begun string,
	) ([]string, cobra.ShellCompDirective) {
		at := min(len(args), len(places)-1)
		if len(args) >= len(places) && !places[at].many {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		switch name := places[at].name; name {
		case "file", "home", "path":
			return nil, cobra.ShellCompDirectiveDefault
		default:
			return a.idsOf(cmd.Context(), name, begun), cobra.ShellCompDirectiveNoFileComp
		}
	}
}

// idsOf returns the ids of a kind that begin as what was typed, each with its title behind a tab.
func (a *Run) idsOf(ctx context.Context, kind, begun string) (found []string) {
	if a.isSession() || a.homeServer() == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, offeredWithin)
	defer cancel()
	c, err := a.Connect(ctx)
	if err != nil {
		return nil
	}
	offer := func(id, title string) {
		if strings.HasPrefix(id, begun) {
			found = append(found, id+"\t"+safetext.Clip(title, 60))
		}
	}
	project := a.Getenv(wire.EnvProjectID)
	switch kind {
	case "taskId":
		tasks, _ := c.FirstTasks(ctx, wire.TaskFilter{ProjectID: project, IDPrefix: begun}, offered)
		for _, t := range tasks {
			offer(t.ID, t.Title)
		}
	case "sessionId":
		filter := wire.SessionFilter{ProjectID: project, IDPrefix: begun, Brief: "true"}
		sessions, _ := c.FirstSessions(ctx, filter, offered)
		for _, x := range sessions {
			offer(x.ID, x.Name)
		}
	case "projectId", "project":
		projects, _ := c.FirstProjects(ctx, wire.ProjectFilter{IDPrefix: begun}, offered)
		for _, p := range projects {
			offer(p.ID, p.Name)
		}
	}
	return found
}
