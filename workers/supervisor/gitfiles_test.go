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
