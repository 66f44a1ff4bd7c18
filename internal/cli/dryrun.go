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
		Team     *wire.Team `json:"team,omitempty"`
		Warnings []string   `json:"warnings,omitempty"`
	}{true, answer.Outcome, answer.Retried, answer.Below, answer.Team, answer.Warnings}, func() {
		if answer.Team == nil {
			a.Print("%s\n", wouldBe(answer, data))
		} else {
			a.Print("Dry run: would send the message to %s\n", teamNamed(answer.Team))
			a.notSent(answer.Team)
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

// wouldBe says what a command would do; data is that of the event that it would become, nil for none.
func wouldBe(answer client.Answer, data events.Data) string {
	switch {
	case data == nil:
		return "Dry run: nothing to do, the command would change nothing"
	case answer.Retried:
		return "Dry run: nothing to do: an earlier try with this key " + data.Describe().String()
	}
	return "Dry run: would " + data.Describe().ToDo()
}
