package bus

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"

	"maestro/internal/disk"
	"maestro/internal/lazyregexp"
)

// maxStray is the largest file that is examined as a block; the server's blocks are much smaller.
const maxStray = maxWindow

// ordinary lists the names of files that hold no records.
var ordinary = []string{
	lockName, cleanName, checkedName, bootName, rebuildsName, metaName, metaSumName, indexName, "o.dat",
	"key.id", // belongs to the home
}

// Strays looks below a store's directory for plain files in unexpected places: blocks that were renamed or moved, which
// their records identify, and unknown files. It returns one line for each. The caller keeps the store locked.
func Strays(ctx context.Context, dir string) (lines []string, err error) {
	paths, lines, err := strayFiles(ctx, dir)
	if err != nil {
		return lines, err
	}
	foreign, err := foreignBlocks(ctx, dir)
	if err != nil {
		return lines, err
	}
	numbers := strayNumbers(append(slices.Clone(paths), slices.Sorted(maps.Keys(foreign))...))
	for path, home := range foreign {
		if stream, key, ok := strayOf(path, numbers); ok && stream != home {
			lines = append(lines, wrongPlace(path, stream, key))
		}
	}
	for _, path := range paths {
		if err := ctx.Err(); err != nil {
			return lines, err
		}
		stream, key, ok := strayOf(path, numbers)
		if !ok {
			lines = append(lines, path+" is not known, and was not read")
			continue
		}
		lines = append(lines, wrongPlace(path, stream, key))
	}
	slices.Sort(lines)
	return lines, nil
}

func wrongPlace(path, stream string, key int) string {
	place := filepath.Join(streamPath("store", stream), "msgs", blockName(key))
	return fmt.Sprintf("%s is block %d of %s in the wrong place, and was not read: copy the home, "+
		"put it at %s in the copy, and salvage that", path, key, stream, place)
}

// foreignBlocks returns the blocks in which no record of their stream can be read, with that stream: they may belong to
// another.
func foreignBlocks(ctx context.Context, dir string) (map[string]string, error) {
	foreign := map[string]string{}
	for _, s := range storedStreams {
		layout, _ := layoutOf(dir, s.name) // an unreadable part is a fault of the store
		for _, index := range layout.blocks {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			path := filepath.Join(streamPath(dir, s.name), "msgs", blockName(index))
			content, err := readBlockBegin(path)
			if err != nil || newRecordParser(s.name, s.prefix, index).readsAny(content) {
				continue
			}
			b, _, err := scanBlock(dir, path, s.name, s.prefix, index, nil, nil)
			if err == nil && b.empty && b.size > 0 {
				foreign[path] = s.name
			}
		}
	}
	return foreign, nil
}

// strayFiles lists the plain files below a store that are neither blocks nor other files that the server and Maestro
// store there.
func strayFiles(ctx context.Context, dir string) (paths, unknown []string, err error) {
	blocks := map[string]bool{}
	for _, s := range storedStreams {
		layout, _ := layoutOf(dir, s.name) // an unreadable part is a fault of the store
		for _, index := range layout.blocks {
			blocks[filepath.Join(streamPath(dir, s.name), "msgs", blockName(index))] = true
		}
	}
	err = disk.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			unknown = append(unknown, path+" cannot be read: "+err.Error())
		case isSpared(dir, path): // it is read with the blocks
		case entry.Type().IsRegular() && !blocks[path] && !slices.Contains(ordinary, entry.Name()):
			paths = append(paths, path)
		}
		return nil
	})
	return paths, unknown, err
}

// isSpared reports whether a path is that of a block's hard link or copy.
func isSpared(dir, path string) bool {
	_, isSpare := spareIndex(filepath.Base(path))
	return isSpare && slices.ContainsFunc(storedStreams, func(s storedStream) bool {
		return filepath.Dir(path) == sparePath(dir, s.name)
	})
}

var digits = lazyregexp.New(`\d{1,9}`)

// strayNumbers returns the numbers under which the server may have written the files: those in their names first, then
// as many as there are files, and more.
func strayNumbers(paths []string) []int {
	var numbers []int
	for _, path := range paths {
		if n, err := strconv.Atoi(digits().FindString(filepath.Base(path))); err == nil && n <= math.MaxInt32 {
			numbers = append(numbers, n)
		}
	}
	for n := range 2*len(paths) + 4*nearKeys {
		numbers = append(numbers, n)
	}
	return numbers
}

// strayOf determines the stream whose records a file holds, and the number under which the server wrote them.
func strayOf(path string, numbers []int) (stream string, key int, ok bool) {
	info, err := disk.Stat(path)
	if err != nil || info.Size() > maxStray {
		return "", 0, false
	}
	content, err := readBlockBegin(path)
	if err != nil || errors.Is(refuseForm(content), errors.ErrUnsupported) {
		return "", 0, false
	}
	own, err := strconv.Atoi(digits().FindString(filepath.Base(path)))
	if err == nil {
		numbers = append([]int{own}, numbers...)
	}
	for _, s := range storedStreams {
		if key, found := keyAmong(slices.Values(numbers), s.name, s.prefix, content); found {
			return s.name, key, true
		}
	}
	return "", 0, false
}
