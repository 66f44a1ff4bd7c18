package cli

import (
	"github.com/spf13/cobra"
)

// readsMoment marks the commands that have --at.
const readsMoment = "moment"

// AtFlag adds --at to a command that only reads views: it then shows what it would have shown at a moment.
func (a *Run) AtFlag(cmd *cobra.Command) {
	cmd.Flags().String("at", "", "show the state after this event, at this time, or this long ago")
	ValueName(cmd, "at", "<sequence|time>")
	annotated(cmd, readsMoment, "true")
	NoteAt(cmd)
	for _, present := range []string{"watch", "wait"} {
		if cmd.Flags().Lookup(present) != nil {
			Exclude(cmd, "at", present)
		}
	}
}

// NoteAt makes an error about the moment of a read name the flag --at of a command.
func NoteAt(cmd *cobra.Command) { note(cmd, "at", "--at") }

// lookBack makes all reads of a command with --at ask for that moment, also those that find what a name means.
func (a *Run) lookBack(cmd *cobra.Command) error {
	flag := cmd.Flags().Lookup("at")
	if cmd.Annotations[readsMoment] == "" || flag == nil || !flag.Changed {
		return nil
	}
	moment, err := Beginning(flag.Value.String())
	if err != nil {
		return &ranError{err}
	}
	a.moment = moment
	return nil
}
