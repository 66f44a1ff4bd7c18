package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"maestro/bus"
	"maestro/commands"
	"maestro/events"
	"maestro/internal/home"
)

func (a *app) backupCommand() *cobra.Command {
	return &cobra.Command{
		Use: "backup FILE", Short: "Write the log and its texts into a new file, and no secrets", Args: takes("FILE"),
		Long: `Write the log and the long texts beside it into a new file. The user's token and the server's key stay where they are: a home that
is made of the backup gets its own, so sessions of the old one must be spawned again to go on.`,
		RunE: running(func(ctx context.Context, args []string) error {
			if err := absent(args[0]); err != nil {
				return err
			}
			c, err := a.connect(ctx)
			if err != nil {
				return err
			}
			defer c.Close()
			archive, err := c.Stream(ctx, "/api/backup", nil)
			if err != nil {
				return err
			}
			defer func() { _ = archive.Close() }()
			size, err := writeNew(args[0], archive)
			if err != nil {
				return err
			}
			a.wroteFile(args[0], size)
			return nil
		}),
	}
}

// absent refuses a file that is there already.
func absent(file string) error {
	if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return exists(file)
}

func exists(file string) error {
	return &failure{
		status: http.StatusConflict, code: "CONFLICT", message: "The file " + file + " is there already, and nothing is overwritten",
		next: "choose another name, or move it away",
	}
}

// writeNew writes a new file that only this user can read: whole, durably, or not at all.
func writeNew(file string, from io.Reader) (size int64, err error) {
	if err := absent(file); err != nil {
		return 0, err
	}
	f, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*") // 0600
	if err != nil {
		var path *fs.PathError
		if errors.As(err, &path) {
			err = path.Err // the name of the temporary file says nothing to anybody
		}
		return 0, fmt.Errorf("write %s: %w", file, err)
	}
	defer func() { _ = os.Remove(f.Name()) }()
	size, err = io.Copy(f, from)
	if err != nil {
		_ = f.Close()
		return 0, cutShort(err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return 0, fmt.Errorf("write %s: %w", file, err)
	}
	// A link fails where a rename would overwrite.
	err = os.Link(f.Name(), file)
	switch {
	case errors.Is(err, fs.ErrExist):
		return 0, exists(file)
	case err != nil: // a file system without links
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return 0, fmt.Errorf("write %s: %w", file, err)
	}
	return size, nil
}

func (a *app) restoreCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use: "restore FILE", Short: "Make an empty home out of a backup; no server may hold it", Args: takes("FILE"),
		RunE: running(func(ctx context.Context, args []string) error {
			if dir == "" {
				var err error
				if dir, err = home.Path(a.getenv); err != nil {
					return err
				}
			}
			return a.restore(ctx, args[0], dir)
		}),
	}
	cmd.Flags().StringVar(&dir, "home", "", "the home; else MAESTRO_HOME, else ~/.maestro")
	return cmd
}

func (a *app) restore(ctx context.Context, file, dir string) error {
	archive, done, err := a.open(file)
	if err != nil {
		return err
	}
	defer done()
	lock, err := holdHome(dir)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Release() }()
	for _, path := range []string{lock.Store(), lock.Head(), lock.Snapshots()} {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return &failure{
				status: http.StatusConflict, code: "CONFLICT", message: "The home " + dir + " is not empty: it has " + path,
				why: "a backup is restored into an empty home, so that nothing is lost", next: "choose another with --home, or move this one away",
			}
		}
	}
	verifier := commands.NewVerifier()
	judging := true
	head, err := bus.Restore(ctx, archive, lock.Store(), func(m events.Message, _ events.Hash) error {
		judging = judging && verifier.Event(m)
		return nil
	})
	if err != nil {
		return &failure{status: http.StatusUnprocessableEntity, code: "RESTORE_FAILED", message: "The backup could not be restored", err: err}
	}
	verdict, err := verifier.Verdict()
	if err != nil {
		return err
	}
	for _, fault := range verdict.Faults {
		a.say("maestro: warning: event %d: %s\n", fault.Sequence, fault.What)
	}
	data := struct {
		Home   string           `json:"home"`
		Head   events.Head      `json:"head"`
		Faults []commands.Fault `json:"faults"`
	}{dir, head, verdict.Faults}
	a.result(data, func() {
		a.print("Restored %s into %s, head %s\n", many(int(head.Sequence), "event"), dir, head)
		a.print("It has a new token and a new key: the secrets of its sessions count no longer\n")
	})
	return nil
}

// holdHome makes the home if there is none, and takes it.
func holdHome(dir string) (*home.Lock, error) {
	h, err := home.Create(dir)
	if err != nil {
		return nil, err
	}
	lock, err := h.Lock()
	var held *home.HeldError
	if errors.As(err, &held) {
		return nil, &failure{
			status: http.StatusConflict, code: "CONFLICT", message: held.Error(), err: err,
			why: "one home has one server", next: "stop the other, or choose another home with MAESTRO_HOME",
			details: map[string]any{"pid": held.PID, "address": held.Address},
		}
	}
	return lock, err
}
