package home

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestStoreHasNoLinks: a home is not served if any part of its store is a link to something. A link to nothing
// is reported when the target is opened, and the batches of a stream may be a link into memory.
func TestStoreHasNoLinks(t *testing.T) {
	streams := filepath.Join("store", "jetstream", "$G", "streams", "MAESTRO")
	for path, want := range map[string]bool{
		"store":                                   true,
		"store/jetstream":                         true,
		"store/jetstream/$G/streams":              true,
		streams:                                   true,
		filepath.Join(streams, "msgs"):            true,
		filepath.Join(streams, "msgs", "1.blk"):   true,
		filepath.Join(streams, "batches"):         false,
		filepath.Join(streams, "msgs", "batches"): true,
		"snapshots":                               false,
	} {
		h, err := Create(filepath.Join(t.TempDir(), "home"))
		if err != nil {
			t.Fatal(err)
		}
		elsewhere := filepath.Join(t.TempDir(), "elsewhere")
		err = errors.Join(
			os.MkdirAll(filepath.Join(h.Dir(), streams, "msgs"), 0o700),
			os.WriteFile(filepath.Join(h.Dir(), streams, "msgs", "1.blk"), []byte("x"), 0o600),
			os.MkdirAll(filepath.Join(h.Dir(), streams, "batches"), 0o700),
			os.MkdirAll(filepath.Join(h.Dir(), streams, "msgs", "batches"), 0o700),
			os.MkdirAll(filepath.Join(h.Dir(), "snapshots"), 0o700),
		)
		if err == nil {
			err = h.CheckStorePlace()
		}
		if err != nil {
			t.Fatal(err)
		}
		path = filepath.Join(h.Dir(), path)
		if err := errors.Join(os.Rename(path, elsewhere), os.Symlink(elsewhere, path)); err != nil {
			t.Fatal(err)
		}
		var found *ElsewhereError
		if err := h.CheckStorePlace(); errors.As(err, &found) != want {
			t.Errorf("%s is a link: %v", path, err)
		} else if want && (found.Path != path || found.LeadsTo != elsewhere) {
			t.Errorf("%s is a link, and the error is %v", path, err)
		}
		if err := os.RemoveAll(elsewhere); err != nil {
			t.Fatal(err)
		}
		if err := h.CheckStorePlace(); err != nil {
			t.Errorf("%s is a link to nothing: %v", path, err)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
}
