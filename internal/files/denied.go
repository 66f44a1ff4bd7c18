package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"maestro/internal/disk"
	"maestro/internal/safetext"
)

// Access is the permission that an operation needs.
type Access int

// The kinds of access.
const (
	// ToRead is for a file's content, or a directory's names.
	ToRead Access = iota
	// ToWrite is for a file's content.
	ToWrite
	// ToChange is for a name: to create, replace or remove it.
	ToChange
)

func (a Access) String() string {
	return [...]string{"read", "written", "made, replaced or removed"}[a]
}

// DeniedError says that the system does not permit this user to use a file, what denies it, and what would permit it.
// Match it with errors.As.
type DeniedError struct {
	What, Why, Next string
	err             error
}

func (e *DeniedError) Error() string { return e.What + ": " + e.Why + "; " + e.Next }

func (e *DeniedError) Unwrap() error { return e.err }

// Allow returns Next.
func (e *DeniedError) Allow() string { return e.Next }

// Explain returns a *DeniedError for an operation on a file or directory that failed for lack of permission. It returns
// other errors unchanged.
func Explain(path string, access Access, err error) error {
	var known *DeniedError
	if !errors.Is(err, fs.ErrPermission) || errors.As(err, &known) {
		return err
	}
	path = disk.Shown(path)
	denied := &DeniedError{What: fmt.Sprintf("%s cannot be %s", path, access), err: err}
	by, info := denier(path, access)
	what := "it"
	if by != path {
		what = by
	}
	var wrong error
	if info != nil {
		wrong = Owned(info)
	}
	if info != nil && wrong == nil && modeAllows(info.Mode()) { // access(2) denies a file with such an attribute too
		info, path = nil, by
	}
	switch {
	case info == nil: // the mode permits it: a file attribute, or a rule of the system, denies it
		var number syscall.Errno
		denied.Why = "permission denied"
		if errors.As(err, &number) {
			denied.Why = number.Error()
		}
		denied.Next = fmt.Sprintf("look for attributes with `lsattr -d %s %s` and take them away with `chattr`; "+
			"else a rule of the system forbids it", safetext.Quoted(filepath.Dir(path)), safetext.Quoted(path))
	case wrong != nil:
		denied.Why = what + " " + wrong.Error()
		denied.Next = fmt.Sprintf("as its owner or root, run: chown %d %s", os.Geteuid(), safetext.Quoted(by))
	default:
		denied.Why = fmt.Sprintf("the mode of %s is %04o", what, info.Mode().Perm())
		denied.Next = "run: chmod u+rw " + safetext.Quoted(by)
		if info.IsDir() {
			denied.Next = "run: chmod u+rwx " + safetext.Quoted(by)
		}
	}
	return denied
}

// permits is allowed. Tests replace it.
var permits = allowed

// modeAllows reports whether a mode gives its owner everything that chmod could.
func modeAllows(mode fs.FileMode) bool {
	if mode.IsDir() {
		return mode.Perm()&0o700 == 0o700
	}
	return mode.Perm()&0o600 == 0o600
}

// denier returns the first part of a path whose mode or owner denies an access, and nil information if none does.
func denier(path string, access Access) (string, fs.FileInfo) {
	path, err := filepath.Abs(path)
	if err != nil {
		return path, nil
	}
	parent := filepath.Dir(path)
	for _, above := range dirsAbove(path) {
		info, err := disk.Stat(above)
		if err != nil {
			return path, nil
		}
		if !permits(above, false, access == ToChange && above == parent, true) {
			return above, info
		}
	}
	info, err := disk.Stat(path)
	if err != nil || access == ToChange || permits(path, true, access == ToWrite, info.IsDir()) {
		return path, nil
	}
	return path, info
}

// dirsAbove lists the directories that lead to a path, starting at the root.
func dirsAbove(path string) []string {
	parent := filepath.Dir(path)
	if parent == path {
		return nil
	}
	return append(dirsAbove(parent), parent)
}
