package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The error about a denied file does not show a path that leads through an open file.
func TestPathsThroughOpenFilesAreNotShown(t *testing.T) {
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dir.Close() }()
	held, want := fmt.Sprintf("/proc/self/fd/%d/a", dir.Fd()), filepath.Join(dir.Name(), "a")
	var denied *DeniedError
	if err := Explain(held, ToChange, fs.ErrPermission); !errors.As(err, &denied) ||
		strings.Contains(err.Error(), "/proc/self") || !strings.Contains(err.Error(), want) {
		t.Errorf("%v", err)
	}
}
