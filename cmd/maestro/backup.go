package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"maestro/bus"
	"maestro/engine"
	"maestro/events"
	"maestro/internal/home"
)

func (a *app) backupCommand() *cobra.Command {
	return &cobra.Command{
		Use: "backup FILE", Short: "Write the log and its texts into a new file, and no secrets", Args: takes("FILE"),
		Long: `Write the log and the long texts beside it into a new file, signed by the home's key, and read it back. The user's token and
the server's key stay where they are: a home that is made of the backup gets its own, so sessions of the old one must be spawned again to go on.

A long text that is lost does not stop the backup of the rest: the file is written, the text is named, and the exit code is 1.`,
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
			return a.wroteBackup(args[0], size)
		}),
	}
}

// wroteBackup reads back what was written, and says what it holds.
func (a *app) wroteBackup(file string, size int64) error {
	in, done, err := a.open(file)
	if err != nil {
		return err
	}
	defer done()
	contents, err := bus.ReadBackup(bufio.NewReader(in), bus.BackupVisitor{})
	if err == nil {
		err = contents.Unsealed
	}
	if err != nil {
		return &failure{
			status: http.StatusInternalServerError, code: "BACKUP_FAILED", err: err,
			message: "The file " + file + " was written and cannot be read back", next: "delete it, check the disk, and run it again",
		}
	}
	data := struct {
		File   string         `json:"file"`
		Bytes  int64          `json:"bytes"`
		Head   events.Head    `json:"head"`
		Signer string         `json:"signer"`
		Lost   []bus.LostBlob `json:"lost"`
	}{file, size, contents.Head, contents.Signer, append([]bus.LostBlob{}, contents.Lost...)}
	if len(contents.Lost) > 0 {
		return &failure{
			status: http.StatusInternalServerError, code: "BACKUP_PARTIAL",
			message: fmt.Sprintf("Wrote %s, which lacks %s that the log names", file, many(len(contents.Lost), "long text")),
			why:     lostTexts(contents.Lost), next: engine.FaultText.Next(), details: map[string]any{"backup": data},
		}
	}
	a.result(data, func() {
		a.print("Wrote %s, %d bytes\n", file, size)
		a.field("Head", contents.Head.String())
		a.field("Signer", contents.Signer)
	})
	return nil
}

// lostTexts has a line for each.
func lostTexts(lost []bus.LostBlob) string {
	var text strings.Builder
	for _, l := range lost {
		fmt.Fprintf(&text, "event %d: %s\n", l.Sequence, l.Why)
	}
	return strings.TrimRight(text.String(), "\n")
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
