package supervisor

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"maestro/workers/preflight"
)

// repositoryIn makes what a repository consists of, as far as it matters here.
func repositoryIn(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"HEAD", "config"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// An agent may change neither the hooks nor the configuration of the repository and its submodules, and not where git
// looks for the repository. What it leaves to lead git elsewhere is removed.
func TestGitFiles(t *testing.T) {
	target := t.TempDir()
	found := func(want ...string) {
		t.Helper()
		paths, err := gitFiles(target)
		for i := range paths {
			paths[i] = strings.TrimPrefix(paths[i], target+"/")
		}
		if err != nil || !slices.Equal(paths, want) {
			t.Errorf("found %q, %v, want %q", paths, err, want)
		}
	}
	found()
	if removed, err := clearGitCommon(target); err != nil || removed != nil {
		t.Errorf("removed %q, %v", removed, err)
	}
	file := filepath.Join(target, ".git")
	if err := os.WriteFile(file, []byte("gitdir: elsewhere\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	found(".git")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	repositoryIn(t, filepath.Join(target, ".git"))
	repositoryIn(t, filepath.Join(target, ".git/modules/group/sub"))
	repositoryIn(t, filepath.Join(target, ".git/modules/group/sub/modules/deep"))
	found(".git/hooks", ".git/config", ".git/modules/group/sub/hooks", ".git/modules/group/sub/config",
		".git/modules/group/sub/modules/deep/hooks", ".git/modules/group/sub/modules/deep/config")

	// A hidden HEAD hides no repository.
	for _, head := range []string{".git/HEAD", ".git/modules/group/sub/HEAD"} {
		if err := os.Remove(filepath.Join(target, head)); err != nil {
			t.Fatal(err)
		}
	}
	found(".git/hooks", ".git/config", ".git/modules/group/sub/hooks", ".git/modules/group/sub/config",
		".git/modules/group/sub/modules/deep/hooks", ".git/modules/group/sub/modules/deep/config")

	common := filepath.Join(target, ".git/modules/group/sub/commondir")
	if err := os.WriteFile(common, []byte("../../evil"), 0o600); err != nil {
		t.Fatal(err)
	}
	if removed, err := clearGitCommon(target); err != nil || !slices.Equal(removed, []string{common}) {
		t.Errorf("removed %q, %v", removed, err)
	}
	if _, err := os.Stat(common); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is there: %v", err)
	}

	hooks := filepath.Join(target, ".git/hooks")
	if err := errors.Join(os.Remove(hooks), os.Symlink(t.TempDir(), hooks)); err != nil {
		t.Fatal(err)
	}
	var failed *preflight.Failure
	if _, err := gitFiles(target); !errors.As(err, &failed) || failed.Path != hooks || failed.Fix == "" {
		t.Errorf("hooks that are a link: %v", err)
	}
}

// What the configuration names in the target is kept as well, and so is what leads git from one place to another.
func TestGitFilesThatTheConfigurationNames(t *testing.T) {
	target := t.TempDir()
	repositoryIn(t, filepath.Join(target, ".git"))
	repositoryIn(t, filepath.Join(target, ".git/modules/sub"))
	for name, content := range map[string]string{
		".git/config": "[core]\n\thooksPath = .husky/_\n[include] path = ../common.cfg\n" +
			"[include]\n\tpath = /elsewhere\n[extensions]\n\tworktreeConfig = true\n",
		"common.cfg":                  "[includeIf \"gitdir:x\"]\n\tpath = \"more.cfg\"\n",
		"more.cfg":                    "",
		".husky/_/pre-commit":         "",
		".git/modules/sub/config":     "[core]\n\tworktree = ../../../sub\n",
		"sub/.git":                    "gitdir: ../.git/modules/sub\n",
		".git/worktrees/wt/commondir": "../..\n",
		".git/worktrees/wt/gitdir":    "/elsewhere/.git\n",
	} {
		path := filepath.Join(target, name)
		made := os.MkdirAll(filepath.Dir(path), 0o700)
		if err := errors.Join(made, os.WriteFile(path, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	paths, err := gitFiles(target)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		".git/config", ".git/hooks", ".git/config.worktree", ".husky/_", "common.cfg", "more.cfg", "sub/.git",
		".git/modules/sub/config", ".git/worktrees/wt/commondir", ".git/worktrees/wt/gitdir",
	} {
		if !slices.Contains(paths, filepath.Join(target, want)) {
			t.Errorf("%s is not kept: %q", want, paths)
		}
	}
	before := digestOf(paths)
	if err := os.WriteFile(filepath.Join(target, ".husky/_/pre-commit"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if digestOf(paths) == before {
		t.Error("a changed hook changes no digest")
	}
}

// Whatever an agent leaves in the place of submodules, what leads git elsewhere is removed; and git's own directories
// are nobody's working directory.
func TestGitIsNotRedirected(t *testing.T) {
	target := t.TempDir()
	repositoryIn(t, filepath.Join(target, ".git"))
	common := filepath.Join(target, ".git/commondir")
	for _, path := range []string{common, filepath.Join(target, ".git/modules")} {
		if err := os.WriteFile(path, []byte("../evil"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if removed, _ := clearGitCommon(target); !slices.Equal(removed, []string{common}) {
		t.Errorf("removed %q", removed)
	}
	bare := t.TempDir()
	repositoryIn(t, bare)
	for _, name := range []string{"objects", "refs"} {
		if err := os.Mkdir(filepath.Join(bare, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{filepath.Join(target, ".git"), filepath.Join(target, ".git/hooks"), bare} {
		var failed *preflight.Failure
		if _, err := gitFiles(dir); !errors.As(err, &failed) || failed.Check != preflight.CheckTarget {
			t.Errorf("an agent may work in %s: %v", dir, err)
		}
	}
}
