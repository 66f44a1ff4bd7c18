package doctor

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"maestro/internal/cli"
)

// An interrupted examination finds nothing: it ends as any interrupted command does.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr bytes.Buffer
	code := cli.Main(ctx, []string{"doctor"}, []string{"HOME=" + t.TempDir()}, strings.NewReader(""), &stdout, &stderr,
		cli.Noun{Name: "doctor", New: New})
	if code != cli.ExitInterrupted || stdout.Len() > 0 || !strings.Contains(stderr.String(), "Interrupted") {
		t.Errorf("%d %q %q", code, stdout.String(), stderr.String())
	}
}
