package bus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"maestro/internal/disk"
)

// putBack restores the blocks that a start deleted or cut, and removes the spares. No server runs. It returns the
// streams in which it restored something. It never removes a hard link or a copy whose messages the stream lacks: it
// sets aside what it cannot restore, and anything unknown.
func (e *embedded) putBack() (streams []string, err error) {
	info, err := disk.Lstat(e.spareDir())
	if err != nil {
		return nil, ignoreMissing(err)
	}
	if !info.IsDir() {
		return nil, e.takeAway(e.spareDir())
	}
	entries, err := disk.ReadDir(e.spareDir())
	if err != nil {
		return nil, err
	}
	var kept []string
	for _, entry := range entries {
		at := slices.IndexFunc(storedStreams, func(s storedStream) bool { return s.name == entry.Name() })
		if at < 0 || !entry.IsDir() {
			kept = append(kept, entry.Name())
			continue
		}
		back, left, err := e.putBackStream(storedStreams[at])
		if back {
			streams = append(streams, entry.Name())
		}
		if err != nil {
			return streams, err
		}
		kept = append(kept, left...)
	}
	if err := e.setAsideSpare(kept); err != nil {
		return streams, err
	}
	return streams, e.dropSpare()
}

// setAsideSpare moves the given entries out of the directory of spares, to a directory beside the store. Other links
// stay, because a moved link to a block in its place would make the block look shared.
func (e *embedded) setAsideSpare(kept []string) error {
	if len(kept) == 0 {
		return nil
	}
	aside, err := e.newAside(otherAside)
	if err != nil {
		return err
	}
	var dirs []string // the directories with a new entry
	for _, name := range kept {
		to := filepath.Join(aside, spareName, name)
		if err := disk.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		if err := disk.Rename(filepath.Join(e.spareDir(), name), to); err != nil {
			return err
		}
		dirs = append(dirs, filepath.Dir(to))
	}
	e.logger.Warn("files beside the second names of blocks are not known, or hold messages that do not fit into the "+
		"store; they are set aside", "files", kept, "aside", aside,
		"next", "`maestro salvage` reads the store; keep the directory until `maestro audit verify` finds all texts")
	slices.Sort(dirs)
	for _, dir := range append(slices.Compact(dirs), filepath.Join(aside, spareName), aside, e.dir) {
		err = errors.Join(err, syncPath(dir))
	}
	return err
}

// putBackStream restores the blocks of one stream. left is what must be kept, as paths below the directory of spares.
func (e *embedded) putBackStream(stored storedStream) (back bool, left []string, err error) {
	entries, err := disk.ReadDir(sparePath(e.dir, stored.name))
	if err != nil {
		return false, nil, err
	}
	messages := e.messagesDir(stored.name)
	// The hard links come before the copies.
	slices.SortStableFunc(entries, func(a, b fs.DirEntry) int { return len(a.Name()) - len(b.Name()) })
	slices.SortStableFunc(entries, func(a, b fs.DirEntry) int {
		return strings.Count(a.Name(), copySuffix) - strings.Count(b.Name(), copySuffix)
	})
	for _, entry := range entries {
		index, isSpare := spareIndex(entry.Name())
		if !isSpare || !entry.Type().IsRegular() {
			left = append(left, filepath.Join(stored.name, entry.Name()))
			continue
		}
		spared := filepath.Join(sparePath(e.dir, stored.name), entry.Name())
		fate, err := e.judgeSpare(stored, index, spared)
		switch {
		case err != nil:
			return back, left, err
		case fate == spareKept:
			left = append(left, filepath.Join(stored.name, entry.Name()))
		case fate == sparePutBack:
			for _, dir := range []string{messages, filepath.Join(e.streamDir(stored.name), consumersName)} {
				if err := mkdirDurably(dir); err != nil {
					return back, left, err
				}
			}
			if !back { // first: a kill could come in between
				if err := e.forgetStart(stored, entries); err != nil {
					return back, left, err
				}
			}
			if err := disk.Rename(spared, filepath.Join(messages, blockName(index))); err != nil {
				return back, left, err
			}
			back = true
		}
	}
	if back {
		err = syncPath(messages)
	}
	return back, left, err
}

// forgetStart removes what a start wrote when it lost messages: the index, which does not know the messages, and the
// blocks without messages, which mark them as deleted.
func (e *embedded) forgetStart(stored storedStream, spared []fs.DirEntry) error {
	if err := e.removeIndex(stored.name); err != nil {
		return err
	}
	messages := e.messagesDir(stored.name)
	blocks, err := blockFiles(messages)
	for _, index := range blocks {
		if slices.ContainsFunc(spared, func(entry fs.DirEntry) bool {
			known, isSpare := spareIndex(entry.Name())
			return isSpare && known == index
		}) {
			continue
		}
		path := filepath.Join(messages, blockName(index))
		r, err := e.readSpare(stored, index, path)
		if err == nil && !r.foreign && len(r.subjects) == 0 {
			err = disk.Remove(path)
		}
		if err != nil {
			return err
		}
	}
	return err
}

func (e *embedded) removeIndex(stream string) error {
	return ignoreMissing(disk.Remove(filepath.Join(e.messagesDir(stream), indexName)))
}

// What to do with a hard link or a copy.
const (
	spareDropped = iota // the stream has everything that it holds
	sparePutBack
	spareKept
)

// judgeSpare decides what to do with a hard link or a copy. It replaces the file in the block's place if that holds
// nothing else.
func (e *embedded) judgeSpare(stored storedStream, index int, spared string) (fate int, err error) {
	place := filepath.Join(e.messagesDir(stored.name), blockName(index))
	same, there, err := sameFile(spared, place)
	if err != nil || same {
		return spareDropped, err
	}
	own, err := e.readSpare(stored, index, spared)
	if err != nil {
		return spareDropped, err
	}
	isCopy := strings.HasSuffix(spared, copySuffix)
	switch {
	case isCopy && own.hollow && (there || !own.foreign): // its content never reached the disk
		return spareDropped, nil
	case own.foreign && !isCopy: // unless the start has cut it, and its copy is intact
		begins, err := isBeginning(spared, spared+copySuffix)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !begins {
			return spareKept, nil
		}
		return spareDropped, err
	case own.foreign:
		return spareKept, nil
	case !there:
		return sparePutBack, nil
	}
	now, err := e.readSpare(stored, index, place)
	if err != nil {
		return spareDropped, err
	}
	if now.has(own) {
		return spareDropped, nil
	}
	if absent, err := e.absent(stored, own); err != nil || absent == 0 {
		return spareDropped, err
	}
	if now.foreign { // unless it is the same block, cut before the end of its first record
		begins, err := isBeginning(place, spared)
		if err != nil || !begins {
			return spareKept, err
		}
		return sparePutBack, nil
	}
	if !own.has(now) {
		return spareKept, nil
	}
	return sparePutBack, nil
}

// isBeginning reports whether a block's content is a prefix of another's. It reports false for blocks longer than the
// server writes them.
func isBeginning(part, whole string) (bool, error) {
	beginning, err := readBlockBegin(part)
	if err != nil || len(beginning) == maxWindow {
		return false, err
	}
	all, err := readBlockBegin(whole)
	return bytes.HasPrefix(all, beginning), err
}

// sameFile reports whether two names refer to the same file, and whether the second one exists.
func sameFile(a, b string) (same, there bool, err error) {
	one, err := disk.Lstat(a)
	if err != nil {
		return false, false, err
	}
	other, err := disk.Lstat(b)
	if err != nil {
		return false, false, ignoreMissing(err)
	}
	return os.SameFile(one, other), true, nil
}

// spareRecords holds the records of a block file.
type spareRecords struct {
	subjects map[uint64]string // of the messages, by sequence
	deleted  map[uint64]bool
	// foreign says that it is another block, or holds no readable record.
	foreign bool
	// hollow says that nothing was written to it.
	hollow bool
}

// has reports whether a block holds all messages of another one that this one does not itself delete.
func (r spareRecords) has(other spareRecords) bool {
	for sequence := range other.subjects {
		if _, found := r.subjects[sequence]; !found && !other.deleted[sequence] {
			return false
		}
	}
	return true
}

func (e *embedded) readSpare(stored storedStream, index int, path string) (spareRecords, error) {
	r := spareRecords{subjects: map[uint64]string{}, deleted: map[uint64]bool{}}
	block, _, err := scanBlock(e.dir, path, stored.name, stored.prefix, index, nil, func(_ int, m blockRecord) {
		r.subjects[m.sequence] = string(m.subject)
	})
	if err != nil {
		return r, err
	}
	for _, sequence := range block.deleted {
		r.deleted[sequence] = true
	}
	r.hollow = len(r.subjects) == 0 && len(block.deleted) == 0
	r.foreign = block.key != index || block.size > 0 && r.hollow && len(block.faults) > 0
	return r, nil
}

// absent counts the messages of a block that its stream lacks and that were neither deleted before the start nor
// replaced. A server that recovers less than its index says marks the lost messages as deleted.
func (e *embedded) absent(stored storedStream, own spareRecords) (int, error) {
	deleted, err := e.deletedBefore(stored)
	if err != nil {
		return 0, err
	}
	newest := map[string]uint64{} // of the streams beside the log, by subject
	var each eachRecord
	if stored.name != StreamName {
		var mu sync.Mutex
		each = func(_ int, r blockRecord) {
			mu.Lock()
			defer mu.Unlock()
			subject := string(r.subject)
			newest[subject] = max(newest[subject], r.sequence)
		}
	}
	now, err := scanPlaces(context.Background(), e.dir, stored.name, stored.prefix, each)
	if err != nil {
		return 0, err
	}
	absent := 0
	for sequence, subject := range own.subjects {
		_, found := now.at(sequence)
		if !found && !deleted[sequence] && newest[subject] <= sequence {
			absent++
		}
	}
	return absent, nil
}

// deletedBefore returns the sequences that the spares of a stream's blocks mark as deleted.
func (e *embedded) deletedBefore(stored storedStream) (map[uint64]bool, error) {
	deleted := map[uint64]bool{}
	entries, err := disk.ReadDir(sparePath(e.dir, stored.name))
	for _, entry := range entries {
		index, isSpare := spareIndex(entry.Name())
		if !isSpare || !entry.Type().IsRegular() {
			continue
		}
		r, err := e.readSpare(stored, index, filepath.Join(sparePath(e.dir, stored.name), entry.Name()))
		if err != nil {
			return nil, err
		}
		maps.Copy(deleted, r.deleted)
	}
	return deleted, err
}

// putBackOfKilled restores what a start deleted before it was killed.
func (e *embedded) putBackOfKilled() error {
	streams, err := e.putBack()
	if len(streams) > 0 {
		e.logger.Warn("a start that was killed had deleted blocks; they are put back", "streams", streams)
	}
	if err != nil {
		return fmt.Errorf("put back the blocks that %s holds: %w", e.spareDir(), full(err))
	}
	return nil
}
