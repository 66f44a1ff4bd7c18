package bus

import (
	"context"
	"fmt"
	"io/fs"

	"maestro/internal/disk"
)

// Sizes are the sizes of what a store holds.
type Sizes struct {
	// Events is the number of events, Head the sequence of the newest.
	Events, Head uint64
	// Log, Texts and Refusals are bytes on the disk.
	Log, Texts, Refusals uint64
}

// Sizes returns the sizes of the store. Of a store that is read without a server, it knows only the bytes.
func (b *Bus) Sizes(ctx context.Context) (Sizes, error) {
	files, release, err := b.useFiles()
	if err != nil {
		return Sizes{}, err
	}
	defer release()
	if files != nil {
		return sizesOf(b.options.Dir), nil
	}
	var sizes Sizes
	for _, part := range []struct {
		stream string
		bytes  *uint64
	}{
		{StreamName, &sizes.Log}, {BlobStream, &sizes.Texts}, {DeniedStream, &sizes.Refusals},
	} {
		stream, err := b.js.Stream(ctx, part.stream)
		if err != nil {
			return Sizes{}, fmt.Errorf("the size of the stream %s: %w", part.stream, err)
		}
		state := stream.CachedInfo().State
		*part.bytes = state.Bytes
		if part.stream == StreamName {
			sizes.Events, sizes.Head = state.Msgs, state.LastSeq
		}
	}
	return sizes, nil
}

// Sizes returns the sizes of the store's files.
func (r *ReadOnly) Sizes(context.Context) (Sizes, error) { return sizesOf(r.dir), nil }

// Free returns the room on the store's disk.
func (r *ReadOnly) Free() (bytes uint64, known bool, files uint64, knownFiles bool) {
	return freeOn(r.dir)
}

// sizesOf returns the sizes of the files of a store.
func sizesOf(dir string) Sizes {
	return Sizes{
		Log:      bytesBelow(streamPath(dir, StreamName)),
		Texts:    bytesBelow(streamPath(dir, BlobStream)),
		Refusals: bytesBelow(streamPath(dir, DeniedStream)),
	}
}

// bytesBelow sums up the sizes of the files below a directory. What cannot be read counts nothing.
func bytesBelow(dir string) (sum uint64) {
	_ = disk.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error { // it never returns an error
		if err != nil || !entry.Type().IsRegular() {
			return nil //nolint:nilerr // it counts nothing
		}
		if info, err := entry.Info(); err == nil {
			sum += uint64(info.Size()) //nolint:gosec // a size is positive
		}
		return nil
	})
	return sum
}

// Free returns the room on the log's disk, in bytes and in files; false for what is not known.
func (b *Bus) Free() (bytes uint64, known bool, files uint64, knownFiles bool) {
	if b.room.dir == "" {
		return 0, false, 0, false
	}
	return freeOn(b.room.dir)
}

func freeOn(dir string) (bytes uint64, known bool, files uint64, knownFiles bool) {
	bytes, known = freeBytes(dir)
	files, knownFiles = freeFiles(dir)
	return bytes, known, files, knownFiles
}

// Durability returns when the log acknowledges events, as [ParseDurability] reads it.
func (b *Bus) Durability() string { return b.options.Durability.String() }
