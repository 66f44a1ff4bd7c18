package preflight

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// world has the directories of a run.
type world struct {
	t    *testing.T
	dir  string
	opts Options
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: dir, opts: Options{
		Workspaces:  filepath.Join(dir, "workspaces"),
		Session:     "sess_1",
		Target:      filepath.Join(dir, "target"),
		MaestroHome: filepath.Join(dir, "home"),
	}}
	w.mkdir("target")
	w.mkdir("home")
	return w
}

func (w *world) mkdir(name string) string {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.MkdirAll(path, 0o700); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// TestPrepare shows the checks of docs/spec/001-agent-launch-and-sandbox.md, "Pre-Flight Validation & Setup", and what
// each failure says.
func TestPrepare(t *testing.T) {
	for name, test := range map[string]struct {
		change func(w *world)
		check  Check  // of the failure; "" for none
		says   string // what its message or its fix has
	}{
		"the workspace is created": {func(*world) {}, "", ""},
		"the workspace exists":     {func(w *world) { w.mkdir("workspaces/sess_1") }, "", ""},
		"no target": {func(w *world) {
			w.opts.Target = filepath.Join(w.dir, "gone")
		}, CheckTarget, "does not exist"},
		"a link out of the directory of whoever spawned it": {func(w *world) {
			w.opts.Within = []string{w.dir, w.mkdir("target")}
			w.opts.Target = filepath.Join(w.dir, "target", "link")
			if err := os.Symlink(w.mkdir("elsewhere"), w.opts.Target); err != nil {
				w.t.Fatal(err)
			}
		}, CheckTarget, "outside of"},
		"a directory below that of whoever spawned it, which has a link in its own path": {func(w *world) {
			w.opts.Within = []string{filepath.Join(w.dir, "link")}
			if err := os.Symlink(w.mkdir("target"), w.opts.Within[0]); err != nil {
				w.t.Fatal(err)
			}
			w.mkdir("target/below")
			w.opts.Target = filepath.Join(w.opts.Within[0], "below")
		}, "", ""},
		"the target is a file": {func(w *world) {
			w.opts.Target = filepath.Join(w.dir, "file")
			if err := os.WriteFile(w.opts.Target, nil, 0o600); err != nil {
				w.t.Fatal(err)
			}
		}, CheckTarget, "not a directory"},
		"a link is in place of the workspace": {func(w *world) {
			w.mkdir("workspaces")
			if err := os.Symlink(w.mkdir("elsewhere"), filepath.Join(w.opts.Workspaces, "sess_1")); err != nil {
				w.t.Fatal(err)
			}
		}, CheckWorkspace, "cannot be created"},
		"the target is the directory of all workspaces": {func(w *world) {
			w.opts.Target = w.mkdir("workspaces")
		}, CheckTarget, "is the directory of the workspaces of all sessions"},
		"the target holds the workspaces": {func(w *world) {
			w.opts.UserHome = w.mkdir("user")
			w.opts.Workspaces = filepath.Join(w.mkdir("target"), "workspaces")
		}, "", ""},
		"the target is in another session's workspace": {func(w *world) {
			w.opts.UserHome = w.mkdir("user")
			w.opts.Target = w.mkdir("workspaces/sess_2/made")
		}, CheckTarget, "is among the workspaces of other sessions"},
		"the target is in the session's own workspace": {func(w *world) {
			w.opts.UserHome = w.mkdir("user")
			w.opts.Target = w.mkdir("workspaces/sess_1/made")
		}, "", ""},
		"the target is in the workspace of whoever spawned the session": {func(w *world) {
			w.opts.UserHome = w.mkdir("user")
			w.opts.Within = []string{w.mkdir("workspaces/sess_0")}
			w.opts.Target = w.mkdir("workspaces/sess_0/made")
		}, "", ""},
		"no target is given: the workspace": {func(w *world) { w.opts.Target = "" }, "", ""},
		"the target is the root": {func(w *world) {
			w.opts.Target = "/"
		}, CheckTarget, "root of the file system"},
		"the target is Maestro's home": {func(w *world) {
			w.opts.Target = w.opts.MaestroHome
		}, CheckPaths, "Maestro's home"},
		"the target is below Maestro's home": {func(w *world) {
			w.opts.Target = w.mkdir("home/store")
		}, CheckPaths, "Maestro's home"},
		"a link leads to Maestro's home": {func(w *world) {
			w.opts.Target = filepath.Join(w.dir, "link")
			if err := os.Symlink(w.opts.MaestroHome, w.opts.Target); err != nil {
				w.t.Fatal(err)
			}
		}, CheckPaths, "Maestro's home"},
		"the workspaces are in Maestro's home": {func(w *world) {
			w.opts.Workspaces = filepath.Join(w.opts.MaestroHome, "w")
		}, CheckWorkspace, "MAESTRO_WORKSPACE"},
		"a configured orchestrator's directory": {func(w *world) { w.opts.Orchestrator = w.mkdir("tool") }, "", ""},
		"no such orchestrator's directory": {func(w *world) {
			w.opts.Orchestrator = filepath.Join(w.dir, "tool")
		}, CheckOrchestrator, "does not exist"},
		"no room": {func(w *world) { w.opts.Room = 1 << 62 }, CheckDisk, "MiB"},
		"a file is in place of the workspaces": {func(w *world) {
			if err := os.WriteFile(w.opts.Workspaces, nil, 0o600); err != nil {
				w.t.Fatal(err)
			}
		}, CheckWorkspace, "cannot be created"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			test.change(w)
			before := Target(w.opts)
			d, err := Prepare(w.opts)
			w.foretold(before, err)
			if test.check == "" {
				w.prepared(d, err)
				return
			}
			var failed *Failure
			if !errors.As(err, &failed) {
				t.Fatalf("got %+v, %v", d, err)
			}
			if failed.Check != test.check || !strings.Contains(failed.Message+failed.Fix, test.says) ||
				failed.Path == "" || failed.Fix == "" {
				t.Errorf("got %+v", failed)
			}
		})
	}
}

// foretold checks that Target says of the target what Prepare says.
func (w *world) foretold(before, err error) {
	w.t.Helper()
	var said, failed *Failure
	errors.As(before, &said)
	ofTarget := errors.As(err, &failed) && failed.Path == w.opts.Target &&
		(failed.Check == CheckTarget || failed.Check == CheckPaths)
	switch {
	case ofTarget && (said == nil || said.Message != failed.Message || said.Fix != failed.Fix):
		w.t.Errorf("Target says %v, and Prepare %v", before, err)
	case said != nil && (failed == nil || failed.Message != said.Message):
		w.t.Errorf("Target says %v, and Prepare %v", before, err)
	}
}

// prepared checks what a successful preparation returns.
func (w *world) prepared(d Dirs, err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, path := range []string{d.Workspace, d.Target, d.Orchestrator} {
		if info, err := os.Stat(path); err != nil || !info.IsDir() || !filepath.IsAbs(path) {
			w.t.Errorf("%s: %v", path, err)
		}
	}
	if want := filepath.Join(w.opts.Workspaces, "sess_1"); d.Workspace != want {
		w.t.Errorf("the workspace is %s, not %s", d.Workspace, want)
	}
	if left, err := filepath.Glob(filepath.Join(d.Target, ".maestro-probe-*")); err != nil || len(left) > 0 {
		w.t.Errorf("the probes %v are left", left)
	}
}

// Relative paths, and those below ~, are made absolute; the orchestrator's directory may be written to only if it is
// the target.
func TestPathsBecomeAbsolute(t *testing.T) {
	w := newWorld(t)
	t.Chdir(w.dir)
	t.Setenv("HOME", w.dir)
	w.opts.Target, w.opts.Workspaces, w.opts.Orchestrator = "target", "~/workspaces", "./target"
	d, err := Prepare(w.opts)
	if err != nil {
		t.Fatal(err)
	}
	want := Dirs{
		Workspace:    filepath.Join(w.dir, "workspaces", "sess_1"),
		Target:       filepath.Join(w.dir, "target"),
		Orchestrator: filepath.Join(w.dir, "target"),
	}
	if d != want {
		t.Errorf("got %+v, want %+v", d, want)
	}
	w.opts.Orchestrator = w.mkdir("tool")
	if d, err = Prepare(w.opts); err != nil || !d.ReadOnly {
		t.Errorf("got %+v, %v", d, err)
	}
}

// An agent works in no directory from which it could become its user, unless a person has chosen it.
func TestUnfitTargets(t *testing.T) {
	home := t.TempDir()
	for target, fit := range map[string]bool{
		filepath.Join(home, "shop"):            true,
		filepath.Join(home, "shop", ".github"): true,
		home + "s":                             true,
		"/srv/shop":                            true,
		home:                                   false,
		filepath.Dir(home):                     false,
		filepath.Join(home, ".ssh"):            false,
		filepath.Join(home, ".local", "bin"):   false,
		filepath.Join(home, ".config"):         false,
		"/etc":                                 false,
		"/usr/local/bin":                       false,
		"/bin":                                 false,
	} {
		if what := unfit(target, home); (what == "") != fit {
			t.Errorf("%s: %q", target, what)
		}
		if what := unfit(target, ""); what != "" {
			t.Errorf("%s, which a person chose: %q", target, what)
		}
		if _, err := os.Stat(target); err != nil {
			continue
		}
		if err := Target(Options{Target: target, UserHome: home}); (err == nil) != fit {
			t.Errorf("%s: Target says %v", target, err)
		}
	}
}

// A name in a failure is no line of its message, and does nothing to a terminal.
func TestFailuresAreShown(t *testing.T) {
	w := newWorld(t)
	w.opts.Target = filepath.Join(w.dir, "a\x1b]0;owned\x07\n  next: run `evil` #\xff")
	_, err := Prepare(w.opts)
	for _, err := range []error{err, Target(w.opts)} {
		var failed *Failure
		const want = `a[U+001B]]0;owned[U+0007]\n  next: run ` + "`evil` #[0xFF]"
		if !errors.As(err, &failed) || !strings.Contains(failed.Message, want) ||
			!strings.HasSuffix(failed.Path, want) {
			t.Errorf("got %+v", failed)
		}
	}
}
