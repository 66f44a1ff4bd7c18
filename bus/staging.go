package bus

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"maestro/internal/disk"
	"maestro/internal/files"
)

// staging is the directory in which nats-server collects an atomic batch before it commits it. The server creates a
// small store on disk for each batch, with several fsyncs, and deletes it at once; only a restart after kill -9 in the
// middle of a commit reads it. Memory (tmpfs) is enough for that and costs no fsync, so the stream's "batches"
// directory becomes a link into it. After a power cut the link leads nowhere, and the batch that was being committed,
// which was not acknowledged, may be cut to a first part: Append's ErrUnknown covers exactly that.
//
// Without a tmpfs, or once it failed a batch, batches are staged on the disk, as nats-server does by default.
//
// A killed server leaves its directory, either with the batch that it was committing or empty. The next start of its
// store uses the content. Any other start or clean stop of the same user removes the directory: the directory of a
// running server is locked. Older versions took no locks; their directories are removed once no process has a file of
// the store open.
type staging struct {
	dir    string // in memory; "" means on the disk
	failed bool
	lock   *os.File // of the directory; nil if not locked
}

// stagingPrefix begins the names of such directories. The user id and a digest of the store's path follow.
const stagingPrefix = "maestro-batches-"

// newStaging picks the directory for the store at dir. It is always the same one, so that it is found again after a
// crash.
func newStaging(dir string) *staging {
	name := stagingOf(stagingPrefix) + storeSum(dir)
	sweepStaging(name)
	for _, root := range memoryRoots() {
		path := filepath.Join(root, name)
		if private(path) {
			return &staging{dir: path}
		}
	}
	return &staging{}
}

// stagingOf returns the name prefix of this user's directories.
func stagingOf(prefix string) string { return fmt.Sprintf("%s%d-", prefix, os.Getuid()) }

// storeSum distinguishes the store at dir from others.
func storeSum(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:8])
}

// sweepStaging removes what dead servers left in memory, except the directory named ours.
func sweepStaging(ours string) {
	for _, root := range sweptRoots() {
		sweep(root, stagingOf(stagingPrefix), ours)
		sweepUnlocked(root)
	}
}

// oldStagingPrefix begins the names of the directories of older versions, which are not locked.
const oldStagingPrefix = "maestro-"

// sweepUnlocked removes directories of older versions whose stores no process has open. It removes none if it cannot
// see the open files of every process of this user.
func sweepUnlocked(root string) {
	left, err := filepath.Glob(filepath.Join(root, stagingOf(oldStagingPrefix)+strings.Repeat("[0-9a-f]", 16)))
	if err != nil || len(left) == 0 {
		return
	}
	inUse, err := storesInUse()
	if err != nil {
		return
	}
	for _, path := range left {
		info, err := disk.Lstat(path)
		sum := strings.TrimPrefix(filepath.Base(path), stagingOf(oldStagingPrefix))
		if err == nil && info.IsDir() && files.Owned(info) == nil && !inUse[sum] {
			_ = disk.RemoveAll(path)
		}
	}
}

// sweep removes what dead servers left in root, except what ours may still need.
func sweep(root, prefix, ours string) {
	entries, err := disk.ReadDir(root)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), prefix) || entry.Name() == ours {
			continue
		}
		path := filepath.Join(root, entry.Name())
		if info, err := disk.Lstat(path); err != nil || !info.IsDir() || files.Owned(info) != nil {
			continue
		}
		if dir, err := files.LockDir(path, false); err == nil {
			// A server may have replaced the directory before it was locked.
			if held, err := dir.Stat(); err == nil && isAt(path, held) {
				_ = disk.RemoveAll(path)
			}
			_ = dir.Close()
		}
	}
}

// isAt reports whether a path refers to a file. It follows no symbolic link.
func isAt(path string, held fs.FileInfo) bool {
	now, err := disk.Lstat(path)
	return err == nil && os.SameFile(held, now)
}

// occupy creates the directory and locks it. A sweep may remove it in between.
func (s *staging) occupy() bool {
	for range 10 {
		if !private(s.dir) {
			return false
		}
		lock, err := files.LockDir(s.dir, true)
		if err != nil {
			return false
		}
		held, err := lock.Stat()
		if err == nil && isAt(s.dir, held) {
			s.lock = lock
			return true
		}
		_ = lock.Close()
	}
	return false
}

// leave removes the directory.
func (s *staging) leave() {
	if s.dir == "" {
		return
	}
	_ = disk.RemoveAll(s.dir)
	if s.lock != nil {
		_ = s.lock.Close()
		s.lock = nil
	}
}

// private creates path as a directory that only this user can enter, or reports that it is not one.
func private(path string) bool {
	if err := disk.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return false
	}
	info, err := disk.Lstat(path)
	return err == nil && info.IsDir() && info.Mode().Perm() == 0o700 && files.Owned(info) == nil
}

// distrust stages later batches on the disk, from the next reopen on.
func (s *staging) distrust() { s.failed = true }

// attach empties the staging directory and links streamDir's batches to it. By then the server has read what it needed
// from it.
func (s *staging) attach(streamDir string) error {
	link := filepath.Join(streamDir, "batches")
	if err := disk.RemoveAll(link); err != nil {
		return err
	}
	if s.dir == "" {
		return nil
	}
	s.leave()
	if s.failed || !s.occupy() {
		return nil
	}
	sweepStaging("") // a server with another environment may have staged this store's batches elsewhere
	return disk.Symlink(s.dir, link)
}

// detach removes the link to the directory. The server is stopped, so no batch is open.
func (s *staging) detach(streamDir string) {
	if s.dir == "" {
		return
	}
	link := filepath.Join(streamDir, "batches")
	if info, err := disk.Lstat(link); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		_ = disk.Remove(link)
	}
}
