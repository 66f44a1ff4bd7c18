package preflight

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// An agent that chooses the target learns nothing about what is outside of its bounds.
func TestOneAnswerOutside(t *testing.T) {
	w := newWorld(t)
	w.opts.UserHome, w.opts.Within = w.dir, []string{w.opts.Target}
	w.mkdir(".ssh")
	w.mkdir("other")
	if err := errors.Join(os.WriteFile(filepath.Join(w.dir, ".ssh", "key"), nil, 0o600),
		os.Symlink("/", filepath.Join(w.dir, ".ssh", "root"))); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(w.opts.Target, "link")
	said := map[string]string{}
	for _, to := range []string{
		filepath.Join(w.dir, ".ssh"), filepath.Join(w.dir, ".ssh", "key"), filepath.Join(w.dir, ".ssh", "none"),
		filepath.Join(w.dir, ".ssh", "key", "below"), filepath.Join(w.dir, ".ssh", "root"), "../other", "../none",
		filepath.Join(w.dir, "home"), filepath.Join(w.dir, "home", "none"), "/", "/none", "/etc/passwd",
	} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
		opts := w.opts
		opts.Target = link
		_, err := Prepare(opts)
		var failed *Failure
		if !errors.As(err, &failed) {
			t.Fatalf("%s: %v", to, err)
		}
		said[string(failed.Check)+failed.Path+failed.Message+failed.Fix] = to
		w.foretold(Target(opts), err)
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
	}
	if len(said) != 1 {
		t.Errorf("the answers differ: %q", said)
	}
	// Whether a way there and back exists is not told either.
	for _, name := range []string{".ssh", "none"} {
		back := w.dir + "/" + name + "/../target"
		if err := os.Symlink(back, link); err != nil {
			t.Fatal(err)
		}
		opts := w.opts
		opts.Target = link
		if d, err := Prepare(opts); err != nil || d.Target != w.opts.Target {
			t.Errorf("%s: %+v, %v", back, d, err)
		}
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
	}
}

// A place is known also of what does not exist, and links that lead to each other end.
func TestResolved(t *testing.T) {
	dir := newWorld(t).dir
	for link, to := range map[string]string{
		"relative": "target/none", "absolute": filepath.Join(dir, "relative"), "a": "b", "b": "a", "up": "target/..",
	} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		"target": "target", "none/x": "none/x", "relative/x": "target/none/x", "absolute": "target/none",
		"up/up/target": "target", "a/x": "a/x",
	} {
		for _, byText := range []bool{false, true} {
			if got := resolved(filepath.Join(dir, path), byText); got != filepath.Join(dir, want) {
				t.Errorf("%s leads to %s, not %s", path, got, want)
			}
		}
	}
}
