package cli

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/commands"
	"maestro/internal/failure"
	"maestro/internal/safetext"
	"maestro/projections"
	"maestro/service/wire"
)

func (a *Run) inputCommand() *cobra.Command {
	return group("input", "Questions of sessions, and their answers", a.inputList(), a.inputAnswer(), a.inputWait())
}

func (a *Run) inputList() *cobra.Command {
	var project, session, status string
	cmd := &cobra.Command{
		Use: "list", Short: "List questions", Args: Takes(),
		RunE: Running(func(ctx context.Context, _ []string) error {
			if project == "" {
				project = a.Getenv("MAESTRO_PROJECT_ID")
			}
			filter := wire.InputFilter{ProjectID: project, SessionID: session, Status: status}
			questions, err := ask(ctx, a, (*client.Client).Inputs, filter)
			if err != nil {
				return err
			}
			if err := a.unlessEmpty(ctx, len(questions), named{project: project, session: session}); err != nil {
				return err
			}
			listFitted(a, questions, "There are no such questions", func(x wire.Input) []string {
				verb := "waited "
				if x.Status == projections.InputOpen {
					verb = "waits "
				}
				return []string{x.ID, string(x.Status), x.SessionID, verb + waited(x.Waited), x.Question + prefixed(" → ", x.Answer)}
			})
			return nil
		}),
	}
	projectFlag(cmd, &project)
	cmd.Flags().StringVar(&session, "session", "", "only those of this session")
	cmd.Flags().StringVar(&status, "status", "", "only those with this status")
	choice(cmd, "status", "open", "answered", "delivered", "void")
	a.listFlags(cmd)
	return cmd
}

func (a *Run) inputAnswer() *cobra.Command {
	var body commands.AnswerInput
	var key string
	cmd := &cobra.Command{
		Use: "answer ID ANSWER", Short: "Answer a question", Args: Takes("ID", "ANSWER"),
		RunE: Running(func(ctx context.Context, args []string) error {
			body.InputID, body.Answer = args[0], args[1]
			return a.change(ctx, "input:answer", &body, key, body.InputID, "Answered %s", body.InputID)
		}),
	}
	cmd.Flags().BoolVar(&body.Other, "other", false, "take the answer although it is none of the options")
	a.keyFlag(cmd, &key)
	return cmd
}

func (a *Run) inputWait() *cobra.Command {
	var timeout time.Duration
	var cmd *cobra.Command
	cmd = &cobra.Command{
		Use: "wait ID", Short: "Wait for the answer to a question of this session, and print it", Args: Takes("ID"),
		RunE: Running(func(ctx context.Context, args []string) error {
			if err := positive(cmd, "timeout", timeout); err != nil {
				return err
			}
			c, err := a.connect(ctx)
			if err != nil {
				return err
			}
			question, err := a.awaitAnswer(ctx, c, args[0], timeout)
			if err != nil {
				return err
			}
			return a.received(ctx, c, question)
		}),
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "how long to wait, such as 10m; for ever if absent")
	return cmd
}

// awaitAnswer waits for the answer to a question.
func (a *Run) awaitAnswer(
	ctx context.Context, c *client.Client, id string, timeout time.Duration,
) (question wire.Input, err error) {
	over, err := a.inSlices(ctx, c, timeout, func(slice time.Duration) (done bool, err error) {
		question, err = c.AwaitInput(ctx, id, slice)
		return question.Status != projections.InputOpen, err
	})
	switch {
	case unreached(err):
		return question, &failure.Error{Err: err, Code: explain(err).code, Message: explain(err).message, Next: "wait on with `maestro input wait " + id + "` once the server answers"}
	case err != nil:
		return question, err
	case over:
		return question, &failure.Error{
			Status: http.StatusGatewayTimeout, Code: "TIMED_OUT", Message: "There was no answer within " + timeout.String(),
			Why: "question " + id + " is still open", Next: "wait on with `maestro input wait " + id + "`, or go on: the answer comes with a later command",
		}
	case question.Status == projections.InputVoid:
		return question, &failure.Error{
			Status: http.StatusConflict, Code: "CONFLICT", Message: "Question " + id + " will have no answer",
			Why:  "its session has ended",
			Next: "see `maestro why " + question.SessionID + "`",
		}
	}
	return question, nil
}

// received prints an answer to the session that asked, and lets the server know that it was shown.
func (a *Run) received(ctx context.Context, c *client.Client, question wire.Input) error {
	defer a.forget(question.ID)
	a.Result(question, func() { a.Print("%s\n", question.Answer) })
	if a.broken != nil || question.Status != projections.InputAnswered || question.SessionID != a.sessionID() {
		return nil
	}
	return shown(ctx, c, question.ID)
}

// shown lets the server know that an answer was shown.
func shown(ctx context.Context, c *client.Client, id string) error {
	_, err := c.Do(ctx, "input:received", &commands.ReceiveInput{InputID: id}, client.Options{Key: "received-" + id})
	return err
}

// forget takes a question from those whose answers are still to be shown.
func (a *Run) forget(id string) {
	var left []string
	for _, other := range a.answers {
		if other != id {
			left = append(left, other)
		}
	}
	a.answers = left
}

// answersWithin bounds how long the showing of answers may hold up a command that is done.
const answersWithin = 5 * time.Second

// showAnswers shows a session, after its command, the answers to its questions that it was not shown yet. On stderr: stdout is
// the command's.
func (a *Run) showAnswers(ctx context.Context) {
	if len(a.answers) == 0 || a.dryRun || !a.isSession() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answersWithin)
	defer cancel()
	c, err := a.connect(ctx)
	if err != nil {
		return // the next command tries again
	}
	for _, id := range a.answers {
		question, err := c.Input(ctx, id)
		if err != nil || question.Status != projections.InputAnswered {
			continue
		}
		a.say("maestro: your question %s “%s” is answered: %s\n", id, safetext.Clip(question.Question, 100), question.Answer)
		// It is shown again if this does not arrive: better twice than not at all.
		_ = shown(ctx, c, id)
	}
}

// waited shows a length of time in words short enough for a list.
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
