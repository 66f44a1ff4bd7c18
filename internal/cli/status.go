package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/events"
	"maestro/internal/safetext"
	"maestro/service/wire"
)

// status is `maestro status`.
type status struct {
	*Run
	project string
}

func newStatus(a *Run) *cobra.Command {
	c := &status{Run: a}
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the project's status: what is decided, what sessions report, and what waits to be confirmed",
		Args:  Takes,
		RunE:  Running(c.run),
	}
	projectFlag(cmd, &c.project)
	a.WatchFlag(cmd)
	a.AtFlag(cmd)
	return Tell(cmd, "status")
}

func (c *status) run(ctx context.Context, _ []string) error {
	id, err := c.knownProject(ctx, c.project)
	if err != nil {
		return err
	}
	s, err := Ask(ctx, c.Run, (*client.Client).ProjectStatus, id)
	if err != nil {
		return err
	}
	s.Inbox += len(setAside(ctx, c.Run, id, ""))
	if c.JSON {
		c.Result(s, nil)
		return nil
	}
	showStatus(c.Run, s)
	return nil
}

func showStatus(a *Run, s wire.ProjectStatus) {
	a.hanging(s.Project.ID+"  ", s.Project.Name)
	if a.isSession() {
		a.Field("Counted", "the whole project; for your own tasks and sessions, see `maestro whoami`")
	}
	a.Field(
		"Tasks",
		counts(
			s.Tasks,
			events.TaskTodo,
			events.TaskInProgress,
			events.TaskBlocked,
			events.TaskCompleted,
			events.TaskCancelled,
		),
	)
	a.Field(
		"Said",
		counts(
			s.Says,
			events.SaysWorking,
			events.SaysNeedsInput,
			events.SaysBlocked,
			events.SaysFailed,
			events.SaysCompleted,
		),
	)
	a.Field(
		"Sessions",
		counts(s.Sessions, events.SessionSpawning, events.SessionIdle, events.SessionRunning, events.SessionWorking,
			events.SessionSaidDone, events.SessionStopped, events.SessionEndFailed),
	)
	lost := strings.Join(withNames(s.Lost, s.LostNames), ", ")
	if s.LostMore > 0 {
		lost += fmt.Sprintf(" and %d more: see `maestro session list --status lost`", s.LostMore)
	}
	a.Field("Lost", lost)
	for _, x := range s.SaidBySessions {
		a.Field("Says", withName(x.SessionID, x.Name)+" is "+string(x.Says)+": "+safetext.Clip(x.Message, 80))
	}
	if s.SaidBySessionsMore > 0 {
		a.Field("Says", fmt.Sprintf("and %d more: see `maestro inbox`", s.SaidBySessionsMore))
	}
	for _, x := range s.SpawnedByExpired {
		a.Field("Expired", withName(x.SessionID, x.Name)+" goes on, and the token that spawned it expired "+
			a.When(x.ExpiredAt)+": "+dealWithSpawned(x.Token))
	}
	if s.SpawnedByExpiredMore > 0 {
		a.Field("Expired", fmt.Sprintf("and %d more: see `maestro token list`", s.SpawnedByExpiredMore))
	}
	for _, q := range s.Queues {
		a.Field("Queue", q.Name+" "+statsWords(q.Stats, q.Waiting-q.Over, q.Over))
	}
	if s.QueuesMore > 0 {
		a.Field("Queue", fmt.Sprintf("and %d more: see `maestro queue status`", s.QueuesMore))
	}
	if s.Inbox > 0 {
		a.Field(needing(a, s))
	}
	if len(s.Unread) > 0 {
		a.Field("Not counted", "all of "+strings.Join(s.Unread, ", ")+": there is too much for one read")
	}
	var open []wire.TaskSaid // the other statements are settled
	for _, said := range s.Said {
		if !said.Status.Over() {
			open = append(open, said)
		}
	}
	showSaid(a, "Who says what", open, s.SaidMore)
	heading := "Reported as done, and not confirmed yet"
	if s.ConfirmNext != "" {
		heading += " (" + s.ConfirmNext + ")"
	}
	showSaid(a, heading, s.ToConfirm, s.UnconfirmedMore)
}

// needing returns the field that counts what needs somebody. The inbox of a session shows only what concerns it, and
// the status counts everything.
func needing(a *Run, s wire.ProjectStatus) (name, value string) {
	if !a.isSession() {
		return "Needs you", Many(s.Inbox, "thing") + Prefixed(": see ", s.InboxNext)
	}
	value = "the project has " + Many(s.Inbox, "thing") + " for somebody to deal with"
	return "Inbox", value + Prefixed("; for those that concern you, see ", s.InboxNext)
}

func showSaid(a *Run, heading string, said []wire.TaskSaid, more int) {
	if len(said) == 0 {
		return
	}
	a.Print("\n")
	a.hanging("", heading+":")
	var rows [][]string
	for _, t := range said {
		rows = append(rows, []string{
			" ", t.TaskID, string(t.Status), says(t.SessionStatus),
			withName(t.SaidBy, t.SaidByName) + Prefixed(", ", t.SaidByIs), safetext.Clip(t.Title, 80),
		})
	}
	a.table([]string{"", "TASK", "STATUS", "SAYS", "SESSION", "TITLE"}, rows)
	if more > 0 {
		a.Print("  and %d more: see `maestro task list`\n", more)
	}
}

// counts formats "12: 5 todo, 7 completed" with the words in the given order, and any others last.
func counts[K ~string](numbers map[K]int, order ...K) string {
	for word := range numbers {
		if !slices.Contains(order, word) {
			order = append(order, word)
		}
	}
	total := 0
	var parts []string
	for _, word := range order {
		if n := numbers[word]; n > 0 {
			total += n
			parts = append(parts, fmt.Sprintf("%d %s", n, word))
		}
	}
	if total == 0 {
		return "none"
	}
	return fmt.Sprintf("%d: %s", total, strings.Join(parts, ", "))
}
