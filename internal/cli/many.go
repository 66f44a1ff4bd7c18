package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"maestro/api/client"
	"maestro/commands"
	"maestro/events"
	"maestro/internal/failure"
	"maestro/internal/safetext"
)

// outcome is the result of one of many commands.
type outcome struct {
	ID       string          `json:"id"`
	Sequence uint64          `json:"sequence,omitempty"`
	Event    json.RawMessage `json:"event"`
	Retried  bool            `json:"retried,omitempty"`
	Error    string          `json:"error,omitempty"`
	Message  string          `json:"message,omitempty"`
}

// each sends one command per id, one after the other, and reports each result: what was done in words with one %s, and
// refusals on stderr. It continues after a refusal, but not if the server does not answer. The exit code of a partial
// failure is that of its refusals if they are alike, otherwise 1.
func (a *Run) each(
	ctx context.Context, ids []string, command string, body func(id string) any, key, words string,
) error {
	return a.eachOf(ctx, ids, command, body, key, words, 0)
}

// eachAfterOthers is each for a command that can make later ones of these possible: a dry run tries a refused one again
// after those before it.
func (a *Run) eachAfterOthers(
	ctx context.Context, ids []string, command string, body func(id string) any, key, words string,
) error {
	return a.eachOf(ctx, ids, command, body, key, words, int(commands.LimitCallCommands.Value)-1)
}

func (a *Run) eachOf(
	ctx context.Context, ids []string, command string, body func(id string) any, key, words string, triedBefore int,
) error {
	c, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	outcomes := make([]outcome, 0, len(ids))
	var failed []error
	for _, id := range ids {
		o := client.Options{DryRun: a.dryRun}
		if key != "" {
			o.Key = key + ":" + id
		}
		answer, err := c.Do(ctx, command, body(id), o)
		var said *client.Error
		if a.dryRun && errors.As(err, &said) {
			if o.After = notRefused(outcomes, triedBefore); len(o.After) > 0 {
				answer, err = c.Do(ctx, command, body(id), o)
			}
		}
		var unreachable *client.ConnectionError
		if errors.As(err, &unreachable) || ctx.Err() != nil {
			return a.broughtNoAnswer(err, id, outcomes, len(ids))
		}
		if err != nil {
			failed = append(failed, err)
			e := explain(err)
			outcomes = append(outcomes, outcome{ID: id, Error: e.code, Message: e.message})
			if !a.JSON {
				a.Say("maestro: %s: %s\n", safetext.OneLine(id), e.message)
			}
			continue
		}
		outcomes = append(outcomes, outcome{
			ID:       id,
			Sequence: answer.Sequence,
			Event:    answer.Event,
			Retried:  answer.Retried,
		})
		a.warn(answer)
		if !a.JSON {
			if err := a.sayDone(answer, id, words); err != nil {
				return err
			}
		}
	}
	if len(failed) == 0 {
		a.Result(struct {
			DryRun  bool      `json:"dryRun,omitempty"`
			Results []outcome `json:"results"`
		}{a.dryRun, outcomes}, func() {})
		return nil
	}
	return a.partly(failed, outcomes)
}

// notRefused returns the ids of the last most outcomes that are not refusals.
func notRefused(outcomes []outcome, most int) (ids []string) {
	for _, o := range outcomes {
		if o.Error == "" {
			ids = append(ids, o.ID)
		}
	}
	return ids[max(len(ids)-most, 0):]
}

func (a *Run) sayDone(answer client.Answer, id, words string) error {
	id = safetext.OneLine(id)
	switch {
	case answer.Event == nil:
		a.Print("%s: nothing to do, the command would change nothing\n", id)
	case a.dryRun:
		data, err := dataOf(answer)
		if err != nil {
			return err
		}
		a.Print("%s\n", wouldBe(answer, data))
	default:
		if data, err := dataOf(answer); err == nil {
			if pushed, ok := data.(*events.QueueItemPushed); ok {
				id += " to queue " + pushed.Queue
			}
		}
		a.Print(words+"%s\n", id, Prefixed("  ", safetext.OneLine(a.titles[id])))
	}
	return nil
}

// partly sums up many commands of which some were refused.
func (a *Run) partly(failed []error, outcomes []outcome) error {
	e := &failure.Error{
		Code: "PARTIAL_FAILURE",
		Message: fmt.Sprintf("%d of %d commands are done, %d refused", len(outcomes)-len(failed), len(outcomes),
			len(failed)),
		Next:    "deal with what was refused, then repeat the command: what is done stays done",
		Details: map[string]any{"results": outcomes},
		Status:  http.StatusInternalServerError,
	}
	if a.dryRun {
		e.Message = fmt.Sprintf("Dry run: %d of %d commands would be done, %d refused", len(outcomes)-len(failed),
			len(outcomes), len(failed))
		e.Next = ""
	}
	alike := true
	for _, err := range failed {
		alike = alike && exitCode(err) == exitCode(failed[0])
	}
	if alike {
		e.Status, e.Err = 0, failed[0]
		e.Why = explain(failed[0]).why
	}
	return e
}

// broughtNoAnswer says how many commands were completed before the server was gone.
func (a *Run) broughtNoAnswer(err error, id string, outcomes []outcome, of int) error {
	e := explain(err)
	return &failure.Error{
		Code:    e.code,
		Err:     err,
		Message: fmt.Sprintf("%s: %s", id, e.message),
		Why:     e.why,
		Next:    fmt.Sprintf("%d of %d were answered; repeat the command: what is done stays done", len(outcomes), of),
		Details: map[string]any{"results": outcomes},
	}
}
