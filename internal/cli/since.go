package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/internal/failure"
	"maestro/internal/safetext"
	"maestro/service/wire"
)

// firstLook is how far back the first `since` looks.
const firstLook = 24 * time.Hour

// since is `maestro since`.
type since struct {
	*Run
	project    string
	everywhere bool
}

func newSince(a *Run) *cobra.Command {
	c := &since{Run: a}
	cmd := &cobra.Command{
		Use:   "since [<sequence|time>]",
		Short: "Show what changed since an event, a time, or a duration such as 10m; what needs you comes first",
		Args:  Takes,
		Long: `Show what changed since a sequence of the log, a time (2026-02-02T10:00:00Z,
2026-02-02), or for a duration (2h, 3d). Without an argument, it shows what
changed since you last ran it in this home (for this project, if you name one
or have a current one); the first time, since yesterday.`,
		RunE: Running(c.run),
	}
	projectFlag(cmd, &c.project)
	allProjectsFlag(cmd, &c.everywhere)
	return Tell(cmd, "since")
}

func (c *since) run(ctx context.Context, args []string) error {
	named := c.project != ""
	if named && c.everywhere {
		return bothProjects()
	}
	if !named && !c.everywhere {
		c.project = c.Getenv(wire.EnvProjectID)
	}
	remembered := len(args) == 0 && !c.isSession()
	from, err := Beginning(At(args, 0))
	switch {
	case err != nil:
		return err
	case len(args) == 0:
		from = lastAsked(c.Run, c.project)
	}
	since, err := Ask(ctx, c.Run, (*client.Client).Since, wire.SinceQuery{From: from, ProjectID: c.project})
	if err != nil {
		return err
	}
	c.Result(since, func() {
		if asked, err := strconv.ParseUint(from, 10, 64); err == nil && asked > since.To {
			c.Print("The log ends at %d, before %d\n", since.To, asked)
		}
		if c.isSession() { // it has only one project
			showSince(c.Run, since, "")
			return
		}
		showSince(c.Run, since, inNamedProject(ctx, c.Run, c.project))
		if !named {
			if n := thingsElsewhere(ctx, c.Run, wire.InboxFilter{ProjectID: c.project}); n > 0 {
				c.Print("\n%s\n", inOthers(n))
			}
		}
	})
	if remembered && c.broken == nil {
		rememberAsked(c.Run, c.project, since.To)
	}
	return nil
}

// Beginning converts a sequence, a time, a day or a duration ago to the server's form: a sequence or an RFC 3339 time;
// "" for none.
func Beginning(text string) (string, error) {
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day.Format(time.RFC3339), nil
	}
	if _, err := strconv.ParseUint(text, 10, 64); err == nil {
		return text, nil
	}
	ago, err := durationOf(text)
	if _, notATime := time.Parse(time.RFC3339Nano, text); notATime == nil || text == "" {
		return text, nil
	}
	if err != nil {
		return "", failure.Usage("%q is not a sequence, a time or a duration", text).
			WithNext("give one such as 42, 2026-02-02T10:00:00Z, 2026-02-02, 10m or 3d")
	}
	if ago < 0 {
		return "", failure.Usage("%s is in the future", text).WithNext("say how long ago, such as 2h")
	}
	return time.Now().Add(-ago).UTC().Format(time.RFC3339Nano), nil
}

// lastAsked returns the sequence up to which this home's user was told about a project, or all, or else the time a day
// ago.
func lastAsked(a *Run, project string) string {
	yesterday := time.Now().Add(-firstLook).UTC().Format(time.RFC3339)
	if a.isSession() {
		return yesterday
	}
	h := a.openHome()
	if h == nil {
		return yesterday
	}
	defer func() { _ = h.Close() }()
	if sequence, err := h.Told(a.Getenv(wire.EnvToken), project); err == nil {
		return strconv.FormatUint(sequence, 10)
	}
	return yesterday
}

// rememberAsked records what the user was told. If that fails, the user is only told again.
func rememberAsked(a *Run, project string, sequence uint64) {
	h := a.openHome()
	if h == nil {
		return
	}
	defer func() { _ = h.Close() }()
	_ = h.Tell(a.Getenv(wire.EnvToken), project, sequence)
}

// showSince prints what changed; in says in which project, "" for all.
func showSince(a *Run, since wire.Since, in string) {
	if since.Events == 0 {
		a.Print("Nothing happened%s since event %d\n", in, since.From)
	} else {
		a.Print("%s%s since event %d, up to %d\n", Many(since.Events, "event"), in, since.From, since.To)
	}
	if len(since.Inbox) > 0 {
		a.Print("\nNeeds you (%d, %d new):\n", since.Things, since.New)
		showInbox(a, since.Inbox)
		if since.InboxMore > 0 {
			a.Print("and %d more: see `maestro inbox`\n", since.InboxMore)
		}
	}
	for _, group := range []struct {
		name   string
		things []wire.SinceThing
		more   int
	}{
		{"Tasks", since.Tasks, since.TasksMore},
		{"Sessions", since.Sessions, since.SessionsMore},
		{"Queues", since.Queues, since.QueuesMore},
	} {
		if len(group.things) == 0 {
			continue
		}
		a.Print("\n%s:\n", group.name)
		rows := make([][]string, 0, len(group.things))
		for _, thing := range group.things {
			stands := thing.Is
			if thing.Was != "" && thing.Was != thing.Is {
				stands = thing.Was + " → " + thing.Is
			}
			if thing.Says != "" {
				stands += ", says " + thing.Says
			}
			cells := []string{safetext.Clip(thing.Name, 20), stands, fmt.Sprintf("×%d", thing.Events), thing.Last}
			if a.onScreen() != nil {
				a.hanging("  "+thing.ID+"  ", strings.Join(cells, ", "))
				continue
			}
			rows = append(rows, append([]string{" ", thing.ID}, cells...))
		}
		a.fitted(nil, rows)
		if group.more > 0 {
			a.Print("  and %d more; name a later sequence or time, or --project\n", group.more)
		}
	}
	if since.Refused > 0 {
		see := ""
		if since.RefusedNext != "" {
			see = ": see `" + since.RefusedNext + "`"
		}
		a.Print("\n%s recorded%s\n", Many(since.Refused, "refusal"), see)
	}
}
