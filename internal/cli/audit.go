package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/internal/failure"
	"maestro/internal/safetext"
)

// NewAudit returns the noun audit; more are verbs that need more than a server.
func NewAudit(a *Run, more ...*cobra.Command) *cobra.Command {
	verbs := append(more, newAuditHead(a), newAuditExport(a), newAuditDenials(a), newAuditLimits(a), newAuditCan(a))
	return a.group("audit", "Inspect, export and verify the log", verbs...)
}

// auditHead is `maestro audit head`.
type auditHead struct {
	*Run
}

func newAuditHead(a *Run) *cobra.Command {
	c := &auditHead{Run: a}
	return Tell(&cobra.Command{
		Use:   "head",
		Short: "Show the log's head, which you can keep elsewhere as a witness",
		Args:  Takes,
		RunE:  Running(c.run),
	}, "audit:head")
}

func (c *auditHead) run(ctx context.Context, _ []string) error {
	head, err := Look(ctx, c.Run, (*client.Client).Head)
	if err != nil {
		return err
	}
	c.Result(head, func() { c.Print("%s\n", head) })
	return nil
}

// auditExport is `maestro audit export`.
type auditExport struct {
	*Run
	project string
}

func newAuditExport(a *Run) *cobra.Command {
	c := &auditExport{Run: a}
	cmd := &cobra.Command{
		Use:   "export [<file>]",
		Short: "Write the log, one event per line, without its long texts",
		Args:  Takes,
		RunE:  Running(c.run),
	}
	cmd.Flags().StringVar(&c.project, "project", "",
		"only this project's events, without the bodies of others; the chain still verifies")
	ValueName(cmd, "project", "<projectId>")
	return Tell(cmd, "audit:export", "project")
}

func (c *auditExport) run(ctx context.Context, args []string) error {
	file := At(args, 0)
	shown := file == "" || file == "-"
	if shown && c.JSON && c.format != "jsonl" {
		return failure.Usage("An export is a JSON document per event, not one").
			WithNext("name a file, or use -o jsonl")
	}
	if !shown { // before the server begins to send it
		if err := Absent(file); err != nil {
			return err
		}
	}
	log, done, err := ExportedLog(ctx, c.Run, c.project, 0)
	if err != nil {
		return err
	}
	defer done()
	if shown {
		return showExport(c.Run, log)
	}
	size, err := WriteNew(ctx, file, log)
	if err != nil {
		return err
	}
	wroteFile(c.Run, file, size)
	return nil
}

// showExport writes an export to stdout: unchanged, or to a terminal with escapes for control characters. An escape in
// JSON does not change the value.
func showExport(a *Run, log io.Reader) error {
	if !a.terminal() {
		if _, err := io.Copy(a.Stdout, log); err != nil {
			return CutShort(err)
		}
		return nil
	}
	lines := bufio.NewReader(log)
	for {
		line, err := lines.ReadBytes('\n')
		a.write(safetext.EscapeJSON(line))
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return CutShort(err)
		case a.broken != nil:
			return nil
		}
	}
}

// ExportedLog reads the log from the server: up to an event, or with 0 the whole log, which a server with a damaged log
// refuses.
func ExportedLog(ctx context.Context, a *Run, project string, to uint64) (log io.Reader, done func(), err error) {
	c, err := a.Connect(ctx)
	if err != nil {
		return nil, nil, err
	}
	stream, err := c.Export(ctx, project, to)
	if err != nil {
		return nil, nil, err
	}
	return stream, func() { _ = stream.Close() }, nil
}

// CutShort returns the error for an answer that ends before it is complete.
func CutShort(err error) error {
	return &failure.Error{
		Status:  http.StatusInternalServerError,
		Code:    "CUT",
		Message: "The server's answer was cut short",
		Err:     err,
		Next:    "run `maestro audit verify`; if the log is not damaged, try again",
	}
}

func wroteFile(a *Run, file string, size int64) {
	data := struct {
		File  string `json:"file"`
		Bytes int64  `json:"bytes"`
	}{file, size}
	a.Result(data, func() { a.Print("Wrote %s, %d bytes\n", file, size) })
}
