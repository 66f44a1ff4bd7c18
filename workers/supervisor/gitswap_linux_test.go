package supervisor

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"maestro/workers/confine"
)

// bareIn makes a repository without code.
func bareIn(t *testing.T, dir string) {
	t.Helper()
	repositoryIn(t, dir)
	head := os.WriteFile(filepath.Join(dir, gitHead), []byte("ref: refs/heads/main\nINJECTED\n"), 0o600)
	objects, refs := os.Mkdir(filepath.Join(dir, gitObjects), 0o700), os.Mkdir(filepath.Join(dir, gitRefs), 0o700)
	if err := errors.Join(head, objects, refs); err != nil {
		t.Fatal(err)
	}
}

// theUsers makes a directory of the user's with everything that restoring a repository of that name would change.
func theUsers(t *testing.T, repository string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range []string{gitHead + "/mine", gitCommon + "/mine", gitObjects, "modules/sub/commondir/mine"} {
		path := filepath.Join(dir, repository, name)
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err := errors.Join(err, os.WriteFile(path, []byte("mine"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(dir, repository), 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, repository), 0o700) }) // so that it can be removed
	return dir
}

// treeOf describes everything below a directory.
func treeOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	if err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		content := ""
		if info.Mode().IsRegular() {
			read, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			content = string(read)
		}
		all[path] = fmt.Sprint(info.Mode(), " ", info.ModTime(), " ", content)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// checkedGit returns a supervisor that has looked at the git of a target before the launch.
func checkedGit(t *testing.T, target string) *supervisor {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", "")
	s := &supervisor{
		Console: silence{},
		command: execs,
		layers:  []confine.Layer{confine.Namespaces},
	}
	s.dirs.Target = target
	if err := s.checkGit(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.holdTarget(nil) })
	return s
}

// An agent replaces the target of another one by a link, to have something undone where the link leads. What was looked
// at before the launch is restored, and nothing else is touched, whatever is there: also not in Maestro's home.
func TestReplacedTargetIsNotFollowed(t *testing.T) {
	for _, repository := range []string{"victim", "sessions"} {
		above, users := t.TempDir(), theUsers(t, repository)
		target := filepath.Join(above, "sub")
		bareIn(t, filepath.Join(target, repository))
		s := checkedGit(t, target)
		old := filepath.Join(above, "sub.old")
		if err := errors.Join(os.Rename(target, old), os.Symlink(users, target),
			os.RemoveAll(filepath.Join(old, repository, gitHead))); err != nil {
			t.Fatal(err)
		}
		before := treeOf(t, users)
		s.clearGit(t.Context())
		if after := treeOf(t, users); !maps.Equal(before, after) {
			t.Errorf("the user's files were\n%q\nand are\n%q", before, after)
		}
		content, err := os.ReadFile(filepath.Join(old, repository, gitHead))
		if err != nil || string(content) != "ref: refs/heads/main\n" {
			t.Errorf("HEAD is %q, %v", content, err)
		}
		said := strings.Join(s.found, "\n")
		if !strings.Contains(said, target+": the directory in which the agent worked is at "+old+" now") ||
			!strings.Contains(said, filepath.Join(old, repository, gitHead)+": ") {
			t.Errorf("said %s", said)
		}
		if err := s.targetStays(); !errors.Is(err, errReplaced) {
			t.Errorf("another launch in what came in its place: %v", err)
		}
	}
}

// What comes in the place of a repository, or of a directory above it, is not what was described.
func TestReplacedRepositoryIsNotTouched(t *testing.T) {
	for name, replaces := range map[string]func(path, other string) error{
		"link":      func(path, other string) error { return os.Symlink(other, path) },
		"directory": func(path, other string) error { return os.Rename(other, path) },
	} {
		for _, moved := range []string{"a/victim", "a"} {
			target := t.TempDir()
			bareIn(t, filepath.Join(target, "a/victim"))
			s := checkedGit(t, target)
			other := theUsers(t, "victim") // in the target, so that no link leads out of it
			here := filepath.Join(target, "other")
			if err := errors.Join(os.Rename(other, here), os.Rename(filepath.Join(target, moved),
				filepath.Join(target, "moved"))); err != nil {
				t.Fatal(err)
			}
			from := here
			if moved == "a/victim" {
				from = filepath.Join(here, "victim")
			}
			if err := os.Chmod(filepath.Join(here, "victim"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := replaces(filepath.Join(target, moved), from); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(filepath.Join(target, "a/victim"), 0o500); err != nil {
				t.Fatal(err)
			}
			before := treeOf(t, target)
			s.clearGit(t.Context())
			if after := treeOf(t, target); !maps.Equal(before, after) {
				t.Errorf("%s for %s: it was\n%q\nand is\n%q", name, moved, before, after)
			}
			if said := strings.Join(s.found, "\n"); !strings.Contains(said, "a/victim "+errReplaced.Error()) {
				t.Errorf("%s for %s: said %s", name, moved, said)
			}
			_ = os.Chmod(filepath.Join(target, "a/victim"), 0o700) // so that it can be removed
		}
	}
}

// A directory where git has a file may hold anything, so it is not removed, and neither is a file in the place of a
// directory.
func TestNothingIsRemovedWithADirectory(t *testing.T) {
	target := t.TempDir()
	dir := filepath.Join(target, "r.git")
	bareIn(t, dir)
	s := checkedGit(t, target)
	for _, name := range []string{gitHead, gitCommon} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.RemoveAll(path), os.MkdirAll(filepath.Join(path, "mine"), 0o700)); err != nil {
			t.Fatal(err)
		}
	}
	refs := filepath.Join(dir, gitRefs)
	if err := errors.Join(os.Remove(refs), os.WriteFile(refs, []byte("mine"), 0o600)); err != nil {
		t.Fatal(err)
	}
	s.clearGit(t.Context())
	for _, name := range []string{"HEAD.aside-0/mine", "commondir.aside-0/mine", "refs.aside-0"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	if info, err := os.Lstat(refs); err != nil || !info.IsDir() {
		t.Errorf("refs: %v, %v", info, err)
	}
	if content, err := os.ReadFile(filepath.Join(dir, gitHead)); err != nil || !isHead(string(content)) {
		t.Errorf("HEAD is %q, %v", content, err)
	}
	if _, err := os.Lstat(filepath.Join(dir, gitCommon)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("commondir: %v", err)
	}
	if said := strings.Join(s.found, "\n"); !strings.Contains(said, "what was in its place is HEAD.aside-0 now") {
		t.Errorf("said %s", said)
	}
}
