package guard

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"syscall"

	"maestro/bus"
	"maestro/engine"
	"maestro/internal/failure"
	"maestro/internal/files"
)

// DiskFull returns the error that the disk of a home has no room.
func DiskFull(dir string, err error, next string) error {
	return &failure.Error{
		Status:  http.StatusInsufficientStorage,
		Code:    "DISK_FULL",
		Message: "The disk of the home " + dir + " is full",
		Why:     whyFull(dir, err),
		Next:    next,
		Err:     err,
	}
}

// IsReadOnly reports whether an error says that a disk is read-only.
func IsReadOnly(err error) bool { return errors.Is(err, syscall.EROFS) }

// OnReadOnly returns the error that the disk of a home is read-only.
func OnReadOnly(dir string, err error, next string) error {
	return &failure.Error{
		Status:  http.StatusInternalServerError,
		Code:    "READ_ONLY_DISK",
		Message: "The disk of the home " + dir + " cannot be written to",
		Why:     "it is mounted read-only",
		Next:    next,
		Err:     err,
	}
}

func whyFull(dir string, err error) string {
	if free, known := bus.FreeBytes(files.Existing(dir)); known && free < bus.Reserve {
		return fmt.Sprintf("%d KiB are free on it, and %d are needed", free>>10, bus.Reserve>>10)
	}
	var reason syscall.Errno
	if errors.As(err, &reason) {
		return reason.Error()
	}
	return files.Bare(err).Error()
}

// WarnOfRoom logs at the start that nothing can be written yet.
func WarnOfRoom(err error, logger *slog.Logger) {
	if err != nil {
		logger.Warn("the disk is too full: the server answers reads and refuses writes",
			"why", err, "next", engine.Advice(err))
	}
}

// NotServed explains why a home could not be served; existed says that it had a log before. It returns other errors
// unchanged.
func NotServed(dir string, existed bool, err error) error {
	var own *failure.Error
	switch {
	case err == nil || errors.As(err, &own):
		return err
	case bus.IsFull(err) && existed:
		return DiskFull(dir, err, "make room on that disk, and start the server again; "+
			"until then, read the log with `maestro serve --read-only`")
	case bus.IsFull(err):
		return DiskFull(dir, err, "make room on that disk, and start the server again; "+
			"or name another home with MAESTRO_HOME")
	case IsReadOnly(err) && existed:
		return OnReadOnly(dir, err, "read it with `maestro serve --read-only`, or make its disk writable")
	case IsReadOnly(err):
		return OnReadOnly(dir, err, "name another home with MAESTRO_HOME, or make the disk writable")
	}
	return err
}
