package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"

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
	a.result(verdict, func() {
		a.print("%s, %d judged by the documents alone", many(int(verdict.Events), "event"), verdict.Judged)
		if verdict.Withheld > 0 {
			a.print(", %d withheld", verdict.Withheld)
		}
		a.print("\n")
		for _, fault := range verdict.Faults {
			a.print("  %6d  %s: %s\n", fault.Sequence, fault.Rule, fault.What)
		}
		if len(verdict.Faults) == 0 {
			a.print("No fault\n")
		}
	})
	if len(verdict.Faults) == 0 {
		return nil
	}
	return &failure{
		status: http.StatusInternalServerError, code: "FAULTS", shown: true,
		message: fmt.Sprintf("The oracle finds %s", many(len(verdict.Faults), "fault")),
	}
}
