package cli

import (
	"strings"

	"maestro/api/client"
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
		Team     *wire.Team `json:"team,omitempty"`
		Warnings []string   `json:"warnings,omitempty"`
	}{true, answer.Outcome, answer.Retried, answer.Below, answer.Team, answer.Warnings}, func() {
		switch {
		case answer.Team != nil:
			a.Print("Dry run: would send the message to %s\n", teamNamed(answer.Team))
			a.notSent(answer.Team)
		case data == nil:
			a.Print("Dry run: nothing to do, the command would change nothing\n")
		case answer.Retried:
			a.Print("Dry run: nothing to do: an earlier try with this key %s\n", data.Describe())
		default:
			a.Print("Dry run: would %s\n", data.Describe().ToDo())
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
