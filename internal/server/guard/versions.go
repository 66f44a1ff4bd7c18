package guard

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"maestro/commands"
	"maestro/events"
	"maestro/internal/failure"
	"maestro/internal/home"
	"maestro/projections"
)

// Known returns what this binary writes to a home, and understands of one. maestro is its own version.
func Known(maestro string) home.Version {
	rules, _ := strconv.Atoi(commands.RulesVersion) // it is a number
	return home.Version{
		Maestro:  maestro,
		Home:     home.Format,
		Rules:    rules,
		Snapshot: projections.Format,
	}
}

// tooNew explains why a home that a newer maestro wrote is not opened for writing; it returns other errors unchanged.
func tooNew(dir string, err error) error {
	const onlyRead = ", or read it with `maestro serve --read-only`"
	var home *home.NewerError
	var log *events.NewerError
	switch {
	case errors.As(err, &home):
		return newerFailure(home.Error(), home.Install()+onlyRead, err)
	case errors.As(err, &log):
		message := fmt.Sprintf("the home %s was written by a newer maestro: at event %d there is %s",
			dir, log.Sequence, log.What)
		return newerFailure(message, "install the version that wrote it or a newer one"+onlyRead, err)
	}
	return err
}

func newerFailure(message, next string, err error) error {
	return &failure.Error{
		Status:  http.StatusConflict,
		Code:    "NEWER_HOME",
		Message: message,
		Err:     err,
		Why:     "this version could damage data that it does not understand",
		Next:    next,
	}
}
