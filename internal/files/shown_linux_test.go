package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"maestro/internal/disk"
)

// A path that leads through an open file means nothing to who reads a message.
func TestPathsThroughOpenFilesAreNotShown(t *testing.T) {
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dir.Close() }()
	held := fmt.Sprintf("/proc/self/fd/%d", dir.Fd())
	want := filepath.Join(dir.Name(), "a")
	if got := Shown("open " + held + "/a: no"); got != "open "+want+": no" {
		t.Errorf("%q", got)
	}
	if _, err := disk.Open(held + "/a"); err == nil || strings.Contains(err.Error(), "/proc/self") ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("%v", err)
	}
	if err := disk.Rename(held+"/a", held+"/b"); err == nil || strings.Contains(err.Error(), "/proc/self") {
		t.Errorf("%v", err)
	}
	var denied *DeniedError
	if err := Explain(held+"/a", ToChange, fs.ErrPermission); !errors.As(err, &denied) ||
		strings.Contains(err.Error(), "/proc/self") || !strings.Contains(err.Error(), want) {
		t.Errorf("%v", err)
	}
}
