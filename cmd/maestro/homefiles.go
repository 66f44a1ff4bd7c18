package main

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"syscall"
	"time"

	"maestro/bus"
	"maestro/internal/home"
	"maestro/service/wire"
)

// homeFilesEvery is how often a running server looks whether the files of its home are as it knows them.
const homeFilesEvery = time.Second

// homeFiles keeps what the next start needs: the files of a home whose content the running server knows.
type homeFiles struct {
	kept atomic.Pointer[home.Kept] // nil until the server listens
	// here fails when the home is no longer where it was; nothing is written there then.
	here   func() error
	head   headFailure
	logger *slog.Logger
}

// headFailure tells why the head file cannot be written.
type headFailure struct {
	file *bus.HeadFile
	path string
}

func (h headFailure) warnings() []wire.Warning {
	err := h.file.Failed()
	if err == nil {
		return nil
	}
	why := err.Error()
	var errno syscall.Errno
	if errors.As(err, &errno) { // else it names the path by which the server holds the home
		why = errno.Error()
	}
	return []wire.Warning{{
		Code:    "HOME",
		Message: "the head file " + h.path + " cannot be written: " + why,
		Next: "make the file writable, or move away what is in its place; until then it does not show " +
			"whether the log lost what was acknowledged since",
	}}
}

// keep takes note of the files.
func (f *homeFiles) keep(lock *home.Lock) { f.kept.Store(lock.Keep()) }

// run looks at every tick until its context ends, or the home is gone.
func (f *homeFiles) run(tick <-chan time.Time) func(context.Context) {
	return func(ctx context.Context) {
		for {
			select {
			case <-tick:
			case <-ctx.Done():
				return
			}
			if f.here() != nil {
				return
			}
			for _, loss := range f.kept.Load().Look() {
				if loss.Restored {
					f.logger.Warn("a file of the home is as it was again", "path", loss.Path, "what", loss.What,
						"next", loss.Next)
					continue
				}
				f.logger.Error("the next start needs a file of the home that is not as it was", "path", loss.Path,
					"what", loss.What, "next", loss.Next)
			}
		}
	}
}

// warnings gives what the server could not mend.
func (f *homeFiles) warnings() []wire.Warning {
	all := f.head.warnings()
	kept := f.kept.Load()
	if kept == nil {
		return all
	}
	for _, loss := range kept.Found() {
		all = append(all, wire.Warning{Code: "HOME", Message: loss.String(), Next: loss.Next})
	}
	return all
}
