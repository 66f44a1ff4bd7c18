package cli

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/commands"
	"maestro/internal/failure"
	"maestro/service/wire"
	"maestro/workers/mail"
)

func newInput(a *Run) *cobra.Command {
	return a.group(
		"input",
		"Questions of sessions, and their answers",
		newInputList(a),
		newInputGet(a),
		newInputAnswer(a),
		newInputWait(a),
		newInputReceived(a),
	)
}

// inputList is `maestro input list`.
type inputList struct {
	*Run
	filter wire.InputFilter
}

func newInputList(a *Run) *cobra.Command {
	c := &inputList{Run: a}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the questions of sessions",
		Args:  Takes,
		RunE:  Running(c.run),
	}
	projectFlag(cmd, &c.filter.ProjectID)
	bindQuery(cmd, &c.filter)
	a.ListFlags(cmd)
	a.WatchFlag(cmd, "input")
	a.AtFlag(cmd)
	return Tell(cmd, "input:list", "status", "session")
}

func (c *inputList) run(ctx context.Context, _ []string) error {
	filter := c.filter
	filter.ProjectID = cmp.Or(filter.ProjectID, c.currentProject())
	questions, err := Ask(ctx, c.Run, (*client.Client).Inputs, filter)
	if err != nil {
		return err
	}
	columns := []string{"ID", "STATUS", "SESSION", "WAITS", "WHAT"}
	row := func(x wire.Input) []string {
		waiting := "waited " + waited(x.Waited)
		switch {
		case x.NotNeeded:
			waiting = "not needed"
		case x.Status == wire.InputOpen:
			waiting = "waits " + waited(x.Waited)
		}
		return []string{
			x.ID,
			string(x.Status),
			withName(x.SessionID, x.SessionName),
			waiting,
			x.Question + whole(x.Blob, x.Redacted) + Prefixed(" → ", x.Answer),
		}
	}
	columns, row = byProject(questions, func(x wire.Input) string { return x.ProjectID }, columns, row)
	none := "No questions"
	if len(questions) == 0 && !c.asData() {
		none += inNamedProject(ctx, c.Run, filter.ProjectID)
	}
	listFitted(c.Run, questions, none, columns, row)
	if c.filter.ProjectID != "" || c.asData() || c.filter.Status != "" && c.filter.Status != string(wire.InputOpen) {
		return nil
	}
	asked := wire.InboxFilter{ProjectID: filter.ProjectID, SessionID: filter.SessionID, Kind: "question"}
	if n := thingsElsewhere(ctx, c.Run, asked); n > 0 {
		c.Say("%s\n", inOthers(n))
	}
	return nil
}

// inputGet is `maestro input get`.
type inputGet struct{ *Run }

func newInputGet(a *Run) *cobra.Command {
	c := &inputGet{Run: a}
	return Tell(&cobra.Command{
		Use:   "get <questionId>",
		Short: "Show a question with its options and its answer",
		Args:  Takes,
		RunE:  Running(c.run),
	}, "input:list")
}

func (c *inputGet) run(ctx context.Context, args []string) error {
	x, err := Look(ctx, c.Run, func(server *client.Client, ctx context.Context) (wire.Input, error) {
		return server.AwaitInput(ctx, args[0], 0)
	})
	if err != nil {
		return err
	}
	c.Result(x, func() {
		c.Print("%s  %s\n", x.ID, x.Status)
		c.Field("Session", withName(x.SessionID, x.SessionName))
		c.Field("About", strings.Join(withNames(x.TaskIDs, x.TaskTitles), ", "))
		c.Field("Asked", c.When(x.AskedAt)+", waited "+waited(x.Waited))
		if x.NotNeeded {
			c.Field("Answer", "not needed: "+whyNotNeeded(x))
		}
		c.longBlock("Question", x.Question, whole(x.Blob, x.Redacted))
		c.block("Options", strings.Join(x.Options, "\n"))
		c.block("Answer", x.Answer)
	})
	return nil
}

// whyNotNeeded says why nobody has to answer a question.
func whyNotNeeded(x wire.Input) string {
	return "the work on " + strings.Join(x.TaskIDs, ", ") + " is over, or was done without it"
}

func newInputAnswer(a *Run) *cobra.Command {
	return newChange(a, &commands.AnswerInput{}, `answer <questionId> "<answer>"`,
		"Answer a question; --other accepts an answer that is not one of its options", "Answered %[1]s", "other")
}

func newInputReceived(a *Run) *cobra.Command {
	return Untold(newChange(a, &commands.ReceiveInput{}, "received <mailId>",
		"Confirm that a piece of mail was shown; for programs that show mail themselves", "Received %[1]s"))
}

// inputWait is `maestro input wait`.
type inputWait struct {
	*Run
	cmd     *cobra.Command
	timeout time.Duration
}

func newInputWait(a *Run) *cobra.Command {
	c := &inputWait{Run: a}
	cmd := &cobra.Command{
		Use:   "wait [<questionId>]",
		Short: "Wait for mail and print it: answers, messages, and changes to your tasks",
		Args:  Takes,
		Long: `Wait until there is mail for this session, and print it: answers to its
questions, messages from the user and from other sessions, and notices that a
task of its own was reopened, blocked, unblocked, cancelled, completed or
deleted. An orchestrator also gets them about the work that it leads, when the
user makes the decision. With a question id, wait for the answer to that
question only.

If no mail arrives before --timeout, the exit code is 7. The command also ends
with the process that started it. Mail that arrives while no command waits is
printed on stderr by the session's next command.`,
		RunE: Running(c.run),
	}
	c.cmd = cmd
	waitTimeout(cmd, &c.timeout)
	return Tell(cmd, "input:wait", "timeout")
}

func (c *inputWait) run(ctx context.Context, args []string) error {
	if err := positive(c.cmd, "timeout", c.timeout); err != nil {
		return err
	}
	if question := At(args, 0); question != "" {
		return waitAndShow(ctx, c.Run, question, c.timeout)
	}
	return awaitMail(ctx, c.Run, c.timeout)
}

// awaitAnswer waits for the answer to a question.
func awaitAnswer(
	ctx context.Context, a *Run, c *client.Client, id string, timeout time.Duration,
) (question wire.Input, err error) {
	over, err := inSlices(ctx, a, c, timeout, func(ctx context.Context, slice time.Duration) (done bool, err error) {
		question, err = c.AwaitInput(ctx, id, slice)
		return question.Status != wire.InputOpen || question.NotNeeded, err
	})
	switch {
	case unreached(err):
		return question, &failure.Error{
			Err:     err,
			Code:    explain(err).code,
			Message: explain(err).message,
			Next:    "keep waiting with `maestro input wait " + id + "` once the server answers",
		}
	case err != nil:
		return question, err
	case over:
		return question, &failure.Error{
			Code:    failure.TimedOut,
			Message: "There was no answer within " + timeout.String(),
			Why:     "question " + id + " is still open",
			Next: "keep waiting with `maestro input wait " + id +
				"`, or go on: the answer comes with a later command",
		}
	case question.NotNeeded:
		return question, &failure.Error{
			Code:    failure.Conflict,
			Message: "Question " + id + " needs no answer any more",
			Why:     whyNotNeeded(question),
			Next:    "see `maestro whoami` for what is next",
		}
	case question.Status == wire.InputVoid:
		return question, &failure.Error{
			Code:    failure.Conflict,
			Message: "Question " + id + " will have no answer",
			Why:     "its session has ended",
			Next:    "see `maestro why " + question.SessionID + "`",
		}
	}
	return question, nil
}

// showReceived prints an answer to the session that asked, and acknowledges it to the server.
func showReceived(ctx context.Context, a *Run, c *client.Client, question wire.Input) error {
	defer a.forget(question.ID)
	a.Result(question, func() { a.Print("%s\n", mail.Quoted(question.Answer)) })
	if a.broken != nil || question.Status != wire.InputAnswered || question.SessionID != a.sessionID() {
		return nil
	}
	return shown(ctx, c, question.ID)
}

// forget removes a question from those that are still to be shown.
func (a *Run) forget(id string) {
	var left []string
	for _, other := range a.waiting {
		if other != id {
			left = append(left, other)
		}
	}
	a.waiting = left
}

// mailWithin bounds how long showing mail may delay a completed command.
const mailWithin = 5 * time.Second

// waited shows a duration in words short enough for a list.
func waited(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	switch {
	case d >= 48*time.Hour:
		return Many(int(d/(24*time.Hour)), "day")
	case d >= time.Hour:
		return strings.TrimSuffix(d.Truncate(time.Minute).String(), "0s")
	case d >= time.Second:
		return d.Truncate(time.Second).String()
	}
	return "0s"
}
