package supervisor

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"maestro/internal/disk"
	"maestro/workers/preflight"
)

func gitFilesOf(t *testing.T, target, user string) (gitFound, error) {
	t.Setenv("XDG_CONFIG_HOME", "")
	run := (&supervisor{}).gitRunner(t.Context(), user)
	return gitFiles(t.Context(), rootOf(t, target), user, allowGit(serves), run)
}

// rootOf holds a directory open until the end of the test.
func rootOf(t *testing.T, dir string) *disk.Root {
	t.Helper()
	root, err := disk.OpenRootItself(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root
}

// repositoriesIn describes the repositories in a target, as before a launch.
func repositoriesIn(t *testing.T, target string) []gitRepository {
	t.Helper()
	all, err := gitFilesOf(t, target, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return all.repositories
}

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
		all, err := gitFilesOf(t, target, t.TempDir())
		var paths []string
		for _, path := range all.kept {
			path = strings.TrimPrefix(path, target+"/")
			if name := filepath.Base(path); name != "remotes" && name != "branches" {
				paths = append(paths, path)
			}
		}
		if err != nil || !slices.Equal(paths, want) {
			t.Errorf("found %q, %v, want %q", paths, err, want)
		}
	}
	found()
	none := repositoriesIn(t, target)
	if undone, err := restoreGit(t.Context(), rootOf(t, target), none); err != nil || undone != nil {
		t.Errorf("undone %v, %v", undone, err)
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

	known := repositoriesIn(t, target)
	common := filepath.Join(target, ".git/modules/group/sub/commondir")
	if err := os.WriteFile(common, []byte("../../evil"), 0o600); err != nil {
		t.Fatal(err)
	}
	undone, err := restoreGit(t.Context(), rootOf(t, target), known)
	if err != nil || !slices.Equal(undone, []Undone{{common, whyRedirected}}) {
		t.Errorf("undone %v, %v", undone, err)
	}
	if _, err := os.Stat(common); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is there: %v", err)
	}

	hooks := filepath.Join(target, ".git/hooks")
	if err := errors.Join(os.Remove(hooks), os.Symlink(t.TempDir(), hooks)); err != nil {
		t.Fatal(err)
	}
	var failed *preflight.Failure
	_, err = gitFilesOf(t, target, t.TempDir())
	if !errors.As(err, &failed) || failed.Path != hooks || failed.Fix == "" {
		t.Errorf("hooks that are a link: %v", err)
	}
}

// What the configuration names in the target is kept as well, and so is what leads git from one place to another.
func TestGitFilesThatTheConfigurationNames(t *testing.T) {
	target, user := t.TempDir(), t.TempDir()
	repositoryIn(t, filepath.Join(target, ".git"))
	repositoryIn(t, filepath.Join(target, ".git/modules/sub"))
	repositoryIn(t, filepath.Join(target, "clones/of/many/.git"))
	own := filepath.Join(user, ".gitconfig")
	if err := os.WriteFile(own, []byte("[core]\nhooksPath = .hooks\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		".git/config": "[core]\n\thooksPath = .husky/_ ; ours\n[include] path = ../comm\\\non.cfg\n" +
			"[include]\n\tpath = /elsewhere\n\tpath = ../missing/of.cfg\n[extensions]\n\tworktreeConfig = yes # so\n" +
			strings.Repeat("[branch \"x\"]\n\tremote = origin\n", 10_000),
		"common.cfg":                  "[includeIf \"gitdir:x\"]\n\tpath = \"more.cfg\"\n",
		"more.cfg":                    "",
		".git/modules/sub/config":     "[core]\n\tworktree = ../../../sub\n",
		"sub/.git":                    "gitdir: ../.git/modules/sub\n",
		".git/worktrees/wt/commondir": "../..\n",
		".git/worktrees/wt/gitdir":    "/elsewhere/.git\n",
		".git/worktrees/in/commondir": "../..\n",
		".git/worktrees/in/gitdir":    filepath.Join(target, "trees/in/.git") + "\n",
		"trees/in/.git":               "gitdir: ../../.git/worktrees/in\n",
	} {
		path := filepath.Join(target, name)
		made := os.MkdirAll(filepath.Dir(path), 0o700)
		if err := errors.Join(made, os.WriteFile(path, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	all, err := gitFilesOf(t, target, user)
	paths := all.kept
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		".git/config", ".git/hooks", ".git/config.worktree", ".husky/_", "common.cfg", "more.cfg", "sub/.git",
		"missing/of.cfg", ".hooks", "sub/.hooks", "trees/in/.hooks", "trees/in/.husky/_", "trees/in/.git",
		"clones/of/many/.git/hooks", "clones/of/many/.git/config", "clones/of/many/.hooks",
		".git/modules/sub/config", ".git/worktrees/wt/commondir", ".git/worktrees/wt/gitdir",
	} {
		if !slices.Contains(paths, filepath.Join(target, want)) {
			t.Errorf("%s is not kept: %q", want, paths)
		}
	}
	root := rootOf(t, target)
	before, err := digestsOf(t.Context(), root, paths)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(target, ".husky/_/pre-commit"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if after, err := digestsOf(t.Context(), root, paths); err != nil || maps.Equal(after, before) {
		t.Error(err, "a changed hook changes no digest")
	}
}

// Whatever an agent leaves in the place of submodules, what leads git elsewhere is removed; and git's own directories
// are nobody's working directory.
func TestGitIsNotRedirected(t *testing.T) {
	target := t.TempDir()
	repositoryIn(t, filepath.Join(target, ".git"))
	known := repositoriesIn(t, target)
	common := filepath.Join(target, ".git/commondir")
	for _, path := range []string{common, filepath.Join(target, ".git/modules")} {
		if err := os.WriteFile(path, []byte("../evil"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	undone, err := restoreGit(t.Context(), rootOf(t, target), known)
	if !slices.Equal(undone, []Undone{{common, whyRedirected}}) || err == nil {
		t.Errorf("undone %v, %v", undone, err)
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
		_, err := gitFilesOf(t, dir, t.TempDir())
		if !errors.As(err, &failed) || failed.Check != preflight.CheckTarget {
			t.Errorf("an agent may work in %s: %v", dir, err)
		}
	}
}

// Nothing that an agent puts beside the repository of a submodule hides it.
func TestGitRedirectionIsFound(t *testing.T) {
	target := t.TempDir()
	submodule := filepath.Join(target, ".git/modules/zlib")
	repositoryIn(t, filepath.Join(target, ".git"))
	repositoryIn(t, submodule)
	all, err := gitFilesOf(t, target, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 * mostRepositories {
		repositoryIn(t, filepath.Join(target, ".git/modules", fmt.Sprintf("!%d", i)))
	}
	closed := filepath.Join(target, ".git/modules/!")
	if err := os.Mkdir(closed, 0); err != nil {
		t.Fatal(err)
	}
	common := filepath.Join(submodule, "commondir")
	if err := os.WriteFile(common, []byte("../evil"), 0o600); err != nil {
		t.Fatal(err)
	}
	undone, err := restoreGit(t.Context(), rootOf(t, target), all.repositories)
	if !slices.Equal(undone, []Undone{{common, whyRedirected}}) {
		t.Errorf("undone %v", undone)
	}
	if (err == nil) != (os.Geteuid() == 0) { // root reads every directory
		t.Errorf("a closed directory: %v", err)
	}
	if _, err := gitFilesOf(t, target, t.TempDir()); err == nil {
		t.Error("too many repositories are kept")
	}
}

// An agent is not started where git's configuration cannot be read, because what it names would not be kept. Where git
// itself cannot read it, git does nothing, and it stays as it is.
func TestGitConfigurationMustBeReadable(t *testing.T) {
	target := t.TempDir()
	repositoryIn(t, filepath.Join(target, ".git"))
	config := filepath.Join(target, ".git/config")
	for content, fails := range map[string]bool{"[core": false, strings.Repeat("#", mostConfig+1): true} {
		if err := os.WriteFile(config, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		all, err := gitFilesOf(t, target, t.TempDir())
		if (err != nil) != fails || err == nil && !slices.Contains(all.kept, config) {
			t.Errorf("a configuration of %d bytes: %q, %v", len(content), all.kept, err)
		}
	}
	if err := os.WriteFile(config, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := gitFilesOf(t, target, t.TempDir()); !errors.Is(err, errNoGit) {
		t.Errorf("without git: %v", err)
	}
}

// What git would not take for a HEAD is restored as it was, whatever it looks like.
func TestHead(t *testing.T) {
	for content, is := range map[string]bool{
		"ref: refs/heads/main\n":                           true,
		"ref:refs/heads/main":                              true,
		strings.Repeat("0a", 20) + "\n":                    true,
		strings.Repeat("0a", 20) + "\n" + "more than that": true,
		strings.Repeat("0a", 32):                           true,
		"\nref: refs/heads/main\n":                         false,
		"ref: heads/main":                                  false,
		"ref:" + strings.Repeat(" ", 300) + "refs/heads":   false,
		"ref:\u00a0refs/heads/main":                        false,
		strings.Repeat("0a", 19):                           false,
		"":                                                 false,
	} {
		if isHead(content) != is {
			t.Errorf("%q is a HEAD: %t", content, !is)
		}
	}
}

// A repository is restored, whatever an agent left in the place of its parts; what was closed before stays closed.
func TestRepositoryIsRestored(t *testing.T) {
	for name, breaks := range map[string]func(dir string) error{
		"nothing":      func(string) error { return nil },
		"HEAD is gone": func(dir string) error { return os.Remove(filepath.Join(dir, "HEAD")) },
		"HEAD is garbage": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "HEAD"), []byte("\n"), 0o600)
		},
		"HEAD leads away":  func(dir string) error { return replaced(os.Symlink, filepath.Join(dir, "HEAD")) },
		"objects are gone": func(dir string) error { return os.RemoveAll(filepath.Join(dir, "objects")) },
		"objects are a link": func(dir string) error {
			return replaced(os.Symlink, filepath.Join(dir, "objects"))
		},
		"refs are a file": func(dir string) error {
			file := func(_, path string) error { return os.WriteFile(path, nil, 0o600) }
			return replaced(file, filepath.Join(dir, "refs"))
		},
		"all is closed": func(dir string) error {
			return errors.Join(os.Chmod(filepath.Join(dir, "objects"), 0), os.Chmod(dir, 0))
		},
	} {
		target := t.TempDir()
		dir := filepath.Join(target, "code/.git")
		repositoryIn(t, dir)
		const head = "ref: refs/heads/main\n"
		if err := errors.Join(os.WriteFile(filepath.Join(dir, "HEAD"), []byte(head), 0o600),
			os.Mkdir(filepath.Join(dir, "objects"), 0o700), os.Mkdir(filepath.Join(dir, "refs"), 0o700)); err != nil {
			t.Fatal(err)
		}
		all, err := gitFilesOf(t, target, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if err := breaks(dir); err != nil {
			t.Fatal(err)
		}
		undone, err := restoreGit(t.Context(), rootOf(t, target), all.repositories)
		if err != nil || (len(undone) == 0) != (name == "nothing" || name == "all is closed") {
			t.Errorf("%s: %v, %v", name, undone, err)
		}
		if content, err := os.ReadFile(filepath.Join(dir, "HEAD")); err != nil || string(content) != head {
			t.Errorf("%s: HEAD is %q, %v", name, content, err)
		}
		for _, part := range []string{"objects", "refs"} {
			info, err := os.Lstat(filepath.Join(dir, part))
			if err != nil || info.Mode() != fs.ModeDir|0o700 && info.Mode() != fs.ModeDir|0o755 {
				t.Errorf("%s: %s is %v, %v", name, part, info, err)
			}
		}
	}
	target := t.TempDir()
	dir := filepath.Join(target, "kept/.git")
	repositoryIn(t, dir)
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	all, err := gitFilesOf(t, target, t.TempDir())
	if err != nil || !slices.Contains(all.kept, filepath.Join(dir, "hooks")) {
		t.Errorf("kept %q, %v", all.kept, err)
	}
	if _, err := restoreGit(t.Context(), rootOf(t, target), all.repositories); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o500 {
		t.Errorf("what its user closed is %v, %v", info, err)
	}
	if err := os.Chmod(dir, 0o700); err != nil { // so that it can be removed
		t.Error(err)
	}
}

func replaced(makes func(to, path string) error, path string) error {
	return errors.Join(os.RemoveAll(path), makes("/nowhere", path))
}

// A directory whose name is not UTF-8 keeps no agent from its work. A repository in it cannot be kept from the agent,
// and a directory that is called like it in UTF-8 is none: the user is asked.
func TestNamesThatAreNotUTF8(t *testing.T) {
	target := t.TempDir()
	for _, name := range []string{"caf\xe9/below", "caf\ufffd/.git"} {
		if err := os.MkdirAll(filepath.Join(target, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := gitFilesOf(t, target, t.TempDir()); err != nil {
		t.Error(err)
	}
	dir := filepath.Join(target, "caf\xe9/.git")
	repositoryIn(t, dir)
	var failed *preflight.Failure
	_, err := gitFilesOf(t, target, t.TempDir())
	if !errors.As(err, &failed) || !strings.Contains(failed.Message, `/caf\xe9/.git`) || failed.Fix == "" ||
		!utf8.ValidString(failed.Message+failed.Path) {
		t.Errorf("a repository there: %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("it has %v, %v", entries, err)
	}
}

// What is undone can be told, whatever an agent calls it, and however much it leaves.
func TestUndoneIsText(t *testing.T) {
	target := t.TempDir()
	repositoryIn(t, filepath.Join(target, ".git"))
	known := repositoriesIn(t, target)
	module := filepath.Join(target, ".git/modules/\x1b\xff")
	repositoryIn(t, module)
	if err := os.WriteFile(filepath.Join(module, gitCommon), []byte("../evil"), 0o600); err != nil {
		t.Fatal(err)
	}
	undone, err := restoreGit(t.Context(), rootOf(t, target), known)
	if err != nil || len(undone) != 1 || !strings.Contains(undone[0].Path, `/\x1b\xff/commondir`) {
		t.Errorf("undone %q, %v", undone, err)
	}
	if said := NotRestored(errors.New(strings.Repeat("x\n", 1<<20))); len(said) > 2*mostReason {
		t.Errorf("%d bytes are said of an error", len(said))
	}
}
