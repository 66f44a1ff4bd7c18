package engine

import (
	"errors"
	"fmt"
	"strconv"

	"maestro/commands"
	"maestro/events"
)

// newerRules says that an event was decided by rules that came after those that are known here; nil if it was not.
// Rules that are no number were never anybody's: that is the audit's to find.
func newerRules(sequence uint64, event *events.Event) error {
	if _, known := commands.Rules(event.Rules); known {
		return nil
	}
	theirs, err := strconv.Atoi(event.Rules)
	ours, _ := strconv.Atoi(commands.RulesVersion) // it is a number
	if err != nil || theirs <= ours {
		return nil
	}
	return &events.NewerError{
		Sequence: sequence,
		What: fmt.Sprintf(
			"an event of rules %d, and this maestro knows rules 1 to %s", theirs, commands.RulesVersion,
		),
	}
}

// undecodable says why a stored event cannot be read: its type came later, or it is damaged.
func undecodable(sequence uint64, err error) error {
	if newer := newerType(sequence, err); newer != nil {
		return newer
	}
	return &events.DamageError{Sequence: sequence, Why: err.Error()}
}

// newerType says that the type of a stored event that cannot be read came later; nil if it is not that.
func newerType(sequence uint64, err error) error {
	var unknown *events.UnknownTypeError
	if errors.As(err, &unknown) {
		return &events.NewerError{Sequence: sequence, What: err.Error()}
	}
	return nil
}
