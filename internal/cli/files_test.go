package cli

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

// The error about a file that cannot be written does not blame the server.
func TestWriteErrorsDoNotBlameServer(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "b.tar")
	broken := iotest.ErrReader(io.ErrUnexpectedEOF)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	sent := io.MultiReader(strings.NewReader("x"), broken)
	if e := explain(second(WriteNew(t.Context(), file, sent))); e.message != "The server's answer was cut short" {
		t.Errorf("a connection that breaks off gives %+v", e)
	}
	if _, err := WriteNew(ended, file, broken); !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupt gives %v", err)
	}
	if err := showExport(&Run{Printer: Printer{Stdout: full{}}}, strings.NewReader("x")); err == nil ||
		explain(err).message != "write to stdout: no space left on device" {
		t.Errorf("a full disk behind stdout gives %v", err)
	}
	if err := CutShort(context.Canceled); explain(err).code != "INTERRUPTED" {
		t.Errorf("an interrupt is reported as %v", err)
	}
	nowhere := filepath.Join(dir, "none", "b.tar")
	e := explain(second(WriteNew(t.Context(), nowhere, strings.NewReader("x"))))
	if e.message != "The file "+nowhere+" could not be written" || e.why != "no such file or directory" ||
		e.next == "" {
		t.Errorf("a missing directory gives %+v", e)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func second[T any](_ T, err error) error { return err }
