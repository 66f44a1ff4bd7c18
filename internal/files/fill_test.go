//go:build unix

package files

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"maestro/internal/disk"
)

// filled returns a directory with a scratch in it that is to fill the directory.
func filled(t *testing.T) (dir string, scratch *Scratch) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "home")
	must(t, os.Mkdir(dir, 0o755))
	must(t, os.Mkdir(filepath.Join(dir, LostAndFound), 0o700))
	scratch, err := NewScratch(dir, "salvage")
	must(t, err)
	if filepath.Dir(scratch.Path) != dir {
		t.Fatalf("the scratch is %s", scratch.Path)
	}
	must(t, os.Mkdir(filepath.Join(scratch.Path, "store"), 0o700))
	for _, name := range []string{"admin.token", "version", "store/block"} {
		must(t, os.WriteFile(filepath.Join(scratch.Path, name), []byte(name), 0o600))
	}
	return dir, scratch
}

func names(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

var errInjected = errors.New("injected")

// At whichever step a process is killed, the directory is vacant for the next process, or complete. A failure leaves
// nothing behind.
func TestDirectoryIsFilledAtomically(t *testing.T) {
	whole := []string{"admin.token", LostAndFound, "store", "version"}
	for step := 1; ; step++ {
		for _, killed := range []bool{true, false} {
			dir, scratch := filled(t)
			steps, dead := 0, false
			restore := disk.Inject(func(operation, path string) error {
				if operation == "rename" || operation == "sync" || operation == "chmod" {
					steps++
				}
				if dead = dead && killed || steps == step; dead {
					return errInjected
				}
				return nil
			})
			err := FillInPlace(scratch.Path, "store")
			restore()
			must(t, scratch.Release())
			if err == nil {
				must(t, os.RemoveAll(scratch.Path))
				if got := names(t, dir); step < 6 || !slices.Equal(got, whole) {
					t.Errorf("after %d steps: %q", steps, got)
				}
				return
			}
			if _, missing := os.Lstat(filepath.Join(dir, "store")); missing == nil {
				_, err := os.Lstat(filepath.Join(dir, "version"))
				if killed && err == nil { // everything is there; only the last sync failed
					continue
				}
				t.Errorf("step %d failed, but the directory has everything: %q", step, names(t, dir))
			}
			if there, err := Occupied(dir, "salvage"); err != nil || there != "" {
				t.Errorf("step %d, killed %t: the directory is not vacant, it has %q, %v", step, killed, there, err)
			}
			if left := names(t, dir); !killed && len(left) != 2 {
				t.Errorf("step %d failed and left %q", step, left)
			}
			removed, err := RemoveLeftovers(dir, "salvage")
			if err != nil || !slices.Equal(removed, []string{scratch.Path}) {
				t.Errorf("removed: %v, %v", removed, err)
			}
			if got := names(t, dir); !slices.Equal(got, []string{LostAndFound}) {
				t.Errorf("step %d, killed %t: left: %q", step, killed, got)
			}
		}
	}
}

// Files that somebody else put there stay, and nothing is added to them.
func TestOccupiedDirectoryIsNotFilled(t *testing.T) {
	dir, scratch := filled(t)
	must(t, os.WriteFile(filepath.Join(dir, "version"), []byte("theirs"), 0o600))
	if err := FillInPlace(scratch.Path, "store"); !errors.Is(err, os.ErrExist) {
		t.Errorf("got %v", err)
	}
	if there, err := Occupied(dir, "salvage"); err != nil || there != "version" {
		t.Errorf("occupied by %q, %v", there, err)
	}
	if err := FillInPlace(scratch.Path, "store", "version"); err == nil {
		t.Error("what is named as beside it is replaced")
	}
	must(t, scratch.Release())
	_, err := RemoveLeftovers(dir, "salvage")
	must(t, err)
	if content, err := os.ReadFile(filepath.Join(dir, "version")); err != nil || string(content) != "theirs" {
		t.Errorf("their file holds %q, %v", content, err)
	}
}
