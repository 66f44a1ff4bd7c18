package home

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"

	"maestro/internal/files"
)

// sessionsDir holds a directory for each session of this machine (docs/spec/003-manifest-schema.md, "Manifest
// Location").
const (
	sessionsDir  = "sessions"
	manifestFile = "manifest.json"
)

// ManifestPath returns the path of the manifest of a session of this machine: sessions/<id>/manifest.json.
func (h *Home) ManifestPath(session string) string {
	return filepath.Join(h.dir, sessionsDir, session, manifestFile)
}

// PlaceManifest writes a session's manifest, completely or not at all; only this user can read it. It is a copy of what
// the server has, so a power cut may leave it empty. The caller checks the session's id, and the path stays inside the
// home whatever the id is.
func (h *Home) PlaceManifest(session string, content []byte) error {
	dir, err := h.makeSessionDir(session)
	if err != nil {
		return err
	}
	// The temporary name is unique: the server and a command may write the same manifest concurrently.
	temporary, name := path.Join(dir, "."+manifestFile+"."+rand.Text()), path.Join(dir, manifestFile)
	if err := files.WriteCopy(h.root, temporary, name, content); err != nil {
		return fmt.Errorf("write a manifest: %w", err)
	}
	return nil
}

// RemoveManifest removes a session's manifest. It is no error if there is none.
func (h *Home) RemoveManifest(session string) error {
	err := h.root.Remove(path.Join(sessionsDir, session, manifestFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove a manifest: %w", err)
	}
	return nil
}

// makeSessionDir makes the directory of a session, and returns its name below the home.
func (h *Home) makeSessionDir(session string) (dir string, err error) {
	dir = path.Join(sessionsDir, session)
	for _, name := range []string{sessionsDir, dir} {
		if err := h.root.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", fmt.Errorf("make a session's directory: %w", err)
		}
		// a link would lead to another session's directory
		if info, err := h.root.Lstat(name); err != nil || !info.IsDir() {
			return "", fmt.Errorf("%s is not a directory: move it away", filepath.Join(h.dir, name))
		}
	}
	return dir, nil
}
