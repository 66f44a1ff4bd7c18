package supervisor

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"maestro/internal/disk"
	"maestro/internal/files"
	"maestro/workers/preflight"
)

// What git reads in a repository, and runs the programs that are named there: no diff shows a change of it, and whoever
// uses git next runs these programs as itself.
const (
	gitDir       = ".git"
	gitHooks     = "hooks"
	gitConfig    = "config"
	gitOwnConfig = "config.worktree" // read if the configuration says so
	gitModules   = "modules"
	gitWorktrees = "worktrees"
	// gitCommon names another directory, whose hooks and configuration git then uses. Only a worktree has it.
	gitCommon = "commondir"
	// mostRepositories bounds the submodules and worktrees of a target.
	mostRepositories = 64
	// mostConfig bounds a configuration that is read, in bytes.
	mostConfig = 256 << 10
)

// guard finds what an agent must not change in the git repository of its target.
type guard struct {
	root   *disk.Root
	target string
	found  []string // relative to the target
}

// gitFiles returns the paths of a target that an agent must not change, so that its user's git runs nothing that the
// agent wrote: the hooks and the configuration of the repository, of its submodules and of its worktrees, what the
// configuration names in the target, and the files that say where a repository is.
func gitFiles(target string) (paths []string, err error) {
	if inRepository(target) {
		return nil, &preflight.Failure{
			Check:   preflight.CheckTarget,
			Path:    target,
			Message: "The working directory " + target + " holds git's own files: its hooks and its configuration",
			Fix:     "spawn the session with the directory of the code as its --working-directory",
		}
	}
	root, err := disk.OpenRoot(target)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	info, err := root.Lstat(gitDir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case info.Mode().IsRegular():
		return []string{filepath.Join(target, gitDir)}, nil
	}
	g := &guard{root: root, target: target}
	if err := g.exists(gitDir, true); err != nil {
		return nil, err
	}
	repositories, err := gitRepositories(root)
	if err != nil {
		return nil, err
	}
	if len(repositories) > mostRepositories {
		return nil, fmt.Errorf("the repository in %s has more than %d submodules", target, mostRepositories)
	}
	for _, repository := range repositories {
		if err := g.repository(repository); err != nil {
			return nil, err
		}
	}
	for _, name := range g.found {
		paths = append(paths, filepath.Join(target, name))
	}
	return paths, nil
}

// inRepository reports whether a directory is, or is in, what git keeps beside the code.
func inRepository(dir string) bool {
	if slices.Contains(strings.Split(dir, string(filepath.Separator)), gitDir) {
		return true
	}
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// repository adds what git reads in a repository. What is missing is made, so that it cannot be made by the agent.
func (g *guard) repository(dir string) error {
	hooks, config := filepath.Join(dir, gitHooks), filepath.Join(dir, gitConfig)
	if err := g.root.Mkdir(hooks, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := errors.Join(g.create(config), g.keep(hooks), g.keep(config)); err != nil {
		return err
	}
	own := filepath.Join(dir, gitOwnConfig)
	settings := g.read(config)
	if settings.perWorktree {
		if err := g.create(own); err != nil {
			return err
		}
	}
	if err := g.keepIfThere(own); err != nil {
		return err
	}
	for _, named := range settings.paths {
		if err := g.keepIfThere(named); err != nil {
			return err
		}
	}
	if settings.worktree != "" { // of a submodule
		if err := g.keepIfThere(filepath.Join(g.relative(dir, settings.worktree), gitDir)); err != nil {
			return err
		}
	}
	worktrees, err := entriesOf(g.root, filepath.Join(dir, gitWorktrees))
	if err != nil {
		return err
	}
	if len(worktrees) > mostRepositories {
		return fmt.Errorf("the repository in %s has more than %d worktrees", g.target, mostRepositories)
	}
	for _, worktree := range worktrees {
		for _, name := range []string{gitCommon, "gitdir", gitOwnConfig} {
			if err := g.keepIfThere(filepath.Join(worktree, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *guard) create(name string) error {
	f, err := g.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// keep adds a path, which must be neither a link nor anything else that leads elsewhere.
func (g *guard) keep(name string) error {
	if err := g.exists(name, false); err != nil {
		return err
	}
	if !slices.Contains(g.found, name) {
		g.found = append(g.found, name)
	}
	return nil
}

// keepIfThere adds a path in the target, if there is something.
func (g *guard) keepIfThere(name string) error {
	if name == "" || !filepath.IsLocal(name) || name == "." {
		return nil
	}
	if _, err := g.root.Lstat(name); err != nil {
		return nil //nolint:nilerr // it is not there, or a link leads out of the target
	}
	return g.keep(name)
}

func (g *guard) exists(name string, directory bool) error {
	info, err := g.root.Lstat(name)
	if err != nil {
		return err
	}
	if info.IsDir() || info.Mode().IsRegular() && !directory {
		return nil
	}
	path := filepath.Join(g.target, name)
	return &preflight.Failure{
		Check:   preflight.CheckTarget,
		Path:    path,
		Message: path + " is a link, so it cannot be kept from an agent that works there",
		Fix: "replace the link by what it leads to, or allow changes of git's hooks and configuration: " +
			"`serve --allow-git-config`, or for a command of yours `session exec --allow .git`",
	}
}

// relative returns a path as it counts from the target: what a repository's configuration names counts from the
// repository. It is "" outside of the target.
func (g *guard) relative(from, path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(g.target, from, path)
	}
	rel, err := filepath.Rel(g.target, path)
	if err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	return rel
}

// entriesOf returns the directories in a directory of a root; none if it does not exist.
func entriesOf(root *disk.Root, dir string) (found []string, err error) {
	entries, err := root.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, entry := range entries {
		if entry.IsDir() {
			found = append(found, filepath.Join(dir, entry.Name()))
		}
	}
	return found, err
}

// gitRepositories returns the directories with the repository of a target, and those of its submodules.
func gitRepositories(root *disk.Root) (found []string, err error) {
	found = []string{gitDir}
	below, err := entriesOf(root, filepath.Join(gitDir, gitModules))
	for len(below) > 0 && len(found) <= mostRepositories && err == nil {
		dir := below[0]
		below = below[1:]
		next := dir // the name of a submodule can have several parts
		if isRepository(root, dir) {
			found = append(found, dir)
			next = filepath.Join(dir, gitModules)
		}
		var more []string
		more, err = entriesOf(root, next)
		below = append(below, more...)
	}
	return found, err
}

// isRepository reports whether a directory has anything of a repository: an agent could hide one part of it.
func isRepository(root *disk.Root, dir string) bool {
	return slices.ContainsFunc([]string{"HEAD", "objects", gitConfig}, func(name string) bool {
		_, err := root.Lstat(filepath.Join(dir, name))
		return err == nil
	})
}

// clearGitCommon removes from a target's repositories what makes git read its hooks and its configuration elsewhere,
// and returns what it removed. An agent can create that file, because git has to create others beside it.
func clearGitCommon(target string) (removed []string, err error) {
	root, err := disk.OpenRoot(target)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	if info, err := root.Lstat(gitDir); err != nil || !info.IsDir() {
		return nil, nil //nolint:nilerr // there is no repository
	}
	repositories, err := gitRepositories(root)
	for _, repository := range repositories { // also if some cannot be found
		name := filepath.Join(repository, gitCommon)
		if _, missing := root.Lstat(name); missing != nil {
			continue
		}
		if failed := root.RemoveAll(name); failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		removed = append(removed, filepath.Join(target, name))
	}
	return removed, files.Bare(err)
}

// digestOf returns a digest of files, and of the files in directories.
func digestOf(paths []string) string {
	sum := sha256.New()
	add := func(name string) {
		fmt.Fprintf(sum, "%s\n", name)
		f, err := files.OpenNamed(name)
		if err != nil {
			fmt.Fprintln(sum, err)
			return
		}
		n, _ := io.Copy(sum, f)
		fmt.Fprintf(sum, "\n%d\n", n)
		_ = f.Close() // only read
	}
	for _, path := range paths {
		entries, err := os.ReadDir(path)
		if err != nil {
			add(path)
		}
		for _, entry := range entries {
			if entry.Type().IsRegular() {
				add(filepath.Join(path, entry.Name()))
			}
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}
