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

func (a *Run) reportCommand() *cobra.Command {
	cmd := group("report", "Say how the work goes: an agent's word, which decides nothing")
	for _, kind := range reportKinds() {
		var key string
		var tasks []string
		var asking asking
		var verb *cobra.Command
		verb = &cobra.Command{
			Use: kind.name + " " + kind.argument, Short: kind.short, Args: Takes(kind.argument),
			RunE: Running(func(ctx context.Context, args []string) error {
				if err := asking.check(verb); err != nil {
					return err
				}
				return a.report(ctx, "report:"+kind.name, kind, args[0], ids(tasks), key, asking)
			}),
		}
		verb.Flags().StringSliceVar(&tasks, "task", nil, "ids of the tasks that it is about, with commas; else the session as a whole")
		a.keyFlag(verb, &key)
		if kind.name == string(events.ReportNeedsInput) {
			asking.add(verb)
		}
		cmd.AddCommand(verb)
	}
	return cmd
}

// report sends a report, in one call, or keeps it. The session, its project and its permissions are the server's to know.
func (a *Run) report(ctx context.Context, id string, kind reportKind, message string, tasks []string, key string, asking asking) error {
	if message == "-" {
		text, err := io.ReadAll(io.LimitReader(a.Stdin, 1<<20))
		if err != nil {
			return fmt.Errorf("read the message: %w", err)
		}
		message = strings.TrimRight(string(text), "\n")
	}
	body := &commands.Report{Message: message, TaskIDs: tasks, Options: asking.options}
	if asking.wait {
		return a.askAndWait(ctx, id, body, key, asking.timeout)
	}
	return a.tell(ctx, id, body, key, func(answer client.Answer) { a.reported(answer, kind, tasks) })
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
func (a *Run) askAndWait(ctx context.Context, id string, body *commands.Report, key string, timeout time.Duration) error {
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
			Status: http.StatusConflict, Code: "CONFLICT", Message: "The question came after the session's end, so there will be no answer",
			Next: "see `maestro session info`",
		}
	}
	c, err := a.connect(ctx)
	if err != nil {
		return err
	}
	question, err := a.awaitAnswer(ctx, c, reported.InputID, timeout)
	if err != nil {
		return err
	}
	return a.received(ctx, c, question)
}

func (a *Run) reported(answer client.Answer, kind reportKind, tasks []string) {
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
