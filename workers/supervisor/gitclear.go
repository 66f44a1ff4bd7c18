package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"maestro/internal/disk"
	"maestro/internal/files"
	"maestro/internal/safetext"
)

// Undone is something that an agent left in a repository, which led its user's git elsewhere, and which was undone.
type Undone struct {
	Path string `json:"path"`
	// Why says what it did, and what was done about it.
	Why string `json:"why"`
}

const (
	whyRedirected = "it led git to other hooks and another configuration; it was removed"
	whyBroken     = "without it, git would not take this for a repository and look for another one; it was restored"
)

// errReplaced means that a directory is not the one that was there before the launch. Nothing is changed in it: whoever
// undoes something is not confined, and an agent can lead a path anywhere.
var errReplaced = errors.New("was not restored because the directory was replaced")

// restoreGit undoes what leads git away from the repositories in a target, as they were described before the launch: a
// file commondir, which an agent can create because git creates others beside it, and what is missing of a repository,
// because git then looks for another one there. It changes nothing but what is in these very directories, wherever
// their paths lead meanwhile. An error means that some were not restored; the rest is done.
func restoreGit(ctx context.Context, root *disk.Root, known []gitRepository) (undone []Undone, err error) {
	r := &restoring{root: root, target: root.Name()}
	if at := root.Path(); len(known) > 0 && at != "" && at != r.target {
		r.undone = append(r.undone, Undone{
			Path: r.target,
			Why:  "the directory in which the agent worked is at " + at + " now; nothing else was looked at",
		})
		r.target = at
	}
	for _, repository := range known {
		err = errors.Join(err, r.within(repository, func(dir *disk.Root) error { return r.restore(dir, repository) }))
	}
	for _, repository := range known { // all of them are open by now
		_ = r.within(repository, func(dir *disk.Root) error { // the error is known
			err = errors.Join(err, submodules(ctx, dir, ".", func(name string) error {
				below, err := dir.Enter(name)
				if err != nil {
					return err
				}
				return errors.Join(r.removeCommon(below, filepath.Join(repository.Dir, name)), below.Close())
			}))
			return nil
		})
	}
	return r.undone, files.Bare(err)
}

// NotRestored says what an error of [Saved.RestoreGit] means for whoever uses git in the target next.
func NotRestored(err error) string {
	why := safetext.Shorten(strings.ReplaceAll(err.Error(), "\n", "; "), mostReason)
	return "something may still lead git to other hooks and another configuration (" + why +
		"): look at that before you use git there"
}

// restoring restores the repositories of a target.
type restoring struct {
	root *disk.Root
	// target is where it is.
	target string
	undone []Undone
}

func (r *restoring) undid(name, why string) {
	r.undone = append(r.undone, Undone{shownPath(filepath.Join(r.target, name)), why})
}

// mostReason bounds what is said of an error. An agent can cause as many as it wants.
const mostReason = 2 << 10

// shownPath returns a path as the timeline takes it: an agent can give a file any name.
func shownPath(path string) string {
	if short(path) != path || strings.ContainsAny(path, "\n\t") {
		path = strconv.Quote(path)
	}
	return short(path)
}

// within calls a function with a repository, which it holds open, if it is the one that was described. It lets the user
// into it if an agent took that away.
func (r *restoring) within(repository gitRepository, do func(dir *disk.Root) error) (err error) {
	at, err := r.root.Enter(".")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, at.Close()) }()
	gone := fmt.Errorf("the repository %s is gone", filepath.Join(r.target, repository.Dir))
	if repository.Head == "" {
		gone = nil
	}
	for i, part := range partsOf(repository.Dir) {
		info, err := at.Lstat(part)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return gone
		case err != nil:
			return err
		case !info.IsDir():
			return r.replaced(repository)
		}
		if repository.Open && i < len(repository.Way) {
			if err := openDir(at, part, info, repository.Way[i]); err != nil {
				return err
			}
		}
		next, err := at.Enter(part)
		if err != nil {
			return err
		}
		_ = at.Close() // only passed
		at = next
	}
	is, err := at.Identity()
	if err != nil {
		return err
	}
	if len(repository.Way) == 0 || !is.Is(repository.Way[len(repository.Way)-1]) {
		return r.replaced(repository)
	}
	return do(at)
}

func (r *restoring) replaced(repository gitRepository) error {
	return fmt.Errorf("%s %w", filepath.Join(r.target, repository.Dir), errReplaced)
}

// openDir lets the user into a directory, if it is the one that was described.
func openDir(root *disk.Root, name string, info fs.FileInfo, was disk.Identity) error {
	mode := info.Mode().Perm()
	if mode&0o700 == 0o700 || !disk.IdentityOf(info).Is(was) {
		return nil
	}
	return root.ChmodDir(name, was, mode|0o700)
}

// restore makes a directory a repository again, if it was one.
func (r *restoring) restore(dir *disk.Root, repository gitRepository) error {
	err := r.removeCommon(dir, repository.Dir)
	if repository.Head == "" {
		return err
	}
	for _, part := range repository.Parts {
		err = errors.Join(err, r.restorePart(dir, repository, part))
	}
	if isHeadIn(dir) {
		return err
	}
	aside, failed := clearName(dir, gitHead, false)
	if failed == nil {
		failed = write(dir, gitHead, repository.Head)
	}
	if failed != nil {
		return errors.Join(err, failed)
	}
	r.undid(filepath.Join(repository.Dir, gitHead), whyBroken+aside)
	return err
}

// restorePart makes a directory of a repository again, unless there is one that its user may enter.
func (r *restoring) restorePart(dir *disk.Root, repository gitRepository, part gitPart) error {
	info, err := dir.Lstat(part.Name)
	isDir := err == nil && info.IsDir()
	if isDir && repository.Open {
		if err := openDir(dir, part.Name, info, part.Is); err != nil {
			return err
		}
		info, err = dir.Lstat(part.Name)
		isDir = err == nil && info.IsDir() && info.Mode().Perm()&0o700 == 0o700
	}
	if isDir {
		return nil
	}
	aside, err := clearName(dir, part.Name, true)
	if err == nil {
		err = dir.Mkdir(part.Name, 0o755)
	}
	if err == nil {
		r.undid(filepath.Join(repository.Dir, part.Name), whyBroken+aside)
	}
	return err
}

// removeCommon removes what makes a repository one of a worktree, whose hooks and configuration are elsewhere.
func (r *restoring) removeCommon(dir *disk.Root, repository string) error {
	if _, err := dir.Lstat(gitCommon); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	name := filepath.Join(repository, gitCommon)
	aside, err := clearName(dir, gitCommon, false)
	if err != nil {
		return fmt.Errorf("%s is there and cannot be removed: %w", filepath.Join(r.target, name), err)
	}
	r.undid(name, whyRedirected+aside)
	return nil
}

// mostAside bounds the names that are tried for what is moved aside.
const mostAside = 100

// clearName frees a name in a repository. A directory may hold anything, so it is moved aside in the repository; aside
// says so. So is a file where a directory was: an agent may have moved something there.
func clearName(dir *disk.Root, name string, wasDir bool) (aside string, err error) {
	info, err := dir.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", err
	case !info.IsDir() && (!wasDir || !info.Mode().IsRegular()):
		return "", dir.Remove(name)
	}
	for n := range mostAside {
		to := fmt.Sprintf("%s.aside-%d", name, n)
		if _, err := dir.Lstat(to); errors.Is(err, fs.ErrNotExist) {
			return "; what was in its place is " + to + " now", dir.Rename(name, to)
		}
	}
	return "", fmt.Errorf("more than %d directories %s.aside are there: remove them", mostAside, name)
}

func write(dir *disk.Root, name, content string) error {
	f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	return errors.Join(err, f.Close())
}
