package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"maestro/api/client"
	"maestro/engine"
	"maestro/internal/oracle"
)

// judge lets the oracle judge a log, the server's or that of an export. It shares no code with what decides.
func (a *app) judge(ctx context.Context, file string) error {
	var log io.Reader
	var done func()
	var err error
	if file != "" {
		log, done, err = a.open(file)
	} else {
		log, done, err = a.exported(ctx, "", 0)
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
	verdict, err := oracle.Read(in)
	switch {
	case err != nil && file != "":
		return notAnExport(file, err)
	case err != nil:
		return cutShort(err)
	}
	if len(verdict.Faults) > 0 {
		var why strings.Builder
		for _, fault := range verdict.Faults {
			fmt.Fprintf(&why, "event %d: %s: %s\n", fault.Sequence, fault.Rule, fault.What)
		}
		return &failure{
			status: http.StatusInternalServerError, code: "AUDIT_FAILED",
			message: fmt.Sprintf("The log is against the documents: %s in %s", many(len(verdict.Faults), "fault"), many(int(verdict.Events), "event")),
			why:     strings.TrimRight(why.String(), "\n"),
			next:    "compare with a backup or an older export, and run `maestro audit verify`",
			details: map[string]any{"verdict": verdict},
		}
	}
	if file == "" {
		if err := a.checkTexts(ctx); err != nil {
			return err
		}
	}
	a.result(verdict, func() {
		a.print("Good: %s, %d of them judged by the documents alone, no fault\n", many(int(verdict.Events), "event"), verdict.Judged)
		if verdict.Withheld > 0 {
			a.field("Withheld", many(int(verdict.Withheld), "event")+" without bodies: their chain was checked, and not what they say")
		}
	})
	return nil
}

// checkTexts has the server hold its long texts against their digests: an export, which the oracle reads, has none.
func (a *app) checkTexts(ctx context.Context) error {
	found, err := look(ctx, a, (*client.Client).Texts)
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
	return &failure{
		status: http.StatusInternalServerError,
		code:   "AUDIT_FAILED",
		message: fmt.Sprintf(
			"%s of %d that the log names cannot be read", many(len(found.Lost)+found.LostMore, "long text"),
			found.Named,
		),
		why:     strings.TrimRight(why.String(), "\n"),
		next:    engine.FaultText.Next(),
		details: map[string]any{"lost": found.Lost, "lostMore": found.LostMore},
	}
}
