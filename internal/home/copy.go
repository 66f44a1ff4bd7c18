package home

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"maestro/internal/disk"
	"maestro/internal/files"
)

// ofTheLog are the names in a home that belong to its log, to a running server, or to the file system. Names that
// consist of one of them, a dot and more belong to them too, such as a damaged store that was set aside.
var ofTheLog = []string{
	storeDir, headFile, snapshotsDir, lockFile, serverFile, listenedFile, restoredFile, earlierFile, files.LostAndFound,
}

// outboxDir is where sessions keep reports that their server has not received yet.
const outboxDir = "outbox"

// Left is an entry that CopyRest omitted, and why.
type Left struct {
	Path, Why string
	// Reports says that the entry belongs to the outboxes: it may hold reports that were acknowledged to a session.
	Reports bool
}

func (l Left) String() string { return l.Path + " was not copied: " + l.Why }

// CopyRest copies everything in a home except its log to dir: the secrets, the outboxes, the manifests. Only this user
// can read the copies. It does not sync them. It omits what cannot be read, and what would stop a server from starting;
// left says what and why.
func (h *Home) CopyRest(dir string) (left []Left, err error) {
	leave := func(path, why string) {
		left = append(left, Left{path, why, strings.HasPrefix(path+"/", outboxDir+"/")})
	}
	err = h.root.WalkDir(func(path string, entry fs.DirEntry, err error) error {
		if path == "." {
			return err
		}
		top, _, _ := strings.Cut(path, "/")
		switch {
		case strings.HasPrefix(top, "."), slices.ContainsFunc(ofTheLog, func(name string) bool {
			return top == name || strings.HasPrefix(top, name+".")
		}):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case err != nil:
			leave(path, err.Error())
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		want, known := kindNamed(path)
		if is := kindOf(entry.Type()); known && is != want || !entry.IsDir() && is != plainFile {
			leave(path, "it is "+is)
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if entry.IsDir() {
			return disk.MkdirAll(filepath.Join(dir, path), 0o700)
		}
		from, err := files.Open(h.root, path, os.O_RDONLY)
		if err != nil {
			leave(path, err.Error())
			return nil
		}
		defer func() { _ = from.Close() }()
		err = files.Copy(from, filepath.Join(dir, path))
		var unread *files.ReadError
		if errors.As(err, &unread) {
			leave(path, unread.Error())
			return disk.Remove(filepath.Join(dir, path))
		}
		return err
	})
	if err != nil {
		return left, fmt.Errorf("copy the home: %w", err)
	}
	refused, err := dropRefused(dir)
	for path, why := range refused {
		leave(path, strings.ReplaceAll(why.Error(), dir, h.dir))
	}
	damaged, mendErr := h.mendKeyRecord(dir)
	left = append(left, damaged...)
	slices.SortFunc(left, func(a, b Left) int { return strings.Compare(a.String(), b.String()) })
	return left, errors.Join(err, mendErr)
}

// mendKeyRecord returns the damaged records of the home's key, and corrects the version file in the copy in dir: a
// server would refuse the key otherwise.
func (h *Home) mendKeyRecord(dir string) (left []Left, err error) {
	for _, name := range h.damagedKeyRecords() {
		left = append(left, Left{
			Path: name,
			Why: "its record of the server's key is damaged, and server.key is the right one; " +
				"a server writes it again",
		})
		if name != versionFile {
			continue // it belongs to the log
		}
		key, err := h.serverKey()
		if err != nil {
			return left, err
		}
		content, err := h.read(versionFile, maxNote)
		if err != nil {
			return left, err
		}
		wrote, err := h.Version()
		if err != nil {
			return left, err
		}
		right := strings.Replace(string(content), wrote.Key, Fingerprint(key), 1)
		if err := disk.WriteFile(filepath.Join(dir, versionFile), []byte(right), 0o600); err != nil {
			return left, err
		}
	}
	return left, nil
}

func kindNamed(path string) (want string, known bool) {
	for _, kind := range kinds {
		if kind.name == path {
			return kind.want, true
		}
	}
	return "", false
}

// dropRefused removes the files of a home that would stop a server from starting and that the server recreates: all but
// its key.
func dropRefused(dir string) (map[string]error, error) {
	h, err := Open(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = h.Close() }()
	refused := map[string]error{}
	for name, read := range map[string]func() error{
		serverKeyFile:  func() error { _, err := h.serverKey(); return err },
		adminTokenFile: func() error { _, err := h.AdminToken(); return err },
		versionFile:    func() error { _, err := h.Version(); return err },
	} {
		if why := read(); why != nil && !errors.Is(why, fs.ErrNotExist) {
			refused[name] = why
			if err := h.remove(name); err != nil {
				return refused, err
			}
		}
	}
	return refused, nil
}

// CheckKey fails with *KeyError when the home lacks the key from which its sessions' secrets were derived, or has
// another.
func (h *Home) CheckKey() error {
	wrote, err := h.Version()
	if err != nil {
		return err
	}
	key, err := h.serverKey()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return h.keyError(false)
	case err == nil && h.isForeign(key, wrote):
		return h.keyError(true)
	}
	return err
}
