package cli

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"maestro/internal/failure"
)

// full is an output that takes nothing.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// Whatever a command shows, also help and what it has found to be wrong, it fails if that cannot be written.
func TestOutputThatCannotBeWritten(t *testing.T) {
	said := Noun{"found", func(a *Run) *cobra.Command {
		return &cobra.Command{Use: "found", RunE: Running(func(context.Context, []string) error {
			a.Print("something is wrong\n")
			return &failure.Error{Partial: true, Shown: true}
		})}
	}}
	for _, line := range []string{
		"--help", "task list --help", "help task", "task", "completion bash", "version", "--version", "found",
		"found --json",
	} {
		var stderr bytes.Buffer
		code := Main(t.Context(), strings.Fields(line), []string{"HOME=" + t.TempDir()}, strings.NewReader(""), full{},
			&stderr, said)
		if code != ExitFailed || !strings.Contains(stderr.String(), "write to stdout: no space left on device") {
			t.Errorf("%s: %d %q", line, code, stderr.String())
		}
	}
}
