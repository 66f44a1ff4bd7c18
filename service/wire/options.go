package wire

import (
	"maestro/commands"
	"maestro/events"
)

// Option is an option of a command that is no field of it: a parameter of its route, and an argument of its tool.
type Option struct {
	Name, Doc string
	Form      OptionForm
}

// OptionForm says what the values of an option are.
type OptionForm int

// The forms of options.
const (
	OptionFlag OptionForm = iota // true or false
	OptionText
	OptionList // in a query separated by commas
)

// ArgAfter is the argument with the tasks that a dry run takes for completed.
const ArgAfter = "after"

// OptionsOf returns the options of a command, first that which all have.
func OptionsOf(id string) []Option {
	options := []Option{{ArgDryRun, "only show what the command would do, or why it would be refused", OptionFlag}}
	command, _, _ := commands.BodyOf(id)
	switch x := command.(type) {
	case *commands.CompleteTask:
		return append(options, Option{ArgAfter, "with dryRun: as if these tasks were completed before", OptionList})
	case *commands.KillSession, *commands.RevokeToken:
		return append(options, Option{ArgTree, "also apply it to the living sessions below", OptionFlag})
	case commands.ForTeam:
		return append(options, Option{
			ArgAll, "write to all sessions at work that the caller leads, or to those of a user's project", OptionFlag,
		})
	case *commands.StartItem:
		return append(options, Option{
			ArgWait, "if there is no item, wait until there is, at most so long, such as 25s", OptionText,
		})
	case *commands.CompleteSession:
		return append(options, ifFinished)
	case *commands.Report:
		switch {
		case x.Asks():
			return append(options, Option{ArgIfNew, "do not ask again what the session waits for", OptionFlag})
		case x.Kind == events.ReportComplete:
			return append(options, ifFinished)
		}
	}
	return options
}

var ifFinished = Option{
	ArgIfFinished, "refuse to end the session while it has unread mail or holds an item", OptionFlag,
}
