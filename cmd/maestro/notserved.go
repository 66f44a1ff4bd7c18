package main

import (
	"errors"
	"log/slog"

	"maestro/bus"
	"maestro/engine"
	"maestro/internal/cli/offline"
	"maestro/internal/failure"
)

// warnOfRoom says at the start that nothing can be written yet.
func warnOfRoom(err error, logger *slog.Logger) {
	if err != nil {
		logger.Warn("the disk is too full: the server answers reads and refuses writes",
			"why", err, "next", engine.Advice(err))
	}
}

// notServed explains why a home could not be served; other errors stay as they are.
func notServed(dir string, existed bool, err error) error {
	var own *failure.Error
	switch {
	case err == nil || errors.As(err, &own):
		return err
	case bus.IsFull(err) && existed:
		return offline.DiskFull(dir, err, "make room on that disk, and start the server again; "+
			"until then, read the log with `maestro serve --read-only`")
	case bus.IsFull(err):
		return offline.DiskFull(dir, err, "make room on that disk, and start the server again; "+
			"or name another home with MAESTRO_HOME")
	case offline.IsReadOnly(err) && existed:
		return offline.OnReadOnly(dir, err, "read it with `maestro serve --read-only`, or make its disk writable")
	case offline.IsReadOnly(err):
		return offline.OnReadOnly(dir, err, "name another home with MAESTRO_HOME, or make the disk writable")
	}
	return err
}
