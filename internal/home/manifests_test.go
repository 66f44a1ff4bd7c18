package home

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"maestro/internal/disk"
)

func TestPlaceManifest(t *testing.T) {
	h := made(t)
	for _, content := range []string{"first", "second"} {
		if err := h.PlaceManifest("sess_a", []byte(content)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(h.ManifestPath("sess_a")); err != nil || string(got) != content {
			t.Errorf("got %q, %v", got, err)
		}
	}
	for path, mode := range map[string]fs.FileMode{
		h.ManifestPath("sess_a"): 0o600, filepath.Dir(h.ManifestPath("sess_a")): 0o700, filepath.Join(h.Dir(),
			sessionsDir): 0o700,
	} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	if err := h.PlaceManifest("../../out", []byte("x")); err == nil {
		t.Error("a manifest was written outside the home")
	}
}

// A copy can be made again, so a spawn does not wait for the disk.
func TestPlaceManifestDoesNotWaitForTheDisk(t *testing.T) {
	h := made(t)
	synced := 0
	restore := disk.Inject(func(operation, _ string) error {
		if operation == "sync" {
			synced++
		}
		return nil
	})
	defer restore()
	if err := h.PlaceManifest("sess_a", []byte("content")); err != nil || synced > 0 {
		t.Errorf("%v, after %d syncs", err, synced)
	}
}

// If a manifest cannot be put in place, nothing is left beside the existing one.
func TestPlaceManifestFails(t *testing.T) {
	h := made(t)
	if err := os.MkdirAll(filepath.Join(h.ManifestPath("sess_a"), "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := h.PlaceManifest("sess_a", []byte("x")); err == nil {
		t.Error("the manifest replaced a directory")
	}
	assertAlone(t, h)
}

// The server and a command may write the same manifest at once: a reader always gets one of the two, complete.
func TestPlaceManifestAtOnce(t *testing.T) {
	h := made(t)
	var contents [][]byte
	for i := range 4 {
		contents = append(contents, bytes.Repeat([]byte{'a' + byte(i)}, 1<<20>>i))
	}
	var writers, reader sync.WaitGroup
	stop := make(chan struct{})
	reader.Go(func() {
		for {
			got, err := os.ReadFile(h.ManifestPath("sess_a"))
			if err == nil && !slices.ContainsFunc(contents, func(c []byte) bool { return bytes.Equal(c, got) }) {
				t.Errorf("a manifest of %d bytes is not one of those that were written", len(got))
				return
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Error(err)
				return
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	for _, content := range contents {
		writers.Go(func() {
			for range 10 {
				if err := h.PlaceManifest("sess_a", content); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	close(stop)
	reader.Wait()
	assertAlone(t, h)
}

func assertAlone(t *testing.T, h *Home) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(h.ManifestPath("sess_a")))
	if err != nil || len(entries) != 1 {
		t.Errorf("beside the manifest there is %v, %v", entries, err)
	}
}
