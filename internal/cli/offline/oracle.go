package offline

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"maestro/api/client"
	"maestro/api/export"
	"maestro/engine"
	"maestro/internal/cli"
	"maestro/internal/failure"
	"maestro/internal/oracle"
)

// judgeLog makes the oracle judge a log, the server's or that of an export. The oracle shares no code with the
// decisions.
func judgeLog(ctx context.Context, a *cli.Run, file string) error {
	var log io.Reader
	var done func()
	var err error
	if file != "" {
		log, done, err = cli.OpenFile(a, file)
	} else {
		log, done, err = cli.ExportedLog(ctx, a, client.Exported{})
	}
	if err != nil {
		return err
	}
	defer done()
	in := bufio.NewReader(log)
	if file != "" {
		if err := mustBeExport(file, in, "the oracle"); err != nil {
			return err
		}
	}
	verdict, err := oracle.Read(export.Events(in))
	switch {
	case err != nil && file != "":
		return notAnExport(file, err)
	case err != nil:
		return cli.CutShort(err)
	}
	if len(verdict.Faults) > 0 {
		var why strings.Builder
		for _, fault := range verdict.Faults {
			fmt.Fprintf(&why, "event %d: %s: %s\n", fault.Sequence, fault.Rule, fault.What)
		}
		return &failure.Error{
			Code: failure.AuditFailed,
			Message: fmt.Sprintf(
				"The log breaks the documented rules: %s in %s",
				cli.Many(len(verdict.Faults), "fault"),
				cli.Many(int(verdict.Events), "event"),
			),
			Why:     strings.TrimRight(why.String(), "\n"),
			Next:    "compare with a backup or an older export, and run `maestro audit verify`",
			Details: map[string]any{"verdict": verdict},
		}
	}
	if file == "" {
		if err := checkTexts(ctx, a); err != nil {
			return err
		}
	}
	a.Result(verdict, func() {
		all := cli.Many(int(verdict.Events), "event")
		switch {
		case verdict.Events == 0:
			a.Print("The log is empty: there is nothing to judge\n")
		case verdict.Withheld > 0:
			a.Print("The chain is intact: %s, %d of them judged by the documents alone with no fault, the others not\n",
				all, verdict.Judged)
		default:
			a.Print("Good: %s, %d of them judged by the documents alone, no fault\n", all, verdict.Judged)
		}
		if verdict.Withheld > 0 {
			a.Field(
				"Withheld",
				cli.Many(
					int(verdict.Withheld),
					"event",
				)+" without bodies: their chain was checked, and not what they say",
			)
		}
	})
	return nil
}

// checkTexts makes the server verify its long texts against their digests: an export, which the oracle reads, has none.
func checkTexts(ctx context.Context, a *cli.Run) error {
	found, err := cli.Look(ctx, a, (*client.Client).Texts)
	if err != nil || len(found.Lost) == 0 {
		return err
	}
	var why strings.Builder
	for _, lost := range found.Lost {
		fmt.Fprintf(&why, "%s\n", lost)
	}
	if found.LostMore > 0 {
		fmt.Fprintf(&why, "and %d more\n", found.LostMore)
	}
	return &failure.Error{
		Code: failure.AuditFailed,
		Message: fmt.Sprintf(
			"%s of %d that the log names cannot be read", cli.Many(len(found.Lost)+found.LostMore, "long text"),
			found.Named,
		),
		Why:     strings.TrimRight(why.String(), "\n"),
		Next:    engine.FaultText.Next(),
		Details: map[string]any{"lost": found.Lost, "lostMore": found.LostMore},
	}
}
