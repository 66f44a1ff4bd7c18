package preflight

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"maestro/internal/files"
)

// mostLinks is how many links a path may lead through, as on Linux.
const mostLinks = 40

// resolved returns where a path leads. Also of a path that leads nowhere it is known where that is: its end then
// remains as the path, or the last link, names it.
//
// byText takes the ".." of a link by the text alone. An agent that chooses a path could otherwise learn from the result
// what exists elsewhere, because "/there/name/../../back" leads back only if /there/name is a directory.
func resolved(path string, byText bool) string {
	if real, err := filepath.EvalSymlinks(path); err == nil && !byText {
		return real
	}
	path = filepath.Clean(path)
	for range mostLinks {
		next, found := followed(path)
		if !found {
			return path
		}
		path = next
	}
	return path
}

// followed replaces the first link of an absolute path by what it names.
func followed(path string) (next string, found bool) {
	for end := 1; end <= len(path); end++ {
		if end < len(path) && path[end] != filepath.Separator {
			continue
		}
		info, err := os.Lstat(path[:end])
		if err != nil {
			return path, false
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			continue
		}
		to, err := os.Readlink(path[:end])
		if err != nil {
			return path, false
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path[:end]), to)
		}
		return filepath.Join(to, path[end:]), true
	}
	return path, false
}

// suitable returns where a target leads. It fails with a *Failure if no agent may work there, and only after that tells
// what is there: of all places outside of its bounds, an agent learns the same.
func suitable(o Options, target, workspace string) (real string, err error) {
	real = resolved(target, len(o.Within) > 0)
	if real != workspace {
		if err := inside(o.Within, target, real); err != nil {
			return "", err
		}
	}
	if err := outOfHome(o, real); err != nil {
		return "", err
	}
	if real == workspace {
		return real, nil
	}
	if err := fit(o, real); err != nil {
		return "", err
	}
	if err := outOfWorkspaces(o, real); err != nil {
		return "", err
	}
	return real, isDir(target, real, CheckTarget, "spawn a session with another --working-directory")
}

// inside refuses a target outside of a directory that bounds it. It does not say where a link leads.
func inside(bounds []string, target, real string) error {
	for _, bound := range bounds {
		within, err := Absolute(bound)
		if err == nil {
			within, err = filepath.EvalSymlinks(within)
		}
		if err == nil && (real == within || below(real, within)) {
			continue
		}
		return &Failure{
			Check: CheckTarget,
			Path:  target,
			Message: "The working directory " + target + " is, or leads, outside of " + bound +
				", where a session above this one works",
			Fix: "remove the link that leads there, or spawn the session yourself",
			Err: err,
		}
	}
	return nil
}

// isDir fails unless a path, which leads to real, is that of a directory; other says how to name another one.
func isDir(path, real string, check Check, other string) error {
	info, err := os.Lstat(real)
	failure := &Failure{
		Check: check,
		Path:  path,
		Fix:   other,
		Err:   err,
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		failure.Message = "The " + named(check) + " " + path + " does not exist on this machine"
		failure.Fix = "create it, or " + other
	case errors.Is(err, fs.ErrPermission):
		failure.Message = "The " + named(check) + " " + path + " cannot be reached: a directory above it is closed"
		failure.Check, failure.Err = CheckPermissions, &PermissionError{err}
		failure.Fix = "let this user enter the directories above it"
	case err != nil:
		failure.Message = "The " + named(check) + " " + path + " cannot be read: " + files.Bare(err).Error()
	case !info.IsDir():
		failure.Message = "The " + named(check) + " " + path + " is a file, not a directory"
	default:
		return nil
	}
	return failure
}
