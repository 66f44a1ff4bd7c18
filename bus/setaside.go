package bus

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"maestro/internal/disk"
	"maestro/internal/lazyregexp"
)

// tailAside names the directories that hold the end of a log that was cut off as an unfinished append.
const tailAside = "tail"

// asidePattern matches what follows asideInfix: the time, the kind of content, and a number if several have the same
// second.
var asidePattern = lazyregexp.New(`^\d{8}T\d{6}Z(?:-([a-z_]+))?(?:-\d+)?$`)

// asides returns the directories set aside from a store, oldest first. what is a stream's name in lower case, or the
// log's end.
func asides(dir, what string) ([]string, error) {
	entries, err := disk.ReadDir(filepath.Dir(dir))
	if err != nil {
		return nil, ignoreMissing(err)
	}
	var found []string
	for _, entry := range entries {
		rest, isAside := strings.CutPrefix(entry.Name(), filepath.Base(dir)+asideInfix)
		parts := asidePattern().FindStringSubmatch(rest)
		if isAside && parts != nil && parts[1] == what && entry.IsDir() {
			found = append(found, filepath.Join(filepath.Dir(dir), entry.Name()))
		}
	}
	slices.Sort(found)
	return found, nil
}

// Tails returns the directories that hold ends of the log that starts cut off as unfinished appends. OpenReadOnly can
// read them.
func Tails(dir string) ([]string, error) { return asides(dir, tailAside) }

// HoldsLog reports whether a directory looks like a store with a log.
func HoldsLog(dir string) bool {
	info, err := disk.Stat(streamPath(dir, StreamName))
	return err == nil && info.IsDir() || isDir(sparePath(dir, StreamName))
}

// HoldsNoEvent reports whether a store's log is empty, by the size of its blocks.
func HoldsNoEvent(dir string) bool {
	blocks, err := filepath.Glob(filepath.Join(globEscape(streamPath(dir, StreamName)), "msgs", "*.blk"))
	spared, _ := filepath.Glob(filepath.Join(globEscape(sparePath(dir, StreamName)), "*.blk*")) // the pattern is valid
	blocks = append(blocks, spared...)
	for _, block := range blocks {
		if info, statErr := disk.Stat(block); statErr != nil || info.Size() > 0 {
			return false
		}
	}
	return err == nil && len(blocks) > 0
}

// remadeName marks a directory whose stream was completely rebuilt from it.
const remadeName = "remade"

// isRemade reports whether a stream was completely rebuilt from a directory that was set aside.
func isRemade(aside string) bool {
	_, err := disk.Lstat(filepath.Join(aside, remadeName))
	return !errors.Is(err, fs.ErrNotExist)
}

// TextCopies returns the directories set aside from a store that have long texts, also those that were redacted since.
func TextCopies(dir string) ([]string, error) {
	entries, err := disk.ReadDir(filepath.Dir(dir))
	if err != nil {
		return nil, ignoreMissing(err)
	}
	var found []string
	for _, entry := range entries {
		path := filepath.Join(filepath.Dir(dir), entry.Name())
		if !entry.IsDir() || !strings.HasPrefix(entry.Name(), filepath.Base(dir)+asideInfix) {
			continue
		}
		walked := disk.WalkDir(path, func(below string, entry fs.DirEntry, err error) error {
			if entry != nil && entry.IsDir() && entry.Name() == BlobStream {
				found = append(found, path)
				return fs.SkipAll
			}
			return err
		})
		err = errors.Join(err, walked)
	}
	return found, err
}
