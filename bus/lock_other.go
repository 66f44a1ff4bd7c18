//go:build !unix

package bus

import "os"

// lockStore only opens the file: this system has no flock. Run one server on a store.
func lockStore(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
}

func shareLock(*os.File, string) error { return nil }
