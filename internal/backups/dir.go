package backups

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"maestro/events"
	"maestro/internal/disk"
	"maestro/internal/files"
	"maestro/internal/lazyregexp"
)

// Dir is a directory of automatic backups, as one home sees it. Several homes may share it: each one lists, prunes and
// removes only files whose names contain its own key.
type Dir struct {
	path string
	key  string
}

// At returns the directory of a home's backups: dir, or by default the home's name and "-backups" beside it. signer is
// the public part of the key that signs them, as bus.SignerName returns it; "" if the home has none.
func At(home, dir, signer string) Dir {
	if dir == "" {
		dir = filepath.Clean(home) + "-backups"
	}
	return Dir{dir, keyOf(signer)}
}

// signerPattern matches a signer: "ed25519:<64 hex>". The first 16 digits are the KEY in a file's name.
var signerPattern = lazyregexp.New(`^ed25519:([0-9a-f]{16})[0-9a-f]{48}$`)

func keyOf(signer string) string {
	if parts := signerPattern().FindStringSubmatch(signer); parts != nil {
		return parts[1]
	}
	return ""
}

// CheckPlace fails if backups would be inside what they back up: in the home, or in a directory of it that is elsewhere
// through a link.
func CheckPlace(dir string, home ...string) error {
	path, err := files.Resolve(dir)
	if err != nil {
		return nil //nolint:nilerr // nothing can be written there; the schedule says why
	}
	for _, part := range home {
		if files.Within(path, part) {
			return fmt.Errorf("%s is inside %s: whatever damages or deletes that takes the backups too", dir, part)
		}
	}
	return nil
}

// Path returns the directory.
func (d Dir) Path() string { return d.path }

// make creates the directory if there is none.
func (d Dir) make() error { return disk.MkdirAll(d.path, 0o700) }

// stamp is the format of the time in a file's name, in UTC.
const stamp = "20060102T150405Z"

// namePattern matches the names of automatic backups: maestro-KEY-TIME-SEQUENCE-HASH.tar.gz, with -partial if texts
// were lost. Earlier versions omitted KEY.
var namePattern = lazyregexp.New(
	`^maestro-(?:([0-9a-f]{16})-)?(\d{8}T\d{6}Z)-(\d{1,20})-([0-9a-f]{8})(-partial)?\.tar\.gz$`)

// Made is one automatic backup.
type Made struct {
	Path string
	// Key is the beginning of the signer's key; "" in a name of an earlier version.
	Key      string
	Time     time.Time
	Sequence uint64
	// Hash is the beginning of the head's hash.
	Hash string
	// Partial says that long texts were missing when it was made.
	Partial bool
	Bytes   int64
}

// Of reports whether the backup is of this head.
func (m Made) Of(head events.Head) bool {
	return m.Sequence == head.Sequence && m.Hash == head.Hash.String()[:8]
}

// nameOf returns the name of a backup without its directory.
func (d Dir) nameOf(head events.Head, at time.Time, partial bool) string {
	suffix := ""
	if partial {
		suffix = "-partial"
	}
	return fmt.Sprintf("maestro-%s-%s-%d-%s%s.tar.gz",
		d.key, at.UTC().Format(stamp), head.Sequence, head.Hash.String()[:8], suffix)
}

// parse parses the name of an automatic backup.
func parse(name string) (made Made, ok bool) {
	parts := namePattern().FindStringSubmatch(name)
	if parts == nil {
		return made, false
	}
	at, err := time.Parse(stamp, parts[2])
	if err != nil {
		return made, false
	}
	sequence, err := strconv.ParseUint(parts[3], 10, 64)
	return Made{
		Key:      parts[1],
		Time:     at,
		Sequence: sequence,
		Hash:     parts[4],
		Partial:  parts[5] != "",
	}, err == nil
}

// Named parses the name of an automatic backup; false if path is not the name of one.
func Named(path string) (made Made, ok bool) {
	made, ok = parse(filepath.Base(path))
	made.Path = path
	return made, ok
}

// List returns the backups with the home's key, newest first.
func (d Dir) List() ([]Made, error) {
	return d.list(func(made Made) bool { return d.key != "" && made.Key == d.key })
}

func (d Dir) list(wanted func(Made) bool) ([]Made, error) {
	entries, err := disk.ReadDir(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the backups: %w", err)
	}
	var list []Made
	for _, entry := range entries {
		made, ok := parse(entry.Name())
		if !ok || !wanted(made) {
			continue
		}
		info, err := entry.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		made.Path, made.Bytes = filepath.Join(d.path, entry.Name()), info.Size()
		list = append(list, made)
	}
	slices.SortFunc(list, func(a, b Made) int {
		return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(b.Sequence, a.Sequence), cmp.Compare(b.Path, a.Path))
	})
	return list, nil
}

// Others returns the paths that have the name of a backup of the home but are not plain files, such as symbolic links:
// they are never read.
func (d Dir) Others() (paths []string) {
	entries, _ := disk.ReadDir(d.path) // List says why not
	for _, entry := range entries {
		made, ok := parse(entry.Name())
		if ok && !entry.Type().IsRegular() && (d.key == "" || made.Key == "" || made.Key == d.key) {
			paths = append(paths, filepath.Join(d.path, entry.Name()))
		}
	}
	return paths
}

// Files returns the paths of the backups that may be the home's, newest first: those with its key, and those of earlier
// versions, whose names have none. For a home that has lost its key it returns all. Their signatures identify them.
func (d Dir) Files() ([]string, error) {
	list, err := d.list(func(made Made) bool { return d.key == "" || made.Key == "" || made.Key == d.key })
	files := make([]string, 0, len(list))
	for _, made := range list {
		files = append(files, made.Path)
	}
	return files, err
}

// makingPrefix begins the names of a home's unfinished files.
func (d Dir) makingPrefix() string { return ".making-" + d.key + "-" }

// create writes a new backup: completely, durably, or not at all. write returns whether long texts are missing.
func (d Dir) create(
	head events.Head, at time.Time, write func(*os.File) (partial bool, err error),
) (made Made, err error) {
	if d.key == "" {
		return made, errors.New("the home has no key to sign backups with")
	}
	if err := d.make(); err != nil {
		return made, err
	}
	f, err := disk.CreateTemp(d.path, d.makingPrefix()+"*") // 0600
	if err != nil {
		return made, err
	}
	written := f.Name()
	defer func() {
		if err != nil {
			err = errors.Join(err, disk.Remove(written))
		}
	}()
	var size int64
	partial, err := write(f)
	if err == nil {
		err = f.Sync()
	}
	if info, statErr := f.Stat(); statErr == nil {
		size = info.Size()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return made, err
	}
	name := d.nameOf(head, at, partial)
	path := filepath.Join(d.path, name)
	if err := disk.Rename(written, path); err != nil {
		return made, err
	}
	written = path
	made, _ = parse(name)
	made.Path, made.Bytes = path, size
	return made, syncDir(d.path)
}

// syncDir syncs the entries of a directory. Tests replace it.
var syncDir = files.SyncDir

// prune removes backups that are not needed: it keeps the one just made, the newest good ones up to keep, and as many
// partial ones, so that those never replace a complete one. Backups that a wrong clock dated in the future count as the
// oldest. A backup that check refuses replaces none, and stays: it is damaged, or holds events that the log lacks
// (errElsewhere), and may be the only copy of its content. An error of a context that ended stops the work before
// anything is removed.
func (d Dir) prune(just Made, keep int, now time.Time, check func(Made) error) error {
	list, err := d.List()
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(byWorth(list, now), func(made Made) bool { return made.Path == just.Path })
	kept := map[bool]int{just.Partial: 1} // it was read back when it was made
	var surplus []Made
	for _, made := range list {
		switch err := check(made); {
		case isCanceled(err):
			return err
		case err != nil:
		case kept[made.Partial] >= keep:
			surplus = append(surplus, made)
		default:
			kept[made.Partial]++
		}
	}
	for _, made := range surplus {
		err = errors.Join(err, disk.Remove(made.Path))
	}
	return err
}

// making matches what CreateTemp appends to the prefix.
var making = lazyregexp.New(`^\d+$`)

// clean removes unfinished files of this home that a killed server left.
func (d Dir) clean() error {
	entries, err := disk.ReadDir(d.path)
	if errors.Is(err, fs.ErrNotExist) || d.key == "" {
		return nil
	}
	prefix := d.makingPrefix()
	for _, entry := range entries {
		name := entry.Name()
		if len(name) > len(prefix) && name[:len(prefix)] == prefix && making().MatchString(name[len(prefix):]) &&
			entry.Type().IsRegular() {
			err = errors.Join(err, disk.Remove(filepath.Join(d.path, name)))
		}
	}
	return err
}
