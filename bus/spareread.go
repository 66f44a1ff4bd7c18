package bus

import (
	"os"
	"path/filepath"

	"maestro/internal/disk"
)

// sparesOf returns, by block number, the hard links and copies of a stream's blocks that may hold more than the block
// itself. It follows no symbolic link.
func sparesOf(dir, stream string) (map[int][]string, error) {
	at := sparePath(dir, stream)
	for _, dir := range []string{filepath.Dir(at), at} {
		if info, err := disk.Lstat(dir); err != nil || !info.IsDir() {
			return nil, ignoreMissing(err)
		}
	}
	entries, err := disk.ReadDir(at)
	if err != nil {
		return nil, ignoreMissing(err)
	}
	found := map[int][]string{}
	for _, entry := range entries {
		index, isSpare := spareIndex(entry.Name())
		if !isSpare || !entry.Type().IsRegular() {
			continue
		}
		info, err := entry.Info()
		if err != nil {
			return found, err
		}
		place, err := disk.Stat(filepath.Join(streamPath(dir, stream), "msgs", blockName(index)))
		if err == nil && (os.SameFile(info, place) || place.Size() >= info.Size()) {
			continue
		}
		found[index] = append(found[index], filepath.Join(at, entry.Name()))
	}
	return found, nil
}
