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

// openDir holds the file that a browser opens to log in.
const openDir = "open"

// PlaceLogin writes the file that a browser opens to log in, and returns its path. Only this user can read it. It
// replaces the file of an earlier login, whose code is used or has expired.
func (h *Home) PlaceLogin(content []byte) (file string, err error) {
	if err := h.root.Mkdir(openDir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("make the directory of logins: %w", err)
	}
	name := path.Join(openDir, "login.html")
	if err := files.WriteCopy(h.root, path.Join(openDir, ".login."+rand.Text()), name, content); err != nil {
		return "", fmt.Errorf("write the file of a login: %w", err)
	}
	return filepath.Join(h.dir, openDir, "login.html"), nil
}
