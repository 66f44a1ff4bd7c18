package bus

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"maestro/events"
	"maestro/internal/disk"
	"maestro/internal/files"
)

// heldStore holds the store's directory open. The path may come to lead elsewhere while the server runs.
type heldStore struct {
	path string
	dir  *os.File
	info os.FileInfo
}

func holdStore(path string) (*heldStore, error) {
	dir, err := disk.Open(path)
	if err != nil {
		return nil, files.Explain(path, files.ToRead, err)
	}
	info, err := disk.FileStat(dir)
	if err != nil {
		_ = dir.Close()
		return nil, err
	}
	return &heldStore{path: path, dir: dir, info: info}, nil
}

// through returns a path that leads to the directory wherever it is moved, and to nothing once it is deleted. On a
// system without such paths it returns the path by which the directory was opened.
func (h *heldStore) through() string {
	path := "/proc/self/fd/" + strconv.Itoa(int(h.dir.Fd()))
	if info, err := disk.Stat(path); err == nil && os.SameFile(info, h.info) {
		return path
	}
	return h.path
}

// here fails with *events.StoppedError when the path no longer leads to the directory. It returns nil if it cannot
// tell.
func (h *heldStore) here() error {
	if !leadsElsewhere(h.path, h.info) {
		return nil
	}
	return &events.StoppedError{
		Why:  fmt.Sprintf("the store %s was moved, deleted or replaced while this server was using it", h.path),
		Next: "stop this server, put the store back where it was, and start the server again",
	}
}

func (h *heldStore) close() error {
	return errors.Join(locked(files.Unlock(h.dir)), h.dir.Close())
}
