package home

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"maestro/internal/files"
)

// ofTheLog are the names in a home that belong to its log or to a running server. What begins with one of them and a
// dot does too, such as a damaged store that was set aside.
var ofTheLog = []string{storeDir, headFile, snapshotsDir, lockFile, serverFile, restoredFile}

// CopyRest copies into dir all that a home holds beside its log: the secrets, what sessions kept, their manifests.
// Only this user can read the copies. It does not make them durable.
func (h *Home) CopyRest(dir string) error {
	err := fs.WalkDir(h.root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == "." {
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
		case entry.IsDir():
			return os.MkdirAll(filepath.Join(dir, path), 0o700)
		case !entry.Type().IsRegular():
			return nil
		}
		return h.copyFile(path, filepath.Join(dir, path))
	})
	if err != nil {
		return fmt.Errorf("copy the home: %w", err)
	}
	return nil
}

func (h *Home) copyFile(name, to string) error {
	from, err := files.Open(h.root, name, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	return files.Copy(from, to)
}
