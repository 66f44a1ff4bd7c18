package bus

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"maestro/events"
)

const (
	// maxLogLine is the longest line of log.ndjson: the largest event in base64, and its frame.
	maxLogLine = 2 << 20
	// maxBlob bounds what a blob in a backup may take in memory.
	maxBlob = 1 << 30
	// maxRestoreBytes and maxBatch bound one append.
	maxRestoreBytes = 2 << 20
)

// Restore makes the store that a backup holds in dir, which must not exist or be empty. It verifies that every message is
// there, that the chain leads to the backup's head, and each blob's digest; verify, if there is one, is asked about every
// message and the chain's hash before it. Nothing of the archive becomes a path. A restore that fails leaves nothing behind.
func Restore(ctx context.Context, r io.Reader, dir string, verify func(m events.Message, prev events.Hash) error) (events.Head, error) {
	head, err := restore(ctx, r, dir, verify)
	if err != nil {
		return events.Head{}, fmt.Errorf("restore into %s: %w", dir, err)
	}
	return head, nil
}

func restore(ctx context.Context, r io.Reader, dir string, verify func(events.Message, events.Hash) error) (head events.Head, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return head, err
	}
	if err := vacant(dir); err != nil {
		return head, err
	}
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return head, full(err)
	}
	temporary, err := os.MkdirTemp(parent, "."+filepath.Base(dir)+".restore-*")
	if err != nil {
		return head, full(err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(temporary))
		}
	}()
	// Nothing is promised before the rename, and everything is synced before it.
	b, err := Open(ctx, Options{Dir: temporary, Durability: Interval})
	if err != nil {
		return head, err
	}
	head, err = b.load(ctx, r, verify)
	if err = errors.Join(err, b.Close()); err != nil {
		return head, err
	}
	if err := syncTree(temporary); err != nil {
		return head, full(err)
	}
	if err := os.Rename(temporary, dir); err != nil {
		return head, err
	}
	return head, syncPath(parent)
}

// vacant reports why dir cannot be restored into.
func vacant(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && len(entries) > 0 {
		return errors.New("the directory is not empty: choose another, or move it away")
	}
	return err
}

// load appends what the archive holds to an empty log.
func (b *Bus) load(ctx context.Context, r io.Reader, verify func(events.Message, events.Hash) error) (events.Head, error) {
	compressed, err := gzip.NewReader(r)
	if err != nil {
		return events.Head{}, damaged("", err)
	}
	archive := tar.NewReader(compressed)
	manifest, err := readManifest(archive)
	if err != nil {
		return events.Head{}, err
	}
	entry, err := archive.Next()
	if err != nil {
		return events.Head{}, damaged(backupLogName, err)
	}
	if entry.Name != backupLogName {
		return events.Head{}, damaged(entry.Name, fmt.Errorf("expected %s", backupLogName))
	}
	if err := b.loadLog(ctx, archive, manifest.Head, verify); err != nil {
		return events.Head{}, err
	}
	for {
		entry, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return events.Head{}, damaged("", err)
		}
		if err := b.loadBlob(ctx, archive, entry); err != nil {
			return events.Head{}, err
		}
	}
	// To the end, where the compression's own sum is.
	if _, err := io.Copy(io.Discard, compressed); err != nil {
		return events.Head{}, damaged("", err)
	}
	return manifest.Head, nil
}

func readManifest(archive *tar.Reader) (backupManifest, error) {
	var manifest backupManifest
	entry, err := archive.Next()
	if err != nil {
		return manifest, damaged(backupManifestName, err)
	}
	if entry.Name != backupManifestName {
		return manifest, damaged(entry.Name, fmt.Errorf("expected %s; is this a backup of Maestro?", backupManifestName))
	}
	if err := json.NewDecoder(io.LimitReader(archive, 64<<10)).Decode(&manifest); err != nil {
		return manifest, damaged(backupManifestName, err)
	}
	if manifest.Format != backupFormat {
		return manifest, fmt.Errorf("the backup has format %d, this version reads %d: use the version that made it", manifest.Format, backupFormat)
	}
	return manifest, nil
}

// loadLog appends the lines in batches, and verifies them against head.
func (b *Bus) loadLog(ctx context.Context, r io.Reader, head events.Head, verify func(events.Message, events.Hash) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), maxLogLine)
	var at events.Head
	var batch []events.Message
	var size int
	appended := uint64(0)
	flush := func() error {
		if err := b.Append(ctx, appended, batch); err != nil {
			return err
		}
		appended += uint64(len(batch))
		batch, size = batch[:0], 0
		return nil
	}
	for lines.Scan() {
		m, err := parseLogLine(lines.Bytes())
		if err != nil {
			return damaged(backupLogName, fmt.Errorf("after sequence %d: %w", at.Sequence, err))
		}
		if m.Sequence != at.Sequence+1 {
			return damaged(backupLogName, fmt.Errorf("sequence %d follows %d", m.Sequence, at.Sequence))
		}
		if !strings.HasPrefix(m.Subject, events.SubjectPrefix) {
			return damaged(backupLogName, fmt.Errorf("sequence %d has the subject %q", m.Sequence, m.Subject))
		}
		if verify != nil {
			if err := verify(m, at.Hash); err != nil {
				return damaged(backupLogName, fmt.Errorf("sequence %d: %w", m.Sequence, err))
			}
		}
		at = events.Head{Sequence: m.Sequence, Hash: events.Next(at.Hash, events.BodyHash(m.Body))}
		batch = append(batch, m)
		size += len(m.Body)
		if len(batch) == maxBatch || size >= maxRestoreBytes {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := lines.Err(); err != nil {
		return damaged(backupLogName, fmt.Errorf("after sequence %d: %w", at.Sequence, err))
	}
	if at != head {
		return damaged(backupLogName, fmt.Errorf("it ends at %s, the backup's head is %s", at, head))
	}
	return flush()
}

func (b *Bus) loadBlob(ctx context.Context, r io.Reader, entry *tar.Header) error {
	digest, isBlob := strings.CutPrefix(entry.Name, backupBlobPrefix)
	if !isBlob || !IsDigest(digest) || entry.Typeflag != tar.TypeReg {
		return damaged(entry.Name, errors.New("a backup has no such entry"))
	}
	if entry.Size > maxBlob {
		return damaged(entry.Name, fmt.Errorf("it says that it has %d bytes", entry.Size))
	}
	content, err := io.ReadAll(r)
	if err != nil {
		return damaged(entry.Name, err)
	}
	if got := Digest(content); got != digest {
		return damaged(entry.Name, fmt.Errorf("its content has the digest %s", got))
	}
	_, err = b.PutBlob(ctx, content)
	return err
}

// damaged says where a backup is not one.
func damaged(entry string, err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if entry == "" {
		return fmt.Errorf("the backup is damaged or cut: %w; use another", err)
	}
	return fmt.Errorf("the backup is damaged or cut in %q: %w; use another", entry, err)
}
