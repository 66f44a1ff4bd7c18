package home

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"maestro/internal/disk"
	"maestro/internal/files"
	"maestro/internal/safetext"
)

// The files and directories of a home.
const (
	lockFile       = "lock"
	adminTokenFile = "admin.token"
	serverKeyFile  = "server.key"
	serverFile     = "server.json"
	storeDir       = "store"
	headFile       = "head"
	snapshotsDir   = "snapshots"
	restoredFile   = "restored.json"
	earlierFile    = "earlier-backups.json"
)

// Home is an open home directory.
type Home struct {
	dir  string
	root *disk.Root
	// created says that Create made the directory.
	created bool
}

// Path returns the home directory that the environment names: $MAESTRO_HOME, or .maestro in the user's home directory.
func Path(getenv func(string) string) (string, error) {
	dir := getenv("MAESTRO_HOME")
	if dir == "" {
		user := getenv("HOME")
		if user == "" {
			user = getenv("USERPROFILE")
		}
		if user == "" {
			return "", errors.New("there is no home directory: set MAESTRO_HOME")
		}
		dir = filepath.Join(user, ".maestro")
	}
	return filepath.Abs(dir)
}

// Open opens an existing home. It fails with fs.ErrNotExist when there is none, and refuses one that others can use.
func Open(dir string) (*Home, error) {
	root, err := disk.OpenRoot(dir)
	if err != nil {
		return nil, notOpened(dir, err)
	}
	h := &Home{dir: dir, root: root}
	if _, err := root.Lstat(files.HiddenMark); err == nil {
		return nil, errors.Join(&Problem{
			What:   "The home " + dir + " is hidden from this process",
			Why:    "an agent started this process, which may act only as the agent's session",
			Next:   "pass on the agent's whole environment, including MAESTRO_SOCKET",
			Hidden: true,
		}, root.Close())
	}
	if err := h.check(); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return h, nil
}

// Create opens a home, and creates it first when there is none.
func Create(dir string) (*Home, error) {
	_, missing := disk.Stat(dir)
	if err := makeDurably(dir); err != nil {
		if file := fileAbove(dir); file != "" {
			return nil, notHome(dir, file+" is not a directory", err)
		}
		return nil, &Problem{
			What: "The home " + dir + " cannot be made",
			Why:  reason(err).Error(),
			Next: "name another directory with MAESTRO_HOME, or with --home for a restore",
			err:  err,
		}
	}
	h, err := Open(dir)
	if err == nil {
		h.created = errors.Is(missing, fs.ErrNotExist)
	}
	return h, err
}

// makeDurably creates a directory and its missing parents, and syncs their entries.
func makeDurably(dir string) error {
	if _, err := disk.Stat(dir); err == nil {
		return nil
	}
	parent := filepath.Dir(dir)
	if err := makeDurably(parent); err != nil {
		return err
	}
	if err := disk.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	above, err := disk.Open(parent)
	if err != nil {
		return err
	}
	return errors.Join(syncDirectory(above), above.Close())
}

// syncDirectory syncs the entries of a directory. Tests replace it.
var syncDirectory = files.SyncNames

// Close closes the home. A Lock that was taken from it stays valid.
func (h *Home) Close() error { return h.root.Close() }

func (h *Home) check() error {
	info, err := h.root.Stat(".")
	if err != nil {
		return fmt.Errorf("look at the home: %w", err)
	}
	strange, open := files.Owned(info), files.Shared(info)
	switch {
	case strange == nil && !open:
		return nil
	case !h.holdsHome() && strange != nil:
		return notHome(h.dir, "it has neither a log nor secrets, and it "+strange.Error(), nil)
	case !h.holdsHome() && !h.onlyPrepared(): // its mode must not be changed: others use it
		return notHome(h.dir, "it has neither a log nor secrets, and it is open to others", nil)
	case strange != nil:
		return &Problem{
			What: fmt.Sprintf("The home %s %s", h.dir, strange), Next: "name your own with MAESTRO_HOME",
		}
	}
	return &Problem{
		What: fmt.Sprintf("The home %s is open to others (mode %04o)", h.dir, info.Mode().Perm()),
		Why:  "it holds secrets", Next: "run: chmod 700 " + safetext.Quoted(h.dir),
	}
}

// Dir returns the directory.
func (h *Home) Dir() string { return h.dir }

// Root returns the directory for packages that store files of their own in it, such as the outboxes. It is open until
// Close.
func (h *Home) Root() *disk.Root { return h.root }

// Store returns the directory of the log.
func (h *Home) Store() string { return filepath.Join(h.dir, storeDir) }

// Head returns the file that witnesses the log's head.
func (h *Home) Head() string { return filepath.Join(h.dir, headFile) }

// Snapshots returns the directory of encoded states.
func (h *Home) Snapshots() string { return filepath.Join(h.dir, snapshotsDir) }

// secret reads a file that nobody else may be able to read.
func (h *Home) secret(name string) ([]byte, error) {
	f, err := files.Open(h.root, name, os.O_RDONLY)
	if err != nil {
		return nil, h.notRead(name, err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read the home's %s: %w", name, err)
	}
	path := filepath.Join(h.dir, name)
	if err := files.Owned(info); err != nil {
		return nil, &Problem{
			What: fmt.Sprintf("The file %s %s", path, err),
			Why:  "only its owner can say that nobody else reads it",
			Next: fmt.Sprintf("as its owner or root, run: chown %d %s", os.Geteuid(), safetext.Quoted(path)),
		}
	}
	if files.Shared(info) {
		return nil, &Problem{
			What: fmt.Sprintf("The file %s is open to others (mode %04o)", path, info.Mode().Perm()),
			Why:  whyClosed(name), Next: "run: chmod 600 " + safetext.Quoted(path),
		}
	}
	content, err := io.ReadAll(io.LimitReader(f, maxNote))
	if err != nil {
		return nil, h.notRead(name, err)
	}
	return content, nil
}

// maxNote is the maximum size of the home's own small files in bytes, maxList of those with a line per session or
// token.
const (
	maxNote = 1 << 20
	maxList = 64 << 20
)

// read returns the content of a regular file of at most most bytes.
func (h *Home) read(name string, most int64) ([]byte, error) {
	content, err := files.Read(h.root, name, most)
	if err != nil {
		return nil, h.notRead(name, err)
	}
	return content, nil
}

// notRead returns the error that a file cannot be read.
func (h *Home) notRead(name string, err error) error {
	path := filepath.Join(h.dir, name)
	return fmt.Errorf("read %s: %w", path, reason(files.Explain(path, files.ToRead, h.explained(name, err))))
}

// temporaryOf returns the name of the temporary file that is renamed to name once it is written.
func temporaryOf(name string) string {
	return filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+".new")
}

// write replaces a file's content, durably, and completely or not at all. Only this user can read it.
func (h *Home) write(name string, content []byte) error {
	if err := files.Write(h.root, temporaryOf(name), name, content); err != nil {
		path := filepath.Join(h.dir, name)
		return fmt.Errorf("write %s: %w", path, reason(files.Explain(path, files.ToChange, err)))
	}
	return h.sync(filepath.Dir(name))
}

// replace is write, but first renames the existing file.
func (h *Home) replace(name, aside string, content []byte) error {
	if err := files.Replace(h.root, temporaryOf(name), name, aside, content); err != nil {
		path := filepath.Join(h.dir, name)
		return fmt.Errorf("write %s: %w", path, reason(files.Explain(path, files.ToChange, err)))
	}
	return h.sync(filepath.Dir(name))
}

func (h *Home) remove(name string) error {
	if err := h.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		path := filepath.Join(h.dir, name)
		return fmt.Errorf("remove %s: %w", path, reason(files.Explain(path, files.ToChange, err)))
	}
	return nil
}

// sync syncs the entries of a directory of the home.
func (h *Home) sync(name string) error {
	dir, err := h.root.Open(name)
	if err != nil {
		return fmt.Errorf("sync the home: %w", files.Explain(filepath.Join(h.dir, name), files.ToRead, err))
	}
	return errors.Join(files.SyncNames(dir), dir.Close())
}

// Discard releases the home, and removes it if it holds nothing but its lock file. It removes the lock file first,
// while it is locked: a waiting process then does not lock a file that others cannot see.
func (l *Lock) Discard() error {
	mine, err := l.isLock(l.file)
	if mine {
		err = l.remove(lockFile)
	}
	if err = errors.Join(err, l.Release()); err != nil {
		return errors.Join(err, l.Close())
	}
	err = disk.Remove(l.dir)
	if _, missing := l.root.Lstat(lockFile); missing == nil {
		err = nil // another process has the home now
	}
	return errors.Join(err, l.Close())
}
