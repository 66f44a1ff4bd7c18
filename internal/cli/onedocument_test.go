package cli

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
)

// A run that fails after its answer prints no second document: the error goes to stderr.
func TestOneDocument(t *testing.T) {
	for _, answered := range []bool{false, true} {
		var stdout, stderr bytes.Buffer
		p := &Printer{Stdout: &stdout, Stderr: &stderr, JSON: true}
		if answered {
			p.Result("done", nil)
		}
		p.complain(errors.New("the lock cannot be removed"))
		if n := strings.Count(stdout.String(), "\n"); n != 1 {
			t.Errorf("answered %t: %d documents: %s", answered, n, stdout.String())
		}
		if said := strings.Contains(stderr.String(), "the lock"); said != answered {
			t.Errorf("answered %t: stderr is %q", answered, stderr.String())
		}
	}
}

// Ctrl-C gives exit code 130, wherever it was noticed.
func TestInterrupted(t *testing.T) {
	for _, err := range []error{
		context.Canceled,
		errors.Join(errors.New("read the answer"), context.Canceled),
	} {
		if code := exitCode(err); code != ExitInterrupted {
			t.Errorf("%v: exit code %d", err, code)
		}
		if code := explain(err).code; code != "INTERRUPTED" {
			t.Errorf("%v: %s", err, code)
		}
	}
}
