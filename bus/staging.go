package bus

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// staging is where nats-server gathers an atomic batch before it commits it. The server creates a small store on disk for
// each batch, with several fsyncs, and deletes it at once; only a restart after kill -9 in the middle of a commit reads it.
// Memory (tmpfs) serves that as well and costs no fsync, so the stream's "batches" directory is made a link into it. After a
// power cut the link leads nowhere, and the batch that was being committed, which nobody acknowledged, may be cut to a first
// part: Append's ErrUnknown covers exactly that.
//
// Where there is no tmpfs, or it once failed a batch, batches are staged on the disk as nats-server does by itself.
type staging struct {
	dir    string // in memory; "" means on the disk
	failed bool
}

// newStaging picks the directory for the store at dir. One store has one, found again after a crash.
func newStaging(dir string) *staging {
	sum := sha256.Sum256([]byte(dir))
	name := fmt.Sprintf("maestro-%d-%s", os.Getuid(), hex.EncodeToString(sum[:8]))
	for _, root := range memoryRoots() {
		path := filepath.Join(root, name)
		if private(path) {
			return &staging{dir: path}
		}
	}
	return &staging{}
}

// private makes path a directory that only this user can enter, or reports that it is not one.
func private(path string) bool {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return false
	}
	info, err := os.Lstat(path)
	return err == nil && info.IsDir() && info.Mode().Perm() == 0o700 && ownedByUs(info)
}

// distrust sends later batches to the disk, from the next reopen on.
func (s *staging) distrust() { s.failed = true }

// attach empties the staging and makes streamDir's batches live in it. The server has read what it wanted by then.
func (s *staging) attach(streamDir string) error {
	link := filepath.Join(streamDir, "batches")
	if err := os.RemoveAll(link); err != nil {
		return err
	}
	if s.dir == "" {
		return nil
	}
	if err := os.RemoveAll(s.dir); err != nil {
		return err
	}
	if s.failed || !private(s.dir) {
		return nil
	}
	return os.Symlink(s.dir, link)
}

// detach takes the link and the directory in memory away. The server is stopped, so no batch is open.
func (s *staging) detach(streamDir string) {
	if s.dir == "" {
		return
	}
	link := filepath.Join(streamDir, "batches")
	if info, err := os.Lstat(link); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		_ = os.Remove(link)
	}
	_ = os.RemoveAll(s.dir)
}
