package confine

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"maestro/internal/files"
)

// mounts changes the mounts of this process's own namespace.
type mounts struct {
	places places
	// trees are copies of what the places show, made before anything is covered.
	trees map[string]int
	// covers are the empty file systems over hidden directories.
	covers []int
	// pinned are the directories that are mounts only so that they cannot be renamed.
	pinned map[string]bool
}

// mountAll makes everything read-only, and then mounts each place on its path. A place comes after those that contain
// it, so each is mounted on what is visible there by then.
func mountAll(ps places) (err error) {
	m := &mounts{
		places: ps,
		trees:  map[string]int{},
		pinned: map[string]bool{},
	}
	defer m.close()
	if err := m.copyTrees(); err != nil {
		return err
	}
	if err := setFlags(unix.AT_FDCWD, "/", unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID); err != nil {
		return fmt.Errorf("make all mounts read-only: %w", err)
	}
	if err := m.mountProc(); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	for _, p := range ps {
		if err := m.mount(p); err != nil {
			return fmt.Errorf("mount %s: %w", p.path, err)
		}
	}
	for _, cover := range m.covers {
		// not recursively: what is mounted below may be writable
		attr := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
		if err := unix.MountSetattr(cover, "", unix.AT_EMPTY_PATH, attr); err != nil {
			return fmt.Errorf("make an empty directory read-only: %w", err)
		}
	}
	return nil
}

func (m *mounts) close() {
	for _, fd := range m.trees {
		_ = unix.Close(fd)
	}
	for _, fd := range m.covers {
		_ = unix.Close(fd)
	}
}

// copyTrees copies the mounts below each place that is shown again later.
func (m *mounts) copyTrees() error {
	wanted := devices()
	for _, p := range m.places {
		if p.access != hidden && p.path != "/" && p.path != "/dev" && !below(p.path, "/dev") {
			wanted = append(wanted, p.source())
		}
	}
	for _, path := range wanted {
		if _, have := m.trees[path]; have {
			continue
		}
		fd, err := open(path, nothing)
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) {
			continue // show says whether the policy gives it
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		tree, err := clone(fd)
		if err := errors.Join(err, unix.Close(fd)); err != nil {
			return fmt.Errorf("copy %s: %w", path, err)
		}
		m.trees[path] = tree
	}
	return nil
}

// source returns the path whose content appears at the place.
func (p place) source() string {
	if p.from != "" {
		return p.from
	}
	return p.path
}

// mount makes a place what it shall be, where that differs from what is there already.
func (m *mounts) mount(p place) error {
	above := m.places.above(p)
	switch {
	case p.path == "/":
		return nil
	case p.path == "/dev":
		return m.mountDev()
	case p.path == "/dev/pts":
		return nil // by mountDev
	case p.path == "/dev/shm":
		return nil // by mountDev
	case p.access == hidden:
		return m.hide(p, above)
	case p.access == writable:
		return m.show(p, above, 0)
	case above.access == readable && above.from == "":
		return nil
	default:
		return m.show(p, above, unix.MOUNT_ATTR_RDONLY)
	}
}

// show mounts the original content of a place on its path.
func (m *mounts) show(p, above place, flags uint64) error {
	tree, have := m.trees[p.source()]
	if !have && p.access == writable {
		return fmt.Errorf("%s cannot be opened: %w", p.source(), unix.EACCES)
	}
	if !have {
		return nil // the machine does not have it, or the user cannot read it
	}
	if p.from != "" { // the tree is mounted in several places
		copied, err := clone(tree)
		if err != nil {
			return err
		}
		defer unix.Close(copied)
		tree = copied
	}
	if err := setFlags(tree, "", flags|unix.MOUNT_ATTR_NOSUID); err != nil {
		return err
	}
	missing := directory
	if !isDirectory(tree) {
		missing = file
	}
	if above.access != hidden && above.from == "" {
		missing = nothing
	}
	if err := m.pin(p, above); err != nil {
		return err
	}
	fd, err := open(p.path, missing)
	if err != nil {
		return err
	}
	return errors.Join(move(tree, fd), unix.Close(fd))
}

// hide covers a directory by an empty one, and a file by one that cannot be opened.
func (m *mounts) hide(p, above place) error {
	fd, err := open(p.path, nothing)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := m.pin(p, above); err != nil {
		return err
	}
	if isDirectory(fd) {
		cover, err := fileSystem("tmpfs", 0, "mode", "0700", "size", "4m")
		if err != nil {
			return err
		}
		m.covers = append(m.covers, cover)
		if err := mark(cover); err != nil {
			return err
		}
		return move(cover, fd)
	}
	cover, err := clone(m.trees["/dev/null"])
	if err != nil {
		return err
	}
	defer unix.Close(cover)
	// a device on a mount without devices cannot be opened
	if err := setFlags(cover, "", unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NODEV); err != nil {
		return err
	}
	return move(cover, fd)
}

// mark says in a directory that it is not as empty as it looks.
func mark(directory int) error {
	fd, err := unix.Openat(directory, files.HiddenMark, unix.O_WRONLY|unix.O_CREAT|unix.O_CLOEXEC, 0o400)
	if err != nil {
		return fmt.Errorf("mark a hidden directory: %w", err)
	}
	return unix.Close(fd)
}

// pin mounts the directories between a writable place and a place below it on themselves. The command could rename them
// otherwise, and create another file at the path of the place.
func (m *mounts) pin(p, above place) error {
	if above.access != writable {
		return nil
	}
	rel := strings.TrimPrefix(filepath.Dir(p.path), above.path)
	dir := above.path
	for name := range strings.SplitSeq(rel, "/") {
		if name == "" {
			continue
		}
		dir = filepath.Join(dir, name)
		if m.pinned[dir] || m.places.has(dir) {
			continue
		}
		m.pinned[dir] = true
		fd, err := open(dir, m.createIn(above))
		if err != nil {
			return err
		}
		tree, err := clone(fd)
		if err == nil {
			err = errors.Join(move(tree, fd), unix.Close(tree))
		}
		if err := errors.Join(err, unix.Close(fd)); err != nil {
			return fmt.Errorf("protect %s from being renamed: %w", dir, err)
		}
	}
	return nil
}

// createIn says whether directories may be created in a place: only in the command's temporary ones.
func (m *mounts) createIn(p place) missing {
	if p.from != "" {
		return directory
	}
	return nothing
}

// mountProc mounts a /proc that shows the processes of this namespace. Without flags, root could change the settings of
// the kernel there.
func (m *mounts) mountProc() error {
	proc, err := fileSystem("proc", unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NODEV)
	if err != nil {
		return err
	}
	return moveTo(proc, "/proc")
}

// mountDev mounts a /dev with the devices that reach nothing, terminals of the command's own, and shared memory.
func (m *mounts) mountDev() error {
	dev, err := fileSystem("tmpfs", 0, "mode", "0755", "size", "4m")
	if err != nil {
		return err
	}
	m.covers = append(m.covers, dev)
	fd, err := open("/dev", nothing)
	if err != nil {
		return err
	}
	if err := errors.Join(move(dev, fd), unix.Close(fd)); err != nil {
		return err
	}
	for _, path := range devices() {
		tree, have := m.trees[path]
		if !have {
			continue
		}
		node, err := open(path, file)
		if err != nil {
			return err
		}
		copied, err := clone(tree)
		if err == nil {
			err = errors.Join(setFlags(copied, "", unix.MOUNT_ATTR_NOSUID), move(copied, node), unix.Close(copied))
		}
		if err := errors.Join(err, unix.Close(node)); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	links := [][2]string{
		{"/proc/self/fd", "fd"},
		{"/proc/self/fd/0", "stdin"},
		{"/proc/self/fd/1", "stdout"},
		{"/proc/self/fd/2", "stderr"},
		{"pts/ptmx", "ptmx"},
	}
	for _, link := range links {
		if err := unix.Symlinkat(link[0], dev, link[1]); err != nil {
			return fmt.Errorf("/dev/%s: %w", link[1], err)
		}
	}
	pts, err := fileSystem("devpts", unix.MOUNT_ATTR_NOEXEC, "ptmxmode", "0666", "mode", "0620")
	if err != nil {
		return fmt.Errorf("/dev/pts: %w", err)
	}
	if err := moveTo(pts, "/dev/pts"); err != nil {
		return fmt.Errorf("/dev/pts: %w", err)
	}
	shm, err := fileSystem("tmpfs", unix.MOUNT_ATTR_NODEV, "mode", "1777")
	if err != nil {
		return fmt.Errorf("/dev/shm: %w", err)
	}
	return moveTo(shm, "/dev/shm")
}

// missing says what to do with a path that does not exist.
type missing int

const (
	nothing missing = iota
	directory
	file
)

// open returns a descriptor of a path that contains no symbolic link: a command that confined this directory before
// could have left one. What is missing is created where that is wanted.
func open(path string, create missing) (fd int, err error) {
	fd, err = unix.Open("/", unix.O_PATH|unix.O_CLOEXEC|unix.O_DIRECTORY, 0)
	if err != nil {
		return -1, err
	}
	names := slices.DeleteFunc(strings.Split(path, "/"), func(name string) bool { return name == "" })
	for i, name := range names {
		next, err := openat(fd, name)
		if errors.Is(err, unix.ENOENT) && create != nothing {
			if create == file && i == len(names)-1 {
				err = touch(fd, name)
			} else {
				err = unix.Mkdirat(fd, name, 0o755)
			}
			if err == nil {
				next, err = openat(fd, name)
			}
		}
		if err := errors.Join(err, unix.Close(fd)); err != nil {
			return -1, err
		}
		fd = next
	}
	return fd, nil
}

// openat returns a descriptor of an entry of a directory, if it is no symbolic link.
func openat(dir int, name string) (fd int, err error) {
	fd, err = unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if modeOf(fd) == unix.S_IFLNK {
		_ = unix.Close(fd)
		return -1, fmt.Errorf("%s is a symbolic link: %w: remove it", name, unix.ELOOP)
	}
	return fd, nil
}

// touch creates an empty file.
func touch(dir int, name string) error {
	fd, err := unix.Openat(dir, name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// modeOf returns the type of a file; 0 if it is unknown.
func modeOf(fd int) uint32 {
	var stat unix.Stat_t
	if unix.Fstat(fd, &stat) != nil {
		return 0
	}
	return stat.Mode & unix.S_IFMT
}

func isDirectory(fd int) bool { return modeOf(fd) == unix.S_IFDIR }

// clone copies the mounts below a descriptor. What is mounted elsewhere later does not appear in the copy.
func clone(fd int) (tree int, err error) {
	tree, err = unix.OpenTree(fd, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
	if err != nil {
		return -1, err
	}
	return tree, nil
}

// setFlags adds flags to a mount and to all below it, and separates them from the mounts of other namespaces.
func setFlags(fd int, path string, flags uint64) error {
	return unix.MountSetattr(fd, path, unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{
		Attr_set:    flags,
		Propagation: unix.MS_PRIVATE,
	})
}

// fileSystem returns a new file system. Options are names and values.
func fileSystem(kind string, flags int, options ...string) (fd int, err error) {
	context, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer unix.Close(context)
	for i := 0; i+1 < len(options); i += 2 {
		if err := unix.FsconfigSetString(context, options[i], options[i+1]); err != nil {
			return -1, fmt.Errorf("%s=%s: %w", options[i], options[i+1], err)
		}
	}
	if err := unix.FsconfigCreate(context); err != nil {
		return -1, err
	}
	return unix.Fsmount(context, unix.FSMOUNT_CLOEXEC, flags|unix.MOUNT_ATTR_NOSUID)
}

// move mounts a tree on a file.
func move(tree, on int) error {
	return unix.MoveMount(tree, "", on, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// moveTo mounts a new file system on a path, creates that directory if needed, and closes the descriptor.
func moveTo(tree int, path string) error {
	fd, err := open(path, directory)
	if err == nil {
		err = errors.Join(move(tree, fd), unix.Close(fd))
	}
	return errors.Join(err, unix.Close(tree))
}
