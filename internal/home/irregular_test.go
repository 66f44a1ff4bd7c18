//go:build unix

package home

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"maestro/internal/files"
)

// A session's process can replace the files of a home. A pipe in the place of a file blocks neither the server nor a
// command, and an endless file takes no memory.
func TestIrregularFilesOfAHome(t *testing.T) {
	long := func(path string) error {
		return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 1<<40))
	}
	pipe := func(path string) error { return unix.Mkfifo(path, 0o600) }
	for kind, put := range map[string]func(path string) error{"pipe": pipe, "long file": long} {
		t.Run(kind, func(t *testing.T) {
			h := made(t)
			lock := locked(t, h)
			for _, name := range []string{beatsFile, usesFile, versionFile, serverFile, toldFile} {
				if err := put(filepath.Join(h.Dir(), name)); err != nil {
					t.Fatal(err)
				}
			}
			for name, read := range map[string]func() error{
				beatsFile:   func() error { _, err := lock.Beats().Load(); return err },
				usesFile:    func() error { _, err := lock.Uses().Load(); return err },
				versionFile: func() error { _, err := h.Version(); return err },
				serverFile:  func() error { _, err := h.Server(); return err },
				toldFile:    func() error { _, err := h.Told("", ""); return err },
			} {
				var irregular *files.IrregularError
				if err := read(); !errors.As(err, &irregular) {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
	t.Run("what is written", func(t *testing.T) {
		h := made(t)
		for _, name := range []string{beatsFile, ".uses.new", ".told.new", lockFile} {
			if err := pipe(filepath.Join(h.Dir(), name)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := h.Lock(); err == nil || h.Running() {
			t.Error("a pipe was accepted as the lock")
		}
		if err := os.Remove(filepath.Join(h.Dir(), lockFile)); err != nil {
			t.Fatal(err)
		}
		lock := locked(t, h)
		if err := lock.Beats().Add("sess_a"); err == nil {
			t.Error("a heartbeat was written to a pipe")
		}
		err := errors.Join(lock.Uses().Save([]byte("{}")), h.Tell("", "", 7), lock.Beats().Keep([]string{"sess_b"}))
		if err != nil {
			t.Error(err)
		}
		if err := lock.Beats().Add("sess_c"); err != nil {
			t.Error(err)
		}
		if beats, err := lock.Beats().Load(); err != nil || len(beats) != 2 {
			t.Errorf("%v, %v", beats, err)
		}
	})
	t.Run("a session's directory that is a link", func(t *testing.T) {
		h := made(t)
		if err := h.PlaceManifest("sess_a", []byte("{}")); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("sess_a", filepath.Join(h.Dir(), "sessions", "sess_b")); err != nil {
			t.Fatal(err)
		}
		if err := h.PlaceManifest("sess_b", []byte("[]")); err == nil {
			t.Error("the manifest was written through the link")
		}
		if content, err := os.ReadFile(h.ManifestPath("sess_a")); err != nil || string(content) != "{}" {
			t.Errorf("%q, %v", content, err)
		}
	})
}
