package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/commands"
	"maestro/events"
	"maestro/internal/failure"
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
		{"blocked", "REASON", "Say what blocks you", events.SaysBlocked},
		{"error", "DESCRIPTION", "Say what failed", events.SaysFailed},
		{"needs-input", "QUESTION", "Ask the user", events.SaysNeedsInput},
	}
}

func newReport(a *Run) *cobra.Command {
	cmd := group("report", "Say how the work goes: an agent's word, which decides nothing")
	for _, kind := range reportKinds() {
		cmd.AddCommand(newReporting(a, kind))
	}
	return cmd
}

// reporting is `maestro report KIND`, or `maestro task report KIND`.
type reporting struct {
	*Run
	cmd    *cobra.Command
	kind   reportKind
	id     string
	key    string
	tasks  []string
	asking asking
}

func newReporting(a *Run, kind reportKind) *cobra.Command {
	c := &reporting{Run: a, kind: kind, id: "report:" + kind.name}
	cmd := c.command(kind.argument)
	cmd.RunE = Running(func(ctx context.Context, args []string) error { return c.send(ctx, args[0]) })
	cmd.Flags().StringSliceVar(&c.tasks, "task", nil,
		"ids of the tasks that it is about, with commas; else the session as a whole")
	return cmd
}

// newTaskReporting makes the same for one task.
func newTaskReporting(a *Run, kind reportKind) *cobra.Command {
	c := &reporting{Run: a, kind: kind, id: "task:report:" + kind.name}
	cmd := c.command("TASK", "MESSAGE")
	cmd.RunE = Running(func(ctx context.Context, args []string) error {
		c.tasks = args[:1]
		return c.send(ctx, args[1])
	})
	return cmd
}

func (c *reporting) command(arguments ...string) *cobra.Command {
	c.cmd = &cobra.Command{
		Use: c.kind.name + " " + strings.Join(arguments, " "), Short: c.kind.short, Args: Takes(arguments...),
	}
	c.keyFlag(c.cmd, &c.key)
	if c.kind.name == string(events.ReportNeedsInput) {
		c.asking.add(c.cmd)
	}
	return c.cmd
}

// send sends a report, in one call, or keeps it. The session, its project and its permissions are the server's to know.
func (c *reporting) send(ctx context.Context, message string) error {
	if err := c.asking.check(c.cmd); err != nil {
		return err
	}
	if message == "-" {
		text, err := io.ReadAll(io.LimitReader(c.Stdin, 1<<20))
		if err != nil {
			return fmt.Errorf("read the message: %w", err)
		}
		message = strings.TrimRight(string(text), "\n")
	}
	tasks := ids(c.tasks)
	body := &commands.Report{Message: message, TaskIDs: tasks, Options: c.asking.options}
	if c.asking.wait {
		return askAndWait(ctx, c.Run, c.id, body, c.key, c.asking.timeout)
	}
	return tellOrKeep(ctx, c.Run, c.id, body, c.key, func(answer client.Answer) {
		showReported(c.Run, answer, c.kind, tasks)
	})
}

// asking are the flags of a question.
type asking struct {
	options []string
	wait    bool
	timeout time.Duration
}

func (o *asking) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&o.options, "option", nil, "an answer to choose from; may be repeated")
	cmd.Flags().BoolVar(&o.wait, "wait", false, "wait for the answer, and print it")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 0, "with --wait: how long, such as 10m; for ever if absent")
}

// check refuses a time to wait where nothing is waited for. Only a question has the flag.
func (o *asking) check(cmd *cobra.Command) error { return timeoutOfWait(cmd, o.wait, o.timeout) }

// askAndWait asks and prints the answer. A question that nobody hears is not kept: its answer is waited for.
func askAndWait(
	ctx context.Context,
	a *Run,
	id string,
	body *commands.Report,
	key string,
	timeout time.Duration,
) error {
	answer, err := a.send(ctx, id, body, key)
	if err != nil {
		return err
	}
	data, err := dataOf(answer)
	if err != nil {
		return err
	}
	reported, ok := data.(*events.SessionReported)
	if !ok || reported.InputID == "" {
		return &failure.Error{
			Status:  http.StatusConflict,
			Code:    "CONFLICT",
			Message: "The question came after the session's end, so there will be no answer",
			Next:    "see `maestro session info`",
		}
	}
	c, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	question, err := awaitAnswer(ctx, a, c, reported.InputID, timeout)
	if err != nil {
		return err
	}
	return showReceived(ctx, a, c, question)
}

func showReported(a *Run, answer client.Answer, kind reportKind, tasks []string) {
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
		} else if ok && reported.InputID != "" {
			on += "; the question is " + reported.InputID + ", and its answer comes with a later command"
		}
	}
	a.wrote(answer, "", "Reported %s%s", kind.name, on)
}
