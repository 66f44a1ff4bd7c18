package disk

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Identity tells a file or directory from others, whatever paths lead to it.
type Identity struct {
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
}

// Is reports whether both are known and the same.
func (i Identity) Is(other Identity) bool { return i == other && i != Identity{} }

// Identity returns that of the directory which is held open.
func (r *Root) Identity() (Identity, error) {
	info, err := r.Stat(".")
	if err != nil {
		return Identity{}, err
	}
	return IdentityOf(info), nil
}

// Enter opens a directory of the root, to which no link leads. It holds what it opened, whatever comes in its place.
func (r *Root) Enter(name string) (*Root, error) {
	if err := r.check("open", name); err != nil {
		return nil, err
	}
	at, err := r.enter(".")
	for part := range strings.SplitSeq(filepath.Clean(name), string(filepath.Separator)) {
		if err != nil {
			return nil, err
		}
		if part == "." {
			continue
		}
		next, failed := at.enter(part)
		if err = at.Close(); failed != nil {
			return nil, failed
		}
		at = next
	}
	return at, err
}

// asDir ends the name of what is opened as a directory. Opening a pipe that has come in its place would wait.
const asDir = "/."

// enter opens an entry of a directory, if it is a directory and no link.
func (r *Root) enter(name string) (*Root, error) {
	seen, err := r.root.Lstat(name)
	if err != nil {
		return nil, r.named(err)
	}
	path := filepath.Join(r.name, name)
	if !seen.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: syscall.ENOTDIR}
	}
	root, err := r.root.OpenRoot(name + asDir)
	if err != nil {
		return nil, r.named(err)
	}
	return same(&Root{root, path}, seen)
}

// same closes a root and fails, unless the root is the directory that was seen.
func same(root *Root, seen fs.FileInfo) (*Root, error) {
	info, err := root.root.Stat(".")
	if err == nil && !os.SameFile(info, seen) {
		err = fmt.Errorf("%s was replaced while it was opened", root.name)
	}
	if err != nil {
		_ = root.root.Close()
		return nil, root.named(err)
	}
	return root, nil
}
