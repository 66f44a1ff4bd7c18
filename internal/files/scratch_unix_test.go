//go:build unix

package files

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Scratch files of killed processes are removed. Those that a process holds stay, and so do files with another name or
// of another kind.
func TestLeftoversOfAKilledProcess(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ho[m]e")
	held, err := NewScratch(path, "salvage")
	must(t, err)
	killed, err := NewScratch(path, "salvage")
	must(t, err)
	must(t, os.WriteFile(filepath.Join(killed.Path, "server.key"), []byte("secret"), 0o600))
	must(t, killed.Release()) // as when the process ends
	var others []string
	for _, name := range []string{
		".ho[m]e.salvage-", ".ho[m]e.salvage-1x", ".ho[m]e.restore-1", ".home.salvage-1", "salvage-1",
	} {
		others = append(others, filepath.Join(dir, name))
		must(t, os.Mkdir(filepath.Join(dir, name), 0o700))
	}
	link, file := filepath.Join(dir, ".ho[m]e.salvage-2"), filepath.Join(dir, ".ho[m]e.salvage-3")
	must(t, os.Symlink(others[0], link))
	must(t, os.WriteFile(file, nil, 0o600))
	if left, err := Leftovers(path, "salvage"); err != nil || !slices.Equal(left, []string{killed.Path}) {
		t.Errorf("left: %v, %v", left, err)
	}
	if removed, err := RemoveLeftovers(path, "salvage"); err != nil || !slices.Equal(removed, []string{killed.Path}) {
		t.Errorf("removed: %v, %v", removed, err)
	}
	if _, err := os.Lstat(killed.Path); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
	for _, stays := range append(others, held.Path, link, file) {
		if _, err := os.Lstat(stays); err != nil {
			t.Errorf("it is gone: %v", err)
		}
	}
	must(t, held.Release())
	if removed, err := RemoveLeftovers(path, "salvage"); err != nil || !slices.Equal(removed, []string{held.Path}) {
		t.Errorf("removed: %v, %v", removed, err)
	}
	if removed, err := RemoveLeftovers(filepath.Join(dir, "none", "home"), "salvage"); err != nil || removed != nil {
		t.Errorf("removed: %v, %v", removed, err)
	}
}
