package preflight

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A directory that was opened stays the same one, and none is opened through a link.
func TestHold(t *testing.T) {
	w := newWorld(t)
	h, err := hold(w.opts.Target)
	if err != nil {
		t.Fatal(err)
	}
	defer h.close()
	elsewhere := w.mkdir("elsewhere")
	if err := errors.Join(os.Rename(w.opts.Target, w.opts.Target+".old"), os.Symlink(elsewhere, w.opts.Target),
		openUp(h.path())); err != nil {
		t.Fatal(err)
	}
	w.mkdir("elsewhere/below")
	for path, want := range map[string]os.FileMode{w.opts.Target + ".old": fixedMode, elsewhere: ownMode} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	for _, path := range []string{w.opts.Target, filepath.Join(w.opts.Target, "below")} {
		if h, err := hold(path); err == nil {
			t.Errorf("%s was opened through a link", path)
			h.close()
		}
	}
}
