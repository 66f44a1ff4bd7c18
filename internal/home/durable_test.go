package home

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"maestro/internal/files"
)

// TestNewHomeIsDurable: every directory that gets a new name is synced afterwards, so that the home survives a power
// cut.
func TestNewHomeIsDurable(t *testing.T) {
	top := t.TempDir()
	var synced []string
	syncDirectory = func(dir *os.File) error {
		entries, err := os.ReadDir(dir.Name())
		if err != nil {
			return err
		}
		for _, entry := range entries {
			synced = append(synced, filepath.Join(dir.Name(), entry.Name()))
		}
		return files.SyncNames(dir)
	}
	defer func() { syncDirectory = files.SyncNames }()
	dir := filepath.Join(top, "a", "b", "home")
	h, err := Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	for _, made := range []string{filepath.Join(top, "a"), filepath.Join(top, "a", "b"), dir} {
		if !slices.Contains(synced, made) {
			t.Errorf("%s is not durable: synced: %q", made, synced)
		}
	}
}
