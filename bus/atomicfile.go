package bus

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// writeAtomically puts content at path, durably and whole or not at all. Only this user can read it.
func writeAtomically(path string, content ...[]byte) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*") // 0600
	if err != nil {
		return full(err)
	}
	for _, part := range content {
		if err == nil {
			_, err = f.Write(part)
		}
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, full(errors.Join(err, os.Remove(f.Name()))))
	}
	return full(syncPath(dir))
}
