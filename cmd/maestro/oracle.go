package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

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
		log, done, err = a.exported(ctx, "")
	}
	if err != nil {
		return err
	}
	defer done()
	verdict, err := oracle.Read(bufio.NewReader(log))
	if err != nil {
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
			next:    "keep the store as it is, and compare with a backup or an older export",
			details: map[string]any{"verdict": verdict},
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
