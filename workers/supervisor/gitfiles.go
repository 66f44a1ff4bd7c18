package supervisor

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"maestro/internal/disk"
	"maestro/workers/preflight"
)

// What git reads in a repository, and runs the programs that are named there: no diff shows a change of it, and whoever
// uses git next runs these programs as itself.
const (
	gitDir     = ".git"
	gitHooks   = "hooks"
	gitConfig  = "config"
	gitModules = "modules"
	// gitCommon names another directory, whose hooks and configuration git then uses. Only a worktree has it.
	gitCommon = "commondir"
	// mostRepositories bounds the submodules of a target.
	mostRepositories = 64
)

// gitFiles returns the paths of a target that an agent must not change, so that its user's git runs nothing that the
// agent wrote: the hooks and the configuration of the repository and of its submodules, or the file that says where the
// repository is.
func gitFiles(target string) (paths []string, err error) {
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
	case !info.IsDir():
		return nil, noProtection(target, gitDir)
	}
	repositories, err := gitRepositories(root, gitDir)
	if err != nil {
		return nil, err
	}
	if len(repositories) > mostRepositories {
		return nil, fmt.Errorf("the repository in %s has more than %d submodules", target, mostRepositories)
	}
	for _, repository := range repositories {
		hooks := filepath.Join(repository, gitHooks)
		if err := root.Mkdir(hooks, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		for _, name := range []string{hooks, filepath.Join(repository, gitConfig)} {
			info, err := root.Lstat(name)
			if err != nil {
				return nil, err
			}
			if !info.IsDir() && !info.Mode().IsRegular() {
				return nil, noProtection(target, name)
			}
			paths = append(paths, filepath.Join(target, name))
		}
	}
	return paths, nil
}

// noProtection is the failure for a link in a repository, which an agent could replace.
func noProtection(target, name string) error {
	path := filepath.Join(target, name)
	return &preflight.Failure{
		Check:   preflight.CheckTarget,
		Path:    path,
		Message: path + " is a link, so it cannot be kept from an agent that works there",
		Fix: "replace the link by what it leads to, or let agents change the hooks and the configuration of git: " +
			"serve --allow-git-config",
	}
}

// gitRepositories returns the directories with the repository in a directory, and those of its submodules.
func gitRepositories(root *disk.Root, dir string) (found []string, err error) {
	_, err = root.Lstat(filepath.Join(dir, "HEAD"))
	switch {
	case err == nil:
		found, dir = append(found, dir), filepath.Join(dir, gitModules)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	entries, err := root.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return found, nil
	}
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if !entry.IsDir() || len(found) > mostRepositories {
			continue
		}
		more, err := gitRepositories(root, filepath.Join(dir, entry.Name()))
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
	return found, nil
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
	repositories, err := gitRepositories(root, gitDir)
	if err != nil {
		return nil, err
	}
	for _, repository := range repositories {
		name := filepath.Join(repository, gitCommon)
		if _, err := root.Lstat(name); err != nil {
			continue
		}
		if err := root.RemoveAll(name); err != nil {
			return removed, err
		}
		removed = append(removed, filepath.Join(target, name))
	}
	return removed, nil
}
