package cli

import (
	"strings"

	"maestro/api/client"
	"maestro/events"
	"maestro/service/wire"
)

// wouldHappen prints the result of --dry-run: the event that would be appended, or that an earlier attempt appended.
func (a *Run) wouldHappen(answer client.Answer) error {
	data, err := dataOf(answer)
	if err != nil {
		return err
	}
	a.Result(struct {
		DryRun bool `json:"dryRun"`
		wire.Outcome
		Retried bool `json:"retried,omitempty"`
		wire.Below
		Warnings []string `json:"warnings,omitempty"`
	}{true, answer.Outcome, answer.Retried, answer.Below, answer.Warnings}, func() {
		switch {
		case data == nil:
			a.Print("Dry run: nothing to do, the command would change nothing\n")
		case answer.Retried:
			a.Print("Dry run: nothing to do: an earlier try with this key %s\n", data.Describe())
		default:
			a.Print("Dry run: would %s\n", toDo(data))
		}
		if len(answer.Also) > 0 {
			a.Print("Dry run: would do the same to %s below it: %s\n", Many(len(answer.Also), "session"),
				strings.Join(answer.Also, ", "))
		}
		if answer.LivingBelow > 0 {
			a.Print("Dry run: %s below it would go on\n", Many(answer.LivingBelow, "living session"))
		}
		a.warn(answer)
	})
	return errDone
}

// infinitives are the verbs for the words with which descriptions of events begin. A word that is not listed ends in
// ed, as linked does.
var infinitives = map[string]string{
	"changed":     "change",
	"completed":   "complete",
	"created":     "create",
	"deleted":     "delete",
	"gave":        "give",
	"heard":       "hear",
	"lost":        "lose",
	"moved":       "move",
	"noted":       "note",
	"quarantined": "quarantine",
	"queued":      "queue",
	"received":    "receive",
	"removed":     "remove",
	"reset":       "reset",
	"revoked":     "revoke",
	"sent":        "send",
	"skipped":     "skip",
	"updated":     "update",
}

// toDo describes what an event would record as an action: "delete task task_7k1y4".
func toDo(data events.Data) string {
	done, rest, _ := strings.Cut(data.Describe(), " ")
	verb, known := infinitives[done]
	if !known {
		verb = strings.TrimSuffix(done, "ed")
	}
	return strings.TrimSpace(verb + " " + rest)
}
