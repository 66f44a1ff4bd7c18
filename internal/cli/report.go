package cli

import (
	"context"
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
	kind events.ReportKind
	// argument names its message, short is its description, and ofTask its description for one task.
	argument, short, ofTask string
}

func reportKinds() []reportKind {
	return []reportKind{
		{
			events.ReportProgress, `"<message>"`, "Report progress; --task reports those tasks as working",
			"Report task progress",
		},
		{
			events.ReportComplete, `"<summary>"`,
			"Report that the tasks are done; without --task, your session is done too",
			"Report that a task is done",
		},
		{
			events.ReportBlocked, `"<reason>"`, "Report what blocks you; --task reports those tasks as blocked",
			"Report what blocks a task",
		},
		{
			events.ReportError, `"<description>"`, "Report what failed; --task reports those tasks as failed",
			"Report that a task failed",
		},
		{
			events.ReportNeedsInput, `"<question>"`, "Ask a question; --wait waits for the answer and prints it",
			"Ask a question about a task",
		},
	}
}

func newReport(a *Run) *cobra.Command {
	cmd := a.group("report", "Report progress, problems and results")
	for _, kind := range reportKinds() {
		cmd.AddCommand(newReporting(a, kind))
	}
	return cmd
}

// fromStdin says how a long text is given as an argument.
const fromStdin = "Write - in place of the text to read it from stdin, such as a long one from a file."

// reporting is `maestro report KIND`, or `maestro task report KIND`.
type reporting struct {
	*Run
	cmd    *cobra.Command
	fields *fields
	body   commands.Report
	kind   reportKind
	id     string
	key    string
	asking asking
}

func newReporting(a *Run, kind reportKind) *cobra.Command {
	c := &reporting{Run: a, kind: kind, id: "report:" + string(kind.kind)}
	return c.command(kind.argument, kind.short, "task")
}

// newTaskReporting returns the same command for one task.
func newTaskReporting(a *Run, kind reportKind) *cobra.Command {
	c := &reporting{Run: a, kind: kind, id: "task:report:" + string(kind.kind)}
	return c.command("<taskId> "+kind.argument, kind.ofTask)
}

func (c *reporting) command(arguments, short string, told ...string) *cobra.Command {
	c.body.Kind = c.kind.kind
	c.cmd = &cobra.Command{
		Use:   string(c.kind.kind) + " " + arguments,
		Short: short,
		Args:  Takes,
		Long:  short + ".\n\n" + fromStdin,
		RunE:  Running(c.send),
	}
	if c.kind.kind == events.ReportComplete && c.id == "report:complete" {
		c.cmd.Long += "\n\nWithout --task, your session is done: run that last.\n" + refusesToEnd
	}
	c.fields = bind(c.cmd, &c.body)
	c.keyFlag(c.cmd, &c.key)
	if c.kind.kind == events.ReportNeedsInput {
		c.asking.add(c.cmd)
		told = append([]string{"option", "wait timeout"}, told...)
	}
	return Tell(c.cmd, c.id, told...)
}

// send sends a report, in one call, or keeps it. The server knows the session, its project and its permissions.
func (c *reporting) send(ctx context.Context, args []string) error {
	if err := c.asking.check(c.cmd); err != nil {
		return err
	}
	if err := c.fields.set(args); err != nil {
		return err
	}
	if c.asking.wait {
		return askAndWait(ctx, c.Run, c.id, &c.body, c.key, c.asking.timeout)
	}
	endsSession := c.kind.kind == events.ReportComplete && len(c.body.TaskIDs) == 0
	o := client.Options{Key: c.key, IfFinished: endsSession}
	return tellOrKeep(ctx, c.Run, c.id, &c.body, o, func(answer client.Answer) {
		showReported(c.Run, answer, c.kind, c.body.TaskIDs)
	})
}

// asking holds the flags of a question.
type asking struct {
	wait    bool
	timeout time.Duration
}

func (o *asking) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.wait, "wait", false, "wait for the answer, and print it")
	waitTimeout(cmd, &o.timeout)
}

// check refuses a time limit without a wait. Only a question has the flag.
func (o *asking) check(cmd *cobra.Command) error { return timeoutOfWait(cmd, o.wait, o.timeout) }

// askAndWait asks and prints the answer. A question that does not reach a server is not kept, because its answer is
// waited for. A question from an earlier command that was interrupted or kept is not asked again until its answer was
// shown.
func askAndWait(
	ctx context.Context,
	a *Run,
	id string,
	body *commands.Report,
	key string,
	timeout time.Duration,
) error {
	// a key of the caller's own distinguishes questions
	answer, err := a.sendWith(ctx, id, body, client.Options{Key: key, IfNew: key == "" && !a.dryRun})
	if err != nil {
		return notAsked(a, err)
	}
	if answer.Asked != "" {
		a.Say("maestro: you asked this before: question %s\n", answer.Asked)
		return waitAndShow(ctx, a, answer.Asked, timeout)
	}
	data, err := dataOf(answer)
	if err != nil {
		return err
	}
	reported, ok := data.(*events.SessionReported)
	if !ok || reported.InputID == "" {
		return &failure.Error{
			Code:    failure.Conflict,
			Message: "The question came after the session's end, so there will be no answer",
			Next:    "see `maestro session info`",
		}
	}
	return waitAndShow(ctx, a, reported.InputID, timeout)
}

// notAsked adds to the error of a server that does not answer, or that accepts nothing now, that the question is not
// kept: a report is, and its sender could rely on that.
func notAsked(a *Run, err error) error {
	if !a.isSession() || !notNow(err) {
		return err
	}
	e := explain(err)
	return &failure.Error{
		Err:     err,
		Code:    e.code,
		Message: whyNotNow(err) + ". The question is NOT kept",
		Why:     "--wait asks only a server that answers; a report without --wait is kept, and sent later",
		Next: "run the same command again once the server answers: a question is not asked twice. " +
			"Or leave out --wait: then the question is kept, and its answer comes with a later command",
		Details: e.details,
	}
}

// waitAndShow waits for the answer to a question, and prints it.
func waitAndShow(ctx context.Context, a *Run, id string, timeout time.Duration) error {
	c, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	question, err := awaitAnswer(ctx, a, c, id, timeout)
	if err != nil {
		return err
	}
	return showReceived(ctx, a, c, question)
}

func showReported(a *Run, answer client.Answer, kind reportKind, tasks []string) {
	on := ""
	switch {
	case len(tasks) > 0:
		say := "says"
		if len(tasks) > 1 {
			say = "say"
		}
		on = " on " + strings.Join(tasks, ", ") + ", which now " + say + " " + string(kind.kind.SessionStatus())
	case kind.kind == events.ReportComplete:
		on = "; the session is completed"
	}
	if data, err := dataOf(answer); err == nil {
		reported, ok := data.(*events.SessionReported)
		switch {
		case !ok:
		case reported.Late:
			on = ", late: the session had ended, so no status changes"
		case reported.AfterDone && len(tasks) > 0:
			on = " on " + strings.Join(tasks, ", ") + "; the session had reported that it is done, so no status changes"
		case reported.InputID != "":
			on += "; the question is " + reported.InputID + ", and its answer comes with a later command"
		}
	}
	a.wrote(answer, "", "Reported %s%s", kind.kind, on)
}
