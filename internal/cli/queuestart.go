package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/commands"
	"maestro/events"
	"maestro/internal/failure"
	"maestro/internal/safetext"
	"maestro/service/wire"
)

// startedItem is the JSON output of `queue start`.
type startedItem struct {
	written
	Item *wire.Item `json:"item"`
	// Work is the item's task and the results of its dependencies.
	Work  *wire.Work `json:"work,omitempty"`
	Empty bool       `json:"empty"`
	Held  bool       `json:"held,omitempty"`
	// Waiting counts queued items that wait for something.
	Waiting int    `json:"waiting"`
	Queue   string `json:"queue,omitempty"`
	// Finished says that all items of the queue have ended.
	Finished bool `json:"finished,omitempty"`
}

// queueStart is `maestro queue start`.
type queueStart struct {
	*Run
	cmd     *cobra.Command
	body    commands.StartItem
	key     string
	wait    bool
	timeout time.Duration
}

func newQueueStart(a *Run) *cobra.Command {
	c := &queueStart{Run: a}
	cmd := &cobra.Command{
		Use:   "start",
		Short: "Claim the next item, or show the one you hold; --wait waits until there is one",
		Args:  Takes,
		Long: `Claim the next item, and show its task and the results of the task's
dependencies. The task's status becomes in_progress, and its session status
working. If you already hold an item, the command shows that one. Items whose
tasks wait for other tasks are passed over. An empty queue is not an error: the
exit code is 0, and there is no item.

With --wait, the command waits for an item until --timeout (exit code 7), or
until the queue is finished (exit code 0, and no item). A queue is finished
when each of its items has ended, or the item's task was completed, cancelled
or deleted. The command also ends when the process that started it ends.`,
		RunE: Running(c.run),
	}
	c.cmd = cmd
	bind(cmd, &c.body)
	cmd.Flags().BoolVar(&c.wait, "wait", false, "wait until there is an item")
	waitTimeout(cmd, &c.timeout)
	a.keyFlag(cmd, &c.key)
	return Tell(cmd, "queue:start", "wait timeout")
}

func (c *queueStart) run(ctx context.Context, _ []string) error {
	if err := timeoutOfWait(c.cmd, c.wait, c.timeout); err != nil {
		return err
	}
	if err := nameHolder(c.Run, &c.body.QueueRef); err != nil {
		return err
	}
	answer, err := startItem(ctx, c.Run, &c.body, c.key, c.wait, c.timeout)
	if err != nil {
		return err
	}
	return showStart(c.Run, answer)
}

// startItem asks for an item, and waits as long as it may.
func startItem(
	ctx context.Context, a *Run,
	body *commands.StartItem,
	key string,
	wait bool,
	timeout time.Duration,
) (answer client.Answer, err error) {
	if !wait || a.dryRun {
		return a.send(ctx, "queue:start", body, key)
	}
	c, err := a.Connect(ctx)
	if err != nil {
		return client.Answer{}, err
	}
	over, err := inSlices(ctx, a, c, timeout, func(ctx context.Context, slice time.Duration) (bool, error) {
		answer, err = c.Do(ctx, "queue:start", body, client.Options{Key: key, Wait: slice})
		start := startOf(answer)
		return answer.Event != nil || start.Item != nil || start.Finished, err
	})
	if err == nil && over {
		err = &failure.Error{
			Code:    failure.TimedOut,
			Message: "There was no item within " + timeout.String(),
			Next:    "ask again; see `maestro queue list` for what the queued items wait for",
		}
	}
	return answer, err
}

// startOf returns the result of a start; a dry run has none.
func startOf(answer client.Answer) wire.Start {
	if answer.Start != nil {
		return *answer.Start
	}
	return wire.Start{}
}

func showStart(a *Run, answer client.Answer) error {
	data, err := dataOf(answer)
	if err != nil {
		return err
	}
	start := startOf(answer)
	shown := startedItem{
		written:  writtenOf(answer, ""),
		Item:     start.Item,
		Work:     start.Work,
		Empty:    start.Item == nil,
		Held:     start.Held,
		Waiting:  start.Waiting,
		Queue:    start.Queue,
		Finished: start.Finished,
	}
	passedOver := 0
	if started, ok := data.(*events.QueueItemStarted); ok {
		passedOver = started.PassedOver
	}
	a.Result(shown, func() {
		switch {
		case shown.Empty && shown.Finished:
			a.Print("The queue is finished: all its items have ended\n")
		case shown.Empty:
			a.Print("The queue has nothing to start%s\n", waitingWords(shown.Waiting))
		case shown.Held:
			a.Print("You already hold: %s  %s\n", shown.Item.TaskID, safetext.OneLine(shown.Item.Title))
		default:
			a.Print(
				"Started %s  %s%s%s\n",
				shown.Item.TaskID,
				safetext.OneLine(shown.Item.Title),
				attemptWords(shown.Item.Attempts),
				passedWords(passedOver),
			)
		}
		showWork(a, start.Work)
	})
	return nil
}

// cutWords marks a text of which the server sent the beginning.
func cutWords(text string) string { return strings.TrimSuffix(text, "…") + "… (cut)" }

// showWork prints the work of an item.
func showWork(a *Run, w *wire.Work) {
	if w == nil {
		return
	}
	a.longBlock("Description", w.Description, wholeField("description", nil, w.Redacted))
	if len(w.Criteria) > 0 {
		a.block("Acceptance criteria", listOf(w.Criteria))
	}
	a.longBlock("Prompt", w.InitialPrompt, wholeField("initialPrompt", nil, w.Redacted))
	a.block("The task was reopened for this reason", w.Reopened)
	a.block("The task is blocked for this reason", w.Blocked)
	if w.Blocked != "" {
		a.Print("  Do not start on it: `maestro input wait` tells you when it is unblocked.\n")
	}
	a.block("The item was skipped before for this reason", w.Skipped)
	a.block("The item was queued again for this reason", w.Requeued)
	if done := w.SaidDone; done != nil {
		words := cmp.Or(done.Result, "(it said nothing more)")
		if done.Cut {
			words = cutWords(words)
		}
		a.block("Session "+done.SessionID+" reported it as completed", words)
	}
	if failed := w.Failed; failed != nil {
		words := cmp.Or(failed.Reason, "(it gave no reason)")
		if failed.Cut {
			words = cutWords(words)
		}
		a.block("Session "+failed.SessionID+" failed at it before", words)
	}
	for _, word := range w.Earlier {
		words := word.Text
		if word.Cut {
			words = cutWords(words)
		}
		a.block(earlierTitle(word), words)
	}
	for _, on := range w.Results {
		words := on.Result
		if on.Cut {
			words = cutWords(words)
		}
		a.block("Result of "+on.TaskID+" ("+string(on.Status)+") "+safetext.OneLine(on.Title), words)
	}
	if w.ResultsMore > 0 {
		a.Print("  It depends on %s more, whose results are not shown\n", Many(w.ResultsMore, "task"))
	}
	if len(w.Cut) > 0 {
		a.Print("  Only the beginning is shown of: %s. `maestro task get %s` says how to read the rest.\n",
			strings.Join(w.Cut, ", "), w.TaskID)
	}
}

// earlierTitle says what an earlier session's message is.
func earlierTitle(word wire.WorkWord) string {
	if word.Rejected {
		return "Session " + word.SessionID + " reported it as completed, before it was reopened"
	}
	if word.Unanswered {
		return "Session " + word.SessionID + " asked before, and nobody answered"
	}
	switch word.Kind {
	case wire.WordAnswer:
		return "Answer to session " + word.SessionID + ", which worked on this before"
	case wire.WordMessage:
		return "Message to session " + word.SessionID + ", which worked on this before"
	case wire.WordReopened:
		return "It was reopened before for this reason"
	case wire.WordSkipped:
		return "Session " + word.SessionID + " skipped it before"
	}
	return "Session " + word.SessionID + " reported before (" + word.Kind + ")"
}

// listOf returns texts as a list, one below the other.
func listOf(texts []string) string {
	items := make([]string, len(texts))
	for i, text := range texts {
		items[i] = "- " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")
	}
	return strings.Join(items, "\n")
}

func attemptWords(attempt int) string {
	if attempt < 2 {
		return ""
	}
	return fmt.Sprintf(" (attempt %d)", attempt)
}
