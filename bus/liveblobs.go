package bus

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"sync/atomic"

	"maestro/internal/files"
)

// liveBlobs reads the blobs of a running embedded server from the blocks of their stream. The server would cut a
// damaged block when it loads it, so it is asked only for what the blocks do not hold.
type liveBlobs struct {
	dir string // the store's

	// reading is a semaphore that bounds how many texts are in memory at once.
	reading chan struct{}

	// turn is a lock on the fields below. Unlike a mutex, a caller can wait for it with a context. Nobody reads a text
	// while holding it.
	turn   chan struct{}
	index  blobIndex
	places map[uint64]place
	read   []int // the finished blocks in the index
	// The newest block is indexed up to newestEnd.
	newest    int
	newestEnd int64
	// buffer is for reading it: every new text is looked for, and a large buffer for each would cost more than that.
	buffer []byte
	// refreshed is the number of the last complete refresh; begun counts them as they begin, and is read without turn.
	refreshed uint64
	begun     atomic.Uint64
}

// textsAtOnce is how many texts are read concurrently.
const textsAtOnce = 4

func newLiveBlobs(dir string) liveBlobs {
	return liveBlobs{dir: dir, turn: make(chan struct{}, 1), reading: make(chan struct{}, textsAtOnce)}
}

// enter acquires a slot of a semaphore, or fails with errNotSearched when ctx ends first. The caller must call leave.
func enter(ctx context.Context, queue chan struct{}) (leave func(), err error) {
	select {
	case queue <- struct{}{}:
		return func() { <-queue }, nil
	case <-ctx.Done():
		return nil, notSearched(ctx)
	}
}

// refresh indexes what was added since. It fails with *storeDamage when a block is damaged.
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
		if ctx.Err() != nil {
			return notSearched(ctx)
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

// refreshNewest indexes what was added to the block that is being written.
func (l *liveBlobs) refreshNewest(messages string, index int) error {
	f, err := openFile(filepath.Join(messages, blockName(index)))
	if err != nil {
		return ignoreMissing(err)
	}
	defer func() { _ = f.Close() }()
	if l.newest != index {
		l.newest, l.newestEnd = index, 0
	}
	parser, window := newRecordParser(BlobStream, blobPrefix, index), blockWindow{file: f, buffer: l.buffer[:0]}
	defer func() { l.buffer = window.buffer }()
	for {
		content, err := window.from(l.newestEnd)
		if err != nil || len(content) == 0 {
			return err
		}
		record, err := parser.parse(content)
		if errors.Is(err, errRecordCut) {
			return nil // it is still being written
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

// errNotThere: the blocks do not hold the whole blob.
var errNotThere = errors.New("the blob is not in the blocks")

// errNotSearched: the context ended before the blocks were searched. What was indexed stays indexed.
var errNotSearched = errors.New("the stored texts were not searched in time")

func notSearched(ctx context.Context) error { return fmt.Errorf("%w: %w", errNotSearched, ctx.Err()) }

// storedText is the location of a blob's parts.
type storedText struct {
	digest string
	size   int64
	parts  []place
}

// blob returns the content with the digest, verified, or errNotThere. It fails with *storeDamage when the blocks are
// damaged, and with errNotSearched when ctx ends first.
func (l *liveBlobs) blob(ctx context.Context, digest string) ([]byte, error) {
	content, err := l.assemble(ctx, digest, false)
	if err == nil || errors.Is(err, errNotThere) || errors.Is(err, errNotSearched) {
		return content, err
	}
	// The server may have rewritten a block without its deleted messages.
	return l.assemble(ctx, digest, true)
}

// size returns the size of a blob in bytes, according to its description. It fails as blob does.
func (l *liveBlobs) size(ctx context.Context, digest string) (int64, error) {
	text, err := l.find(ctx, digest, false)
	return text.size, err
}

func (l *liveBlobs) assemble(ctx context.Context, digest string, anew bool) ([]byte, error) {
	text, err := l.find(ctx, digest, anew)
	if err != nil {
		return nil, err
	}
	leave, err := enter(ctx, l.reading)
	if err != nil {
		return nil, err
	}
	defer leave()
	return l.contents(ctx, text)
}

// find returns the location of a blob in the blocks. anew discards the index first.
func (l *liveBlobs) find(ctx context.Context, digest string, anew bool) (storedText, error) {
	before := l.begun.Load()
	leave, err := enter(ctx, l.turn)
	if err != nil {
		return storedText{}, err
	}
	defer leave()
	if anew {
		l.places, l.read, l.newest, l.refreshed = nil, nil, 0, 0
	}
	if l.refreshed <= before { // otherwise another caller's refresh began after this call
		this := l.begun.Add(1)
		if err := l.refresh(ctx); err != nil {
			return storedText{}, err
		}
		l.refreshed = this
	}
	meta, found := l.index.metas[digest]
	if !found || meta.Deleted || len(l.index.chunks[meta.NUID]) < meta.Chunks {
		return storedText{}, errNotThere
	}
	text := storedText{digest: digest, size: int64(min(meta.Size, math.MaxInt64))}
	for _, sequence := range slices.Compact(slices.Sorted(slices.Values(l.index.chunks[meta.NUID]))) {
		p, found := l.places[sequence]
		if !found {
			return storedText{}, errNotThere
		}
		text.parts = append(text.parts, p)
	}
	return text, nil
}

// contents reads a blob from its location, and stops when ctx ends.
func (l *liveBlobs) contents(ctx context.Context, text storedText) ([]byte, error) {
	reader := placeReader{
		dir:    filepath.Join(streamPath(l.dir, BlobStream), "msgs"),
		stream: BlobStream,
		prefix: blobPrefix,
	}
	defer reader.close()
	var content []byte
	for _, p := range text.parts {
		if ctx.Err() != nil {
			return nil, notSearched(ctx)
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
				From:   p.sequence,
				To:     p.sequence,
				Why:    err.Error(),
			}}
		}
		content = append(content, chunk.body...)
	}
	if Digest(content) != text.digest {
		return nil, errNotThere
	}
	return content, nil
}
