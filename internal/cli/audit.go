package cli

import (
	"bufio"
	"bytes"
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
	verbs := append(
		more, newAuditHead(a), newAuditExport(a), newAuditDenials(a), newAuditLimits(a), newAuditCan(a),
		newAuditRedact(a),
	)
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
	of client.Exported
}

func newAuditExport(a *Run) *cobra.Command {
	c := &auditExport{Run: a}
	cmd := &cobra.Command{
		Use:   "export [<file>]",
		Short: "Write the log, or one project's part of it, one event per line",
		Args:  Takes,
		Long: `Write the log to a file that can be verified without a server, one event per
line: "event" is the CloudEvent, byte for byte as the log has it.

With --project, the events of that project are whole, and all others are three
hashes: they say nothing of other projects, and the chain still verifies.

An export has the long texts only with --texts: then "maestro import" makes an
identical server from an export of the whole log. If the server has lost a
text, the file says so and has everything else, and the exit code is 8.`,
		RunE: Running(c.run),
	}
	cmd.Flags().StringVar(&c.of.Project, "project", "",
		"only this project's events, without the bodies of others; the chain still verifies")
	ValueName(cmd, "project", "<projectId>")
	cmd.Flags().BoolVar(&c.of.Texts, "texts", false, "also the long texts that the events name, after the events")
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
	sent, done, err := ExportedLog(ctx, c.Run, c.of)
	if err != nil {
		return err
	}
	defer done()
	var lost lostTexts
	log := io.TeeReader(sent, &lost)
	if shown {
		if err := showExport(c.Run, log); err != nil {
			return err
		}
		return lost.reported("The export")
	}
	size, err := WriteNew(ctx, file, log)
	if err != nil {
		return err
	}
	if err := lost.reported("Wrote " + file + ", which"); err != nil {
		return err
	}
	wroteFile(c.Run, file, size)
	return nil
}

// lostTexts counts the lines of an export that say that a long text is lost. It looks only at their beginnings.
type lostTexts struct {
	line []byte
	lost int
}

// lostLine is how such a line begins. A digest follows, and then lostMark.
const (
	lostLine = `{"text":"sha256-`
	lostMark = `","lost":`
	lostAt   = len(lostLine) + 64
)

func (l *lostTexts) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n')
		part := rest
		if end >= 0 {
			part = rest[:end]
		}
		if missing := lostAt + len(lostMark) - len(l.line); missing > 0 {
			l.line = append(l.line, part[:min(missing, len(part))]...)
		}
		if end < 0 {
			break
		}
		if bytes.HasPrefix(l.line, []byte(lostLine)) && bytes.HasSuffix(l.line, []byte(lostMark)) {
			l.lost++
		}
		l.line, rest = l.line[:0], rest[end+1:]
	}
	return len(p), nil
}

// reported returns the error that an export lacks texts; nil if it does not.
func (l *lostTexts) reported(what string) error {
	if l.lost == 0 {
		return nil
	}
	return &failure.Error{
		Status:  http.StatusInternalServerError,
		Partial: true,
		Code:    "EXPORT_PARTIAL",
		Message: what + " lacks " + Many(l.lost, "long text") + " that the log names",
		Why:     "the server has lost them",
		Next:    "see which with `maestro audit verify`; everything else is in the export",
	}
}

// showExport writes an export to stdout: unchanged, or to a terminal with escapes for control characters. An escape in
// JSON does not change the value.
func showExport(a *Run, log io.Reader) error {
	if !a.terminal() {
		sent := &reading{in: log}
		_, err := io.Copy(a.Stdout, sent)
		switch {
		case err == nil:
			return nil
		case sent.err != nil:
			return CutShort(err)
		}
		return writeFailed(err)
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

// ExportedLog reads the log, or a part of it, from the server.
func ExportedLog(ctx context.Context, a *Run, of client.Exported) (log io.Reader, done func(), err error) {
	c, err := a.Connect(ctx)
	if err != nil {
		return nil, nil, err
	}
	stream, err := c.Export(ctx, of)
	if err != nil {
		return nil, nil, err
	}
	return stream, func() { _ = stream.Close() }, nil
}

// CutShort returns the error for an answer that ends before it is complete; an interrupt needs no other.
func CutShort(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
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
