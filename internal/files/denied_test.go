package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The operating system reports a directory denied by an attribute and one denied by its mode in the same way: only the
// mode distinguishes them.
func TestAttributeIsNotMistakenForMode(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	for mode, want := range map[fs.FileMode]string{0o700: "lsattr -d", 0o500: "chmod u+rwx " + dir} {
		if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700), os.Chmod(dir, mode)); err != nil {
			t.Fatal(err)
		}
		permits = func(path string, _, _, _ bool) bool { return path != dir }
		t.Cleanup(func() { permits = allowed })
		var denied *DeniedError
		if err := Explain(filepath.Join(dir, "a"), ToChange, fs.ErrPermission); !errors.As(err, &denied) ||
			!strings.Contains(denied.Next, want) || !strings.Contains(denied.Next, dir) {
			t.Errorf("%o: %v", mode, err)
		}
	}
}
