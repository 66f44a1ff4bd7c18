package home

import "path/filepath"

// Used returns the path of something in the home that shows that a server has had a log there, "" if nothing does. What
// a command keeps in a home before its first start, such as an outbox, shows nothing.
func (h *Home) Used() string {
	if entries, err := h.root.ReadDir(sessionsDir); err == nil && len(entries) > 0 {
		return filepath.Join(h.dir, sessionsDir)
	}
	for _, name := range []string{usesFile, beatsFile} {
		if info, err := h.root.Lstat(name); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
			return filepath.Join(h.dir, name)
		}
	}
	for _, name := range []string{versionFile, keyMarkFile, restoredFile, earlierFile} {
		if _, err := h.root.Lstat(name); err == nil {
			return filepath.Join(h.dir, name)
		}
	}
	return ""
}
