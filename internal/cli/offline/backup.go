package offline

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/bus"
	"maestro/engine"
	"maestro/events"
	"maestro/internal/cli"
	"maestro/internal/failure"
	"maestro/service/wire"
)

// backup is `maestro backup`.
type backup struct {
	*cli.Run
}

// NewBackup returns `maestro backup`.
func NewBackup(a *cli.Run) *cobra.Command {
	c := &backup{Run: a}
	return &cobra.Command{
		Use:   "backup <file>",
		Short: "Write the log and its texts, without secrets, to a new file",
		Args:  cli.Takes,
		Long: `Write the log and its long texts to a new file, sign it with the home's key,
and read it back. The backup does not contain the user's token or the server's
key: a home restored from it gets new ones, so you have to spawn its sessions
again.

A missing long text does not prevent the backup: the file contains everything
else and names the text, and the exit code is 8.`,
		RunE: cli.Running(c.run),
	}
}

func (c *backup) run(ctx context.Context, args []string) error {
	if err := cli.Absent(args[0]); err != nil {
		return err
	}
	server, err := c.Connect(ctx)
	if err != nil {
		return err
	}
	archive, err := server.Backup(ctx)
	var refused *client.Error
	if session := c.Getenv(wire.EnvSessionID); session != "" && errors.As(err, &refused) &&
		refused.Status == http.StatusForbidden {
		return &failure.Error{
			Code:    failure.NotAllowed,
			Message: "A backup is not allowed for session " + session,
			Why:     "it is for the user",
			Next:    "ask whoever runs the server",
			Err:     err,
		}
	}
	if err != nil {
		return err
	}
	defer func() { _ = archive.Close() }()
	size, err := cli.WriteNew(ctx, args[0], archive)
	if err != nil {
		return err
	}
	return wroteBackup(c.Run, args[0], size)
}

// wroteBackup reads a written backup back, and reports its content.
func wroteBackup(a *cli.Run, file string, size int64) error {
	in, done, err := cli.OpenFile(a, file)
	if err != nil {
		return err
	}
	defer done()
	contents, err := bus.ReadBackup(bufio.NewReader(in), bus.BackupVisitor{})
	if err == nil {
		err = contents.Unsealed
	}
	if err != nil {
		return &failure.Error{
			Status:  http.StatusInternalServerError,
			Code:    "BACKUP_FAILED",
			Err:     err,
			Message: "The file " + file + " was written, but cannot be read back",
			Next:    "delete it, check the disk, and run it again",
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
		return &failure.Error{
			Status:  http.StatusInternalServerError,
			Partial: true,
			Code:    "BACKUP_PARTIAL",
			Message: fmt.Sprintf(
				"Wrote %s, which lacks %s that the log names", file, cli.Many(len(contents.Lost), "long text"),
			),
			Why:     lostTexts(contents.Lost),
			Next:    engine.FaultText.Next(),
			Details: map[string]any{"backup": data},
		}
	}
	a.Result(data, func() {
		a.Print("Wrote %s, %d bytes\n", file, size)
		a.Field("Head", contents.Head.String())
		a.Field("Signer", contents.Signer)
	})
	return nil
}

// lostTexts returns a line for each.
func lostTexts(lost []bus.LostBlob) string {
	var text strings.Builder
	for _, l := range lost {
		fmt.Fprintf(&text, "event %d: %s\n", l.Sequence, l.Why)
	}
	return strings.TrimRight(text.String(), "\n")
}
