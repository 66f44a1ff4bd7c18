package engine

import (
	"errors"
	"fmt"
	"strconv"

	"maestro/commands"
	"maestro/events"
)

// newerRules returns an error if an event was decided by rules that are newer than this version's. A rules version that
// is not a number was never valid; finding that is the audit's task.
func newerRules(sequence uint64, event *events.Event) error {
	if _, known := commands.Rules(event.Rules); known {
		return nil
	}
	theirs, err := strconv.Atoi(event.Rules)
	ours, _ := strconv.Atoi(commands.RulesVersion) // it is always a number
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

// undecodable returns why a stored event cannot be decoded: its type is newer than this version, or it is damaged.
func undecodable(sequence uint64, err error) error {
	if newer := newerType(sequence, err); newer != nil {
		return newer
	}
	return &events.DamageError{Sequence: sequence, Why: err.Error()}
}

// newerType returns an error if the type of an event that cannot be decoded is newer than this version, otherwise nil.
func newerType(sequence uint64, err error) error {
	var unknown *events.UnknownTypeError
	if errors.As(err, &unknown) {
		return &events.NewerError{Sequence: sequence, What: err.Error()}
	}
	return nil
}
