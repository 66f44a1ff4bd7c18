//go:build unix

package preflight

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// nobody is a user without rights. Root may read and write everything, so its tests run as this one.
const nobody = 65534

// asNobody runs the rest of a test as a user other than root, and reports whether this process is to do it itself.
func asNobody(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		return true
	}
	dir, err := os.MkdirTemp("/tmp", "preflight")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	program := filepath.Join(dir, "test")
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(own)
	if err == nil {
		err = os.WriteFile(program, content, 0o755)
	}
	if err := errors.Join(err, os.Chmod(dir, 0o777)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.run", "^"+t.Name()+"$", "-test.v")
	cmd.Dir, cmd.Env = dir, []string{"TMPDIR=" + dir, "HOME=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("as another user: %v\n%s", err, out)
	}
	return false
}

// TestChmodFallback shows that permissions are changed in the workspace, in the target only on request, and never
// through a link; and that what is still closed is a PermissionError for a person.
func TestChmodFallback(t *testing.T) {
	if !asNobody(t) {
		return
	}
	closed := func(w *world, name string) string {
		path := w.mkdir(name)
		inner := filepath.Join(path, "inner")
		if err := os.Mkdir(inner, 0o700); err != nil {
			t.Fatal(err)
		}
		outside := filepath.Join(w.dir, "outside")
		if err := os.WriteFile(outside, nil, 0o400); err != nil && !errors.Is(err, fs.ErrPermission) {
			t.Fatal(err)
		}
		if err := errors.Join(os.Symlink(outside, filepath.Join(path, "link")), os.Chmod(inner, 0),
			os.Chmod(path, 0)); err != nil {
			t.Fatal(err)
		}
		w.t.Cleanup(func() { _ = openUp(path) })
		return path
	}
	mode := func(path string) fs.FileMode {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode().Perm()
	}
	t.Run("workspace", func(t *testing.T) {
		w := newWorld(t)
		path := closed(w, "workspaces/sess_1")
		if _, err := Prepare(w.opts); err != nil {
			t.Fatal(err)
		}
		if mode(path) != 0o755 || mode(filepath.Join(path, "inner")) != 0o755 {
			t.Errorf("the modes are %o and %o", mode(path), mode(filepath.Join(path, "inner")))
		}
		if got := mode(filepath.Join(w.dir, "outside")); got != 0o400 {
			t.Errorf("a file outside has mode %o", got)
		}
	})
	for _, fix := range []bool{false, true} {
		t.Run(map[bool]string{false: "target", true: "target, with permission"}[fix], func(t *testing.T) {
			w := newWorld(t)
			w.opts.FixPermissions, w.opts.Command = fix, "worker init"
			w.opts.Target = closed(w, "closed")
			_, err := Prepare(w.opts)
			if fix {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var failed *Failure
			var permission *PermissionError
			if !errors.As(err, &failed) || failed.Check != CheckPermissions || !errors.As(err, &permission) ||
				!strings.Contains(failed.Fix, "chmod -R u+rwX "+w.opts.Target) ||
				!strings.HasSuffix(failed.Fix, "with `worker init --fix-permissions`") {
				t.Errorf("got %+v, %v", failed, err)
			}
			if got := mode(w.opts.Target); got != 0 {
				t.Errorf("its mode was changed to %o", got)
			}
		})
	}
	t.Run("behind links of an agent", func(t *testing.T) {
		w := newWorld(t)
		w.opts.FixPermissions, w.opts.Within = true, []string{w.opts.Target}
		private := closed(w, "private")
		for target, link := range map[string]string{
			filepath.Join(w.opts.Target, "link"): filepath.Join(w.opts.Target, "link"),
			w.opts.Target:                        filepath.Join(w.mkdir("workspaces"), w.opts.Session),
		} {
			if err := os.Symlink(private, link); err != nil {
				t.Fatal(err)
			}
			opts := w.opts
			opts.Target = target
			var failed *Failure
			if _, err := Prepare(opts); !errors.As(err, &failed) || strings.Contains(failed.Fix, "chmod") {
				t.Errorf("%s: %v", link, err)
			}
			if got := mode(private); got != 0 {
				t.Errorf("%s: the mode of what it leads to was changed to %o", link, got)
			}
			if err := os.Remove(link); err != nil {
				t.Fatal(err)
			}
		}
	})
	t.Run("another user's", func(t *testing.T) {
		w := newWorld(t)
		w.opts.Target, w.opts.FixPermissions = "/etc", true
		var permission *PermissionError
		var failed *Failure
		_, err := Prepare(w.opts)
		if !errors.As(err, &permission) || !errors.As(err, &failed) || strings.Contains(failed.Fix, "chmod") {
			t.Errorf("got %v", err)
		}
		// Nobody is told to open a directory that no agent may have.
		w.opts.UserHome = w.dir
		_, err = Prepare(w.opts)
		if !errors.As(err, &failed) || failed.Check != CheckTarget || failed.Fix != elsewhere {
			t.Errorf("got %+v, %v", failed, err)
		}
	})
	t.Run("of the user, and hidden", func(t *testing.T) {
		w := newWorld(t)
		w.opts.Target, w.opts.FixPermissions, w.opts.UserHome = closed(w, ".config"), true, w.dir
		var failed *Failure
		if _, err := Prepare(w.opts); !errors.As(err, &failed) || failed.Check != CheckTarget {
			t.Errorf("got %v", err)
		}
		if got := mode(w.opts.Target); got != 0 {
			t.Errorf("its mode was changed to %o", got)
		}
	})
}
