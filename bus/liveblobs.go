package bus

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"maestro/internal/files"
)

// liveBlobs reads the blobs of a running embedded server from the blocks of their stream. The server, which would cut a
// damaged block when it loads it, is asked only for what they do not hold.
type liveBlobs struct {
	dir string // the store's

	// turn is full while somebody uses what follows: unlike for a mutex, one can wait for it with a context.
	turn   chan struct{}
	index  blobIndex
	places map[uint64]place
	read   []int // finished blocks that are in the index
	// The newest block is in the index up to newestEnd.
	newest    int
	newestEnd int64
}

func newLiveBlobs(dir string) liveBlobs { return liveBlobs{dir: dir, turn: make(chan struct{}, 1)} }

// refresh takes in what came since. It fails with *storeDamage when a block is damaged.
func (l *liveBlobs) refresh(ctx context.Context) error {
	messages := filepath.Join(streamPath(l.dir, BlobStream), "msgs")
	blocks, err := blockFiles(messages)
	if err != nil && !files.Gone(err) {
		return err
	}
	if l.places == nil {
		l.index, l.places = newBlobIndex(), map[uint64]place{}
	}
	var buffer []byte
	for i, index := range blocks {
		if i == len(blocks)-1 {
			return l.refreshNewest(messages, index)
		}
		if slices.Contains(l.read, index) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%w: %w", errNotSearched, err)
		}
		var block scannedBlock
		path := filepath.Join(messages, blockName(index))
		block, buffer, err = scanBlock(l.dir, path, BlobStream, blobPrefix, index, buffer, l.index.note)
		if err != nil {
			return err
		}
		if len(block.faults) > 0 {
			return &storeDamage{block.faults[0]}
		}
		for _, p := range block.places {
			l.places[p.sequence] = p
		}
		for _, sequence := range block.deleted {
			delete(l.places, sequence)
		}
		l.read = append(l.read, index)
	}
	return nil
}

// refreshNewest takes in what came into the block that is being written.
func (l *liveBlobs) refreshNewest(messages string, index int) error {
	f, err := openFile(filepath.Join(messages, blockName(index)))
	if err != nil {
		return ignoreMissing(err)
	}
	defer func() { _ = f.Close() }()
	if l.newest != index {
		l.newest, l.newestEnd = index, 0
	}
	parser, window := newRecordParser(BlobStream, blobPrefix, index), blockWindow{file: f}
	for {
		content, err := window.from(l.newestEnd)
		if err != nil || len(content) == 0 {
			return err
		}
		record, err := parser.parse(content)
		if errors.Is(err, errRecordCut) {
			return nil // it is being written
		}
		if err != nil {
			file := filepath.Join(streamPath("", BlobStream), "msgs", blockName(index))
			return &storeDamage{Fault{
				Stream: BlobStream,
				File:   file,
				Offset: l.newestEnd,
				Why:    err.Error(),
			}}
		}
		if record.kind != messageRecord {
			delete(l.places, record.sequence)
		} else {
			l.index.note(index, record)
			l.places[record.sequence] = place{
				sequence: record.sequence,
				block:    int32(index),          //nolint:gosec // few blocks
				length:   uint32(record.length), //nolint:gosec // bounded by parse
				offset:   l.newestEnd,
			}
		}
		l.newestEnd += int64(record.length)
	}
}

// errNotThere: the blocks do not hold all of the blob.
var errNotThere = errors.New("the blob is not in the blocks")

// errNotSearched: the context ended before the blocks were searched. What was indexed stays indexed.
var errNotSearched = errors.New("the stored texts were not searched in time")

// blob gives the content that has the digest, verified, or errNotThere. It fails with *storeDamage when the blocks are
// damaged, and with errNotSearched when ctx ends first.
func (l *liveBlobs) blob(ctx context.Context, digest string) ([]byte, error) {
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", errNotSearched, ctx.Err())
	}
	content, err := l.assemble(ctx, digest)
	if err == nil || errors.Is(err, errNotThere) || errors.Is(err, errNotSearched) {
		return content, err
	}
	// The server may have written a block anew, without what was deleted.
	l.places, l.read, l.newest = nil, nil, 0
	return l.assemble(ctx, digest)
}

func (l *liveBlobs) assemble(ctx context.Context, digest string) ([]byte, error) {
	if err := l.refresh(ctx); err != nil {
		return nil, err
	}
	meta, found := l.index.metas[digest]
	if !found || meta.Deleted || len(l.index.chunks[meta.NUID]) < meta.Chunks {
		return nil, errNotThere
	}
	reader := placeReader{
		dir:    filepath.Join(streamPath(l.dir, BlobStream), "msgs"),
		stream: BlobStream,
		prefix: blobPrefix,
	}
	defer reader.close()
	var content []byte
	sequences := slices.Compact(slices.Sorted(slices.Values(l.index.chunks[meta.NUID])))
	for _, sequence := range sequences {
		p, found := l.places[sequence]
		if !found {
			return nil, errNotThere
		}
		chunk, err := reader.read(p)
		if failedToRead(err) {
			return nil, err
		}
		if err != nil {
			return nil, &storeDamage{Fault{
				Stream: BlobStream,
				File:   filepath.Join("jetstream", "$G", "streams", BlobStream, "msgs", blockName(int(p.block))),
				Offset: p.offset,
				Length: int64(p.length),
				From:   sequence,
				To:     sequence,
				Why:    err.Error(),
			}}
		}
		content = append(content, chunk.body...)
	}
	if Digest(content) != digest {
		return nil, errNotThere
	}
	return content, nil
}
