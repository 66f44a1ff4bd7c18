package supervisor

import (
	"errors"
	"fmt"
	"path/filepath"

	"maestro/internal/disk"
	"maestro/internal/files"
)

// mostDirectories bounds how many directories are visited to find repositories.
const mostDirectories = 20_000

// clearGitCommon removes from the repositories in a target what makes git read its hooks and its configuration
// elsewhere, and returns what it removed: an agent can create that file, because git has to create others beside it.
// known are the repositories that are known to be there, nil if that is not known. An error means that some may
// not have been found; the rest is done.
func clearGitCommon(target string, known []string) (removed []string, err error) {
	root, err := disk.OpenRoot(target)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	clean := func(repository string) {
		name := filepath.Join(repository, gitCommon)
		if _, missing := root.Lstat(name); missing != nil {
			return
		}
		if failed := root.RemoveAll(name); failed != nil {
			err = errors.Join(err, failed)
			return
		}
		removed = append(removed, filepath.Join(target, name))
	}
	if known == nil {
		known = checkouts(root)
	}
	for _, repository := range known {
		if info, gone := root.Lstat(repository); gone != nil || !info.IsDir() {
			continue
		}
		clean(repository)
		err = errors.Join(err, submodules(root, repository, clean))
	}
	return removed, files.Bare(err)
}

// submodules visits the repositories that a repository keeps of its submodules, and of theirs. An agent may have put
// anything there, so an error means that there may be more, and the rest is visited.
func submodules(root *disk.Root, repository string, visit func(repository string)) (err error) {
	below := []string{filepath.Join(repository, gitModules)}
	for visited := 0; len(below) > 0; below = below[1:] {
		if visited++; visited > mostDirectories {
			return errors.Join(err, fmt.Errorf("%s has more than %d directories", repository, mostDirectories))
		}
		entries, failed := entriesOf(root, below[0])
		err = errors.Join(err, failed)
		for _, dir := range entries {
			if isRepository(root, dir) {
				visit(dir)
				dir = filepath.Join(dir, gitModules)
			}
			below = append(below, dir) // the name of a submodule can have several parts
		}
	}
	return err
}
