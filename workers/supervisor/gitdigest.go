package supervisor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"maestro/internal/disk"
	"maestro/internal/files"
)

const (
	// mostDigested bounds what is read of one file, mostDigestedOfAll what is read of all, in bytes. An agent can make
	// a file of any size in a repository of its own, which the next check reads.
	mostDigested      = 16 << 20
	mostDigestedOfAll = 256 << 20
	// mostEntries bounds the names in one directory that are looked at.
	mostEntries = 1_000_000
	// entriesAtOnce is how many of them are read at once.
	entriesAtOnce = 4096
)

// digests computes what tells whether files have changed. Of those that are too large to be read, that is their size,
// the time of their last change and their inode.
type digests struct {
	root *disk.Root
	left int64
}

// digestsOf returns a digest of each file in a root, and of the files in each directory, by its path.
func digestsOf(ctx context.Context, root *disk.Root, paths []string) (map[string]string, error) {
	d := &digests{root, mostDigestedOfAll}
	all := make(map[string]string, len(paths))
	for _, path := range paths {
		digest, err := d.of(ctx, path)
		if err != nil {
			return nil, err
		}
		all[path] = digest
	}
	return all, nil
}

func (d *digests) of(ctx context.Context, path string) (string, error) {
	sum := sha256.New()
	name, err := filepath.Rel(d.root.Name(), path)
	if err != nil {
		return "", err
	}
	entries, err := readDir(ctx, d.root, name)
	switch {
	case ctx.Err() != nil, errors.Is(err, errTooMany):
		return "", err
	case err != nil:
		d.add(sum, name)
	}
	for _, entry := range entries {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		if entry.Type().IsRegular() {
			d.add(sum, filepath.Join(name, entry.Name()))
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func (d *digests) add(sum hash.Hash, name string) {
	fmt.Fprintf(sum, "%s\n", name)
	f, err := files.Open(d.root, name, os.O_RDONLY)
	if err != nil {
		fmt.Fprintln(sum, err)
		return
	}
	defer func() { _ = f.Close() }() // only read
	info, err := disk.FileStat(f)
	if err != nil {
		fmt.Fprintln(sum, err)
		return
	}
	if size := info.Size(); size > min(mostDigested, d.left) {
		fmt.Fprintf(sum, "%d %d %v\n", size, info.ModTime().UnixNano(), disk.IdentityOf(info))
		return
	}
	n, _ := io.Copy(sum, io.LimitReader(f, mostDigested)) // it may grow meanwhile
	d.left -= n
	fmt.Fprintf(sum, "\n%d\n", n)
}

// errTooMany means that a directory has more names than can be looked at.
var errTooMany = errors.New("too many files")

// readDir returns the entries of a directory, to which its last name is no link, in order.
func readDir(ctx context.Context, root *disk.Root, name string) (all []fs.DirEntry, err error) {
	dir, err := files.OpenDir(root, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }() // only read
	for err == nil {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var some []fs.DirEntry
		some, err = dir.ReadDir(entriesAtOnce)
		if all = append(all, some...); len(all) > mostEntries {
			return nil, fmt.Errorf("%w: %s has more than %d", errTooMany, filepath.Join(root.Name(), name), mostEntries)
		}
	}
	if !errors.Is(err, io.EOF) {
		return nil, err
	}
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return all, nil
}
