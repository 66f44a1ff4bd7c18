package bus

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The store is reached through an open directory, but its errors name the path that people know.
func TestErrorsNameThePathOfTheStore(t *testing.T) {
	dir, err := os.Open(t.TempDir())
	must(t, err)
	defer func() { _ = dir.Close() }()
	must(t, os.Mkdir(filepath.Join(dir.Name(), "d"), 0o700), os.WriteFile(filepath.Join(dir.Name(), "f"),
		[]byte("long"), 0o600))
	held := fmt.Sprintf("/proc/self/fd/%d/", dir.Fd())
	_, opening := openFile(held + "d")
	_, missing := openFile(held + "none")
	_, reading := readFile(held+"f", 2)
	for _, err := range []error{opening, missing, reading} {
		if err == nil || !strings.Contains(err.Error(), dir.Name()) || strings.Contains(err.Error(), "/proc/") {
			t.Errorf("%v", err)
		}
	}
}
