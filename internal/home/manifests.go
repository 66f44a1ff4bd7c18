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

// ManifestPath is where the manifest of a session of this machine is: sessions/<id>/manifest.json.
func (h *Home) ManifestPath(session string) string {
	return filepath.Join(h.dir, sessionsDir, session, manifestFile)
}

// PlaceManifest writes a session's manifest, whole or not at all; only this user can read it. The session's id is
// checked by the caller, and the path stays inside the home whatever it is.
func (h *Home) PlaceManifest(session string, content []byte) error {
	dir := path.Join(sessionsDir, session)
	for _, name := range []string{sessionsDir, dir} {
		if err := h.root.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("make a session's directory: %w", err)
		}
		if info, err := h.root.Lstat(name); err != nil || !info.IsDir() { // a link would lead to another session's
			return fmt.Errorf("%s is not a directory: move it away", filepath.Join(h.dir, name))
		}
	}
	// A name of its own: the server and a command may write the same manifest at once.
	temporary, name := path.Join(dir, "."+manifestFile+"."+rand.Text()), path.Join(dir, manifestFile)
	if err := files.Write(h.root, temporary, name, content); err != nil {
		return fmt.Errorf("write a manifest: %w", err)
	}
	return nil
}
