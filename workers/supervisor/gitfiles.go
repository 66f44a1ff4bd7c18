package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"maestro/internal/disk"
	"maestro/workers/preflight"
)

// What git reads in a repository, and runs the programs that are named there: no diff shows a change of it, and whoever
// uses git next runs these programs as itself.
const (
	gitDir       = ".git"
	gitHead      = "HEAD"
	gitObjects   = "objects"
	gitRefs      = "refs"
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
	deepest = 4
	// mostDirectories bounds how many directories are visited to find repositories.
	mostDirectories = 100_000
)

// gitFound is what there is of git in a target.
type gitFound struct {
	// kept are the paths that an agent must not change.
	kept []string
	// repositories are those in the target, those of submodules included.
	repositories []gitRepository
}

// guard finds what an agent must not change, so that its user's git runs nothing that the agent wrote.
type guard struct {
	root *disk.Root
	// target is absolute, without links; user is the user's home directory.
	target, user string
	// allow says how a user lets an agent change it.
	allow string
	// goesOn fails once the check is to end.
	goesOn func() error
	// entries and submodules are entriesOf and submodules in the root.
	entries    func(dir string) ([]string, error)
	submodules func(repository string, visit func(repository string) error) error
	// git returns what `git config` says.
	git func(input []byte, args ...string) ([]string, error)
	// users is what the user's own configuration says.
	users gitSettings
	// known are the repositories that were looked at, with what their configurations say.
	known map[string]gitSettings

	found gitFound
}

// gitFiles returns what git reads in a target that is held open: the hooks and the configuration of each repository, of
// its submodules and its worktrees, what a configuration names in the target, and the files that say where a repository
// is. user is the user's home directory, allow says in a failure how to do without; run runs git.
func gitFiles(
	ctx context.Context, root *disk.Root, user, allow string, run runGit,
) (found gitFound, err error) {
	target := root.Name()
	if inRepository(target) {
		return found, &preflight.Failure{
			Check:   preflight.CheckTarget,
			Path:    target,
			Message: "The working directory " + target + " holds git's own files: its hooks and its configuration",
			Fix:     "spawn the session with the directory of the code as its --working-directory",
		}
	}
	places, err := checkouts(ctx, root)
	if err != nil {
		return found, err
	}
	for i, name := range places {
		places[i] = filepath.Join(target, name)
	}
	if above := checkoutAbove(target); above != "" {
		places = append(places, above)
	}
	if len(places) == 0 {
		return found, nil
	}
	g := &guard{
		root:    root,
		target:  target,
		user:    user,
		allow:   allow,
		goesOn:  ctx.Err,
		git:     func(input []byte, args ...string) ([]string, error) { return gitConfigSays(run, input, args) },
		known:   map[string]gitSettings{},
		entries: func(dir string) ([]string, error) { return entriesOf(ctx, root, dir) },
		submodules: func(repository string, visit func(string) error) error {
			return submodules(ctx, root, repository, visit)
		},
	}
	if g.users, err = g.read(usersConfigs(user)...); err != nil {
		return found, err
	}
	for _, place := range places {
		if err := g.checkout(place); err != nil {
			return found, err
		}
	}
	return g.found, nil
}

// inRepository reports whether a directory is, or is in, what git keeps beside the code.
func inRepository(dir string) bool {
	if slices.Contains(strings.Split(dir, string(filepath.Separator)), gitDir) {
		return true
	}
	for _, name := range []string{gitHead, gitObjects, gitRefs} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// checkoutAbove returns the .git of the repository in which a target is a directory, "" if there is none.
func checkoutAbove(target string) string {
	for dir := filepath.Dir(target); ; dir = filepath.Dir(dir) {
		path := filepath.Join(dir, gitDir)
		if info, err := os.Stat(path); err == nil && (info.Mode().IsRegular() || isRepository(os.Lstat, path)) {
			return path
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// checkouts returns where a target has something of git's, in itself or not far below: what is called .git, and
// repositories without code.
func checkouts(ctx context.Context, root *disk.Root) (found []string, err error) {
	type place struct {
		dir   string
		depth int
	}
	below := []place{{dir: "."}}
	for visited := 0; len(below) > 0; visited++ {
		at := below[0]
		if visited == mostDirectories {
			return nil, fmt.Errorf("%s has more than %d directories", root.Name(), mostDirectories)
		}
		below = below[1:]
		// What cannot be read holds no repository that the user's git reads. What an agent closed is opened when it
		// ends.
		entries, err := readDir(ctx, root, at.dir)
		if ctx.Err() != nil || errors.Is(err, errTooMany) {
			return nil, err
		}
		isBare := 0
		for _, entry := range entries {
			switch name := filepath.Join(at.dir, entry.Name()); {
			case entry.Name() == gitDir:
				found = append(found, name)
			case entry.Name() == gitHead, entry.Name() == gitObjects, entry.Name() == gitRefs:
				isBare++
			case entry.IsDir() && at.depth < deepest && entry.Name() != "node_modules":
				below = append(below, place{name, at.depth + 1})
			}
		}
		if isBare == 3 {
			found = append(found, at.dir)
		}
	}
	return found, nil
}

// checkout adds what git reads for one checkout, whose .git has a path, or for a repository without code.
func (g *guard) checkout(path string) error {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0 && g.inTarget(filepath.Dir(path)) == "": // no agent can lead it elsewhere
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return nil //nolint:nilerr // it leads nowhere
		}
		return g.checkout(real)
	case info.Mode()&fs.ModeSymlink != 0:
		return g.isLink(path)
	case info.IsDir() && !isRepository(os.Lstat, path):
		return nil // git looks elsewhere
	case info.IsDir():
		settings, err := g.repository(path)
		if err == nil && filepath.Base(path) == gitDir && settings.worktree == "" {
			err = g.hooks(settings, filepath.Dir(path))
		}
		return err
	case !info.Mode().IsRegular():
		return nil // git looks elsewhere
	}
	if err := g.keepIfThere(path); err != nil {
		return err
	}
	dir := leadsTo(path, "gitdir: ")
	if dir == "" {
		return nil
	}
	common := dir
	if shared := leadsTo(filepath.Join(dir, gitCommon), ""); shared != "" {
		common = shared
	}
	if !isRepository(os.Lstat, common) {
		return nil
	}
	settings, err := g.repository(common)
	if err != nil {
		return err
	}
	if own := filepath.Join(dir, gitOwnConfig); settings.perWorktree && common != dir {
		if settings, err = g.read(filepath.Join(common, gitConfig), own); err != nil {
			return err
		}
	}
	return g.hooks(settings, filepath.Dir(path))
}

// leadsTo returns the directory that a file of git names after a prefix, "" for none.
func leadsTo(file, prefix string) string {
	content, err := readConfig(file)
	if err != nil {
		return ""
	}
	named, found := strings.CutPrefix(strings.TrimRight(string(content), "\r\n"), prefix)
	if !found || named == "" {
		return ""
	}
	if !filepath.IsAbs(named) {
		named = filepath.Join(filepath.Dir(file), named)
	}
	return filepath.Clean(named)
}

// repository adds what git reads in a repository, apart from hooks that its configuration names: where these are
// depends on the worktree. Of a repository outside of the target, it adds what the configuration includes from there.
// What is missing is made, so that it cannot be made by the agent.
func (g *guard) repository(dir string) (settings gitSettings, err error) {
	if settings, known := g.known[dir]; known {
		return settings, nil
	}
	if err := g.goesOn(); err != nil {
		return settings, err
	}
	rel := g.inTarget(dir)
	if rel != "" {
		if len(g.found.repositories) == mostRepositories {
			return settings, fmt.Errorf("%s has more than %d repositories", g.target, mostRepositories)
		}
		described, err := g.describe(rel)
		if err != nil {
			return settings, err
		}
		g.found.repositories = append(g.found.repositories, described)
		for _, name := range []string{gitHooks, "remotes", "branches"} { // the others are older places of remotes
			if err := g.keepDir(filepath.Join(dir, name)); err != nil {
				return settings, err
			}
		}
	}
	config, own := filepath.Join(dir, gitConfig), filepath.Join(dir, gitOwnConfig)
	if err := g.keepFile(config); err != nil {
		return settings, err
	}
	if settings, err = g.read(config); err != nil {
		return settings, err
	}
	if settings.perWorktree {
		if err := g.keepFile(own); err != nil {
			return settings, err
		}
		if settings, err = g.read(config, own); err != nil {
			return settings, err
		}
	} else if err := g.keepIfThere(own); err != nil {
		return settings, err
	}
	g.known[dir] = settings
	if settings.worktree != "" { // of a submodule
		at := settings.worktree
		if !filepath.IsAbs(at) {
			at = filepath.Join(dir, at)
		}
		if err := errors.Join(g.keepIfThere(filepath.Join(at, gitDir)), g.hooks(settings, at)); err != nil {
			return settings, err
		}
	}
	if rel == "" {
		return settings, nil
	}
	if err := g.worktrees(rel, settings.perWorktree); err != nil {
		return settings, err
	}
	return settings, g.submodules(rel, func(name string) error {
		_, err := g.repository(filepath.Join(g.target, name))
		return err
	})
}

// worktrees adds what leads git from a repository to its worktrees and back.
func (g *guard) worktrees(repository string, perWorktree bool) error {
	all, err := g.entries(filepath.Join(repository, gitWorktrees))
	if err != nil {
		return err
	}
	if len(all) > mostRepositories {
		return fmt.Errorf("%s has more than %d worktrees: `git worktree prune` removes those that are gone",
			filepath.Join(g.target, repository), mostRepositories)
	}
	for _, name := range all {
		dir := filepath.Join(g.target, name)
		keepOwn := g.keepIfThere
		if perWorktree {
			keepOwn = g.keepFile
		}
		if err := errors.Join(
			g.keepIfThere(filepath.Join(dir, gitCommon)),
			g.keepIfThere(filepath.Join(dir, "gitdir")),
			keepOwn(filepath.Join(dir, gitOwnConfig)),
		); err != nil {
			return err
		}
		file := leadsTo(filepath.Join(dir, "gitdir"), "")
		if _, err := os.Lstat(file); file == "" || err != nil {
			continue
		}
		if err := g.checkout(file); err != nil {
			return err
		}
	}
	return nil
}

// hooks adds the directories of hooks that configurations name for a worktree.
func (g *guard) hooks(settings gitSettings, worktree string) error {
	for _, named := range slices.Concat(settings.hooks, g.users.hooks) {
		if !filepath.IsAbs(named) {
			named = filepath.Join(worktree, named)
		}
		switch rel := g.inTarget(named); rel {
		case "":
		case ".", g.inTarget(worktree):
			return &preflight.Failure{
				Check:   preflight.CheckTarget,
				Path:    named,
				Message: "The hooks of git are in " + named + " itself, so agents cannot be kept from them",
				Fix:     "name another directory with core.hooksPath, or " + g.allow,
			}
		default:
			if err := g.keepDir(named); err != nil {
				return err
			}
		}
	}
	return nil
}

// entriesOf returns the directories in a directory of a root; none if it does not exist.
func entriesOf(ctx context.Context, root *disk.Root, dir string) (found []string, err error) {
	entries, err := readDir(ctx, root, dir)
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

// submodules visits the repositories that a repository keeps of its submodules and of those of its worktrees, and of
// theirs. An agent may have put anything there, so an error means that there may be more, and the rest is visited.
func submodules(
	ctx context.Context, root *disk.Root, repository string, visit func(repository string) error,
) (err error) {
	modulesOf := func(dir string) (all []string) {
		worktrees, failed := entriesOf(ctx, root, filepath.Join(dir, gitWorktrees))
		err = errors.Join(err, failed)
		for _, owner := range append(worktrees, dir) {
			all = append(all, filepath.Join(owner, gitModules))
		}
		return all
	}
	below := modulesOf(repository)
	for visited := 0; len(below) > 0; visited++ {
		if failed := ctx.Err(); failed != nil {
			return failed
		}
		if visited == mostDirectories {
			return errors.Join(err, fmt.Errorf("%s has more than %d directories", repository, mostDirectories))
		}
		entries, failed := entriesOf(ctx, root, below[0])
		err = errors.Join(err, failed)
		below = below[1:]
		for _, dir := range entries {
			if !isRepository(root.Lstat, dir) {
				below = append(below, dir) // the name of a submodule can have several parts
				continue
			}
			err = errors.Join(err, visit(dir))
			below = append(below, modulesOf(dir)...)
		}
	}
	return err
}

// isRepository reports whether a directory has anything of a repository: an agent could hide one part of it.
func isRepository(lstat func(name string) (fs.FileInfo, error), dir string) bool {
	return slices.ContainsFunc([]string{gitHead, gitObjects, gitConfig}, func(name string) bool {
		_, err := lstat(filepath.Join(dir, name))
		return err == nil
	})
}

// runGit runs git with an input, as exec.Cmd.Run does.
type runGit func(path string, args []string, input []byte) (out, problems []byte, err error)
