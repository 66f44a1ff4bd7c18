package guard

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"syscall"
	"time"

	"maestro/internal/home"
	"maestro/service/wire"
)

// FilesEvery is how often a running server checks the files of its home for changes.
const FilesEvery = time.Second

// Files preserves what the next start needs: the files of a home whose content the running server knows.
type Files struct {
	// InPlace fails when the home is no longer where it was; then nothing is written there.
	InPlace func() error
	// Head is the head file, at HeadPath.
	Head     HeadFile
	HeadPath string
	Logger   *slog.Logger

	kept atomic.Pointer[home.Kept] // nil until the server listens
}

// HeadFile says why the head file cannot be written; nil if it can.
type HeadFile interface{ Failed() error }

func (f *Files) headWarnings() []wire.Warning {
	err := f.Head.Failed()
	if err == nil {
		return nil
	}
	why := err.Error()
	var errno syscall.Errno
	if errors.As(err, &errno) { // otherwise it names the path by which the server holds the home
		why = errno.Error()
	}
	return []wire.Warning{{
		Code:    "HOME",
		Message: "the head file " + f.HeadPath + " cannot be written: " + why,
		Next: "make the file writable, or move away what is in its place; until then it does not show " +
			"whether the log lost what was acknowledged since",
	}}
}

// Keep records the files.
func (f *Files) Keep(lock *home.Lock) { f.kept.Store(lock.Keep()) }

// Run checks at every tick until its context ends, or the home is gone.
func (f *Files) Run(tick <-chan time.Time) func(context.Context) {
	return func(ctx context.Context) {
		for {
			select {
			case <-tick:
			case <-ctx.Done():
				return
			}
			if f.InPlace() != nil {
				return
			}
			for _, loss := range f.kept.Load().Look() {
				if loss.Restored {
					f.Logger.Warn("a file of the home was restored", "path", loss.Path, "what", loss.What,
						"next", loss.Next)
					continue
				}
				f.Logger.Error("a file of the home that the next start needs has changed", "path", loss.Path,
					"what", loss.What, "next", loss.Next)
			}
		}
	}
}

// Warnings returns what the server could not restore.
func (f *Files) Warnings() []wire.Warning {
	all := f.headWarnings()
	kept := f.kept.Load()
	if kept == nil {
		return all
	}
	for _, loss := range kept.Found() {
		all = append(all, wire.Warning{Code: "HOME", Message: loss.String(), Next: loss.Next})
	}
	return all
}
