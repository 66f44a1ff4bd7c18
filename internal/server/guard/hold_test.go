//go:build unix

package guard

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"maestro/internal/failure"
)

// A directory that a killed salvage was to fill is not a home: no log is started there, and nothing is written.
func TestHalfSalvagedHomeIsNotHeld(t *testing.T) {
	dir := t.TempDir()
	left := filepath.Join(dir, ".salvage-4711")
	if err := errors.Join(os.Chmod(dir, 0o700), os.Mkdir(left, 0o700)); err != nil {
		t.Fatal(err)
	}
	var refused *failure.Error
	if _, err := Hold(dir); !errors.As(err, &refused) || refused.HTTPStatus() != http.StatusConflict {
		t.Errorf("got %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the home has %v, %v", entries, err)
	}
	if err := os.Mkdir(filepath.Join(dir, "store"), 0o700); err != nil { // it is moved last: everything is there
		t.Fatal(err)
	}
	lock, err := Hold(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(lock.Release(), lock.Close()); err != nil {
		t.Error(err)
	}
}
