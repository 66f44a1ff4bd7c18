package supervisor

import (
	"context"
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
	// mostRepositories bounds the repositories in a target, and the worktrees of one.
	mostRepositories = 512
	// deepest is how far below the target repositories are looked for: people keep several in one directory.
	deepest = 3
)

// guard finds what an agent must not change in the git repository of its target.
type guard struct {
	root   *disk.Root
	target string
	user   string
	// git returns what `git config` says.
	git func(input []byte, args ...string) ([]string, error)
	// usersHooks are where the user's own configuration has the hooks of every repository.
	usersHooks []string
	// found and repositories are relative to the target.
	found, repositories []string
}

// gitFound is what there is of git in a target.
type gitFound struct {
	// kept are the paths that an agent must not change.
	kept []string
	// repositories are relative to the target, those of submodules included.
	repositories []string
}

// gitFiles returns the paths of a target that an agent must not change, so that its user's git runs nothing that the
// agent wrote: the hooks and the configuration of each repository, of its submodules and of its worktrees, what the
// configuration names in the target, and the files that say where a repository is. user is the user's home directory.
func gitFiles(ctx context.Context, target, user string) (found gitFound, err error) {
	if inRepository(target) {
		return found, &preflight.Failure{
			Check:   preflight.CheckTarget,
			Path:    target,
			Message: "The working directory " + target + " holds git's own files: its hooks and its configuration",
			Fix:     "spawn the session with the directory of the code as its --working-directory",
		}
	}
	root, err := disk.OpenRoot(target)
	if err != nil {
		return found, err
	}
	defer func() { _ = root.Close() }()
	places := checkouts(root)
	if len(places) == 0 {
		return found, nil
	}
	g := &guard{
		root:   root,
		target: target,
		user:   user,
		git:    func(input []byte, args ...string) ([]string, error) { return gitConfigSays(ctx, user, input, args) },
	}
	if g.usersHooks, err = g.git(nil, "--global", "--includes", "--get-all", "core.hooksPath"); err != nil {
		return found, err
	}
	for _, name := range places {
		if err := g.checkout(name); err != nil {
			return found, err
		}
	}
	for _, name := range g.found {
		found.kept = append(found.kept, filepath.Join(target, name))
	}
	found.repositories = g.repositories
	return found, nil
}

// checkouts returns where a target has a file or directory of git's, in itself or not far below.
func checkouts(root *disk.Root) (found []string) {
	type place struct {
		dir   string
		depth int
	}
	below := []place{{dir: "."}}
	for visited := 0; len(below) > 0 && visited < mostDirectories; visited++ {
		at := below[0]
		below = below[1:]
		entries, err := root.ReadDir(at.dir)
		if err != nil {
			continue // the user's git does not read it either
		}
		for _, entry := range entries {
			switch name := filepath.Join(at.dir, entry.Name()); {
			case entry.Name() == gitDir:
				found = append(found, name)
			case entry.IsDir() && at.depth < deepest && entry.Name() != "node_modules":
				below = append(below, place{name, at.depth + 1})
			}
		}
	}
	return found
}

// checkout adds what git reads for one checkout, whose .git has a name.
func (g *guard) checkout(name string) error {
	info, err := g.root.Lstat(name)
	if err != nil {
		return err
	}
	if info.Mode().IsRegular() {
		return g.keep(name)
	}
	if err := g.exists(name, true); err != nil {
		return err
	}
	repositories := []string{name}
	if err := submodules(g.root, name, func(dir string) { repositories = append(repositories, dir) }); err != nil {
		return err
	}
	if g.repositories = append(g.repositories, repositories...); len(g.repositories) > mostRepositories {
		return fmt.Errorf("%s has more than %d repositories", g.target, mostRepositories)
	}
	for _, repository := range repositories {
		if err := g.repository(repository, filepath.Dir(name)); err != nil {
			return err
		}
	}
	return nil
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

// repository adds what git reads in a repository, whose code is in worktree unless its configuration names another
// place. What is missing is made, so that it cannot be made by the agent.
func (g *guard) repository(dir, worktree string) error {
	config := filepath.Join(dir, gitConfig)
	if err := errors.Join(g.keepDir(filepath.Join(dir, gitHooks)), g.keepFile(config)); err != nil {
		return err
	}
	settings, err := g.read(config)
	if err != nil {
		return err
	}
	if settings.worktree != "" { // of a submodule
		if worktree = g.relative(dir, settings.worktree); worktree != "" {
			if err := g.keepIfThere(filepath.Join(worktree, gitDir)); err != nil {
				return err
			}
		}
	}
	if own := filepath.Join(dir, gitOwnConfig); settings.perWorktree {
		err = g.keepFile(own)
	} else {
		err = g.keepIfThere(own)
	}
	if err != nil {
		return err
	}
	for _, included := range settings.includes {
		if err := g.keepFile(included); err != nil {
			return err
		}
	}
	worktrees, err := g.worktrees(dir)
	if err != nil {
		return err
	}
	for _, at := range append(worktrees, worktree) {
		for _, named := range slices.Concat(settings.hooks, g.usersHooks) {
			if named = g.relative(at, named); at == "" || named == "" || named == "." {
				continue
			}
			if err := g.keepDir(named); err != nil {
				return err
			}
		}
	}
	return nil
}

// worktrees adds what leads git from a repository to its worktrees and back. It returns those in the target.
func (g *guard) worktrees(repository string) (inTarget []string, err error) {
	all, err := entriesOf(g.root, filepath.Join(repository, gitWorktrees))
	if err != nil {
		return nil, err
	}
	if len(all) > mostRepositories {
		return nil, fmt.Errorf("the repository %s has more than %d worktrees: `git worktree prune` removes those that "+
			"are gone", filepath.Join(g.target, repository), mostRepositories)
	}
	for _, worktree := range all {
		back := filepath.Join(worktree, "gitdir")
		for _, name := range []string{filepath.Join(worktree, gitCommon), back, filepath.Join(worktree, gitOwnConfig)} {
			if err := g.keepIfThere(name); err != nil {
				return nil, err
			}
		}
		content, err := files.Read(g.root, back, mostConfig)
		if err != nil {
			continue // git knows no worktree there
		}
		file := g.relative(worktree, strings.TrimSpace(string(content)))
		if err := g.keepIfThere(file); err != nil {
			return nil, err
		}
		if _, err := g.root.Lstat(file); file != "" && err == nil {
			inTarget = append(inTarget, filepath.Dir(file))
		}
	}
	return inTarget, nil
}

// keepDir adds a directory, and makes it if it is missing.
func (g *guard) keepDir(name string) error {
	if _, err := g.root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		if err := g.root.MkdirAll(name, 0o755); err != nil {
			return err
		}
	}
	return g.keep(name)
}

// keepFile adds a file, and makes it if it is missing.
func (g *guard) keepFile(name string) error {
	if _, err := g.root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		if err := g.root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		f, err := g.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return g.keep(name)
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
		Fix:     "replace the link by what it leads to, or allow changes of git's hooks and configuration: " + allowGit,
	}
}

// relative returns a path as it counts from the target: what a repository's configuration names counts from the
// repository. It is "" outside of the target.
func (g *guard) relative(from, path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		path = filepath.Join(g.user, rest)
	}
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

// isRepository reports whether a directory has anything of a repository: an agent could hide one part of it.
func isRepository(root *disk.Root, dir string) bool {
	return slices.ContainsFunc([]string{"HEAD", "objects", gitConfig}, func(name string) bool {
		_, err := root.Lstat(filepath.Join(dir, name))
		return err == nil
	})
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
