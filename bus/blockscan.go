package bus

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"maestro/events"
	"maestro/internal/disk"
)

// BlobStream is the stream of the object store that keeps the blobs.
const BlobStream = "OBJ_" + BlobBucket

const (
	blobPrefix      = "$O." + BlobBucket + "."
	blobChunkPrefix = blobPrefix + "C."
	blobMetaPrefix  = blobPrefix + "M."
)

// storedStream is a stream of a store, with what begins its subjects.
type storedStream struct{ name, prefix string }

// storedStreams are the streams of a store, the log first.
var storedStreams = []storedStream{
	{StreamName, events.SubjectPrefix},
	{BlobStream, blobPrefix},
	{DeniedStream, events.DeniedPrefix},
}

// streamPath is where nats-server keeps one stream, below the store's directory.
func streamPath(dir, stream string) string {
	return filepath.Join(dir, "jetstream", "$G", "streams", stream)
}

// Fault is a place in a store's files that cannot be read, or that does not hold what it must.
type Fault struct {
	// Stream is StreamName, BlobStream or DeniedStream.
	Stream string `json:"stream"`
	// File is the path below the store's directory.
	File string `json:"file"`
	// Offset and Length say which bytes of the file cannot be read. Length 0: bytes that should follow Offset are not
	// there.
	Offset int64 `json:"offset"`
	Length int64 `json:"length"`
	// From and To are the sequences that are missing there, both included; 0 and 0 if none is known to be.
	From uint64 `json:"from,omitempty"`
	To   uint64 `json:"to,omitempty"`
	// Why says what was found.
	Why string `json:"why"`
	// Tail: nothing that can be read follows in the stream. A torn last write looks like that.
	Tail bool `json:"tail,omitempty"`

	// next is the batch of the first message behind the fault; see scannedStream.torn.
	next *string
}

// String returns the fault in one line.
func (f Fault) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: ", f.File)
	if f.Length > 0 {
		fmt.Fprintf(&b, "%d bytes at %d: ", f.Length, f.Offset)
	}
	b.WriteString(f.Why)
	switch f.From {
	case 0:
	case f.To:
		fmt.Fprintf(&b, " (%s %d is missing)", f.Stream, f.From)
	default:
		fmt.Fprintf(&b, " (%s %d to %d are missing)", f.Stream, f.From, f.To)
	}
	return b.String()
}

// place is where a message is stored.
type place struct {
	sequence uint64
	block    int32 // its number
	length   uint32
	offset   int64
}

// scannedBlock is what one block file holds.
type scannedBlock struct {
	index int
	// key is the number under which the server wrote the block. It differs from index in a file that was renamed.
	key     int
	size    int64
	places  []place // messages, in the order of the file
	deleted []uint64
	faults  []Fault
	// firstBatch and lastBatch are the ids of the atomic batches that the first and the last message came in, if any.
	firstBatch, lastBatch string
	empty                 bool // of messages
	// path is where it was read, if that is not its place.
	path string
}

// scannedStream is what all blocks of a stream hold.
type scannedStream struct {
	// dir is where its blocks are.
	dir    string
	name   string
	blocks []scannedBlock
	places []place // by sequence, each once, without what was deleted
	others []place // of the log: further messages of sequences that are in places
	faults []Fault
	last   uint64 // the highest sequence that can be read
	// keys are the numbers under which the blocks were written, by the number of the file; see scannedBlock.
	keys map[int]int
	// paths are of the blocks that are not in dir, by the number of the file: a start that was killed left them.
	paths map[int]string
}

// each is called for every message that a scan finds, in the order of a block; blocks are scanned at the same time.
type eachRecord func(block int, r blockRecord)

// blockFiles lists the numbers of a directory's block files, in order. A directory that is not there has none.
func blockFiles(dir string) ([]int, error) {
	entries, err := disk.ReadDir(dir)
	if err != nil {
		return nil, ignoreMissing(err)
	}
	var blocks []int
	for _, entry := range entries {
		if index, isBlock := blockIndex(entry.Name()); isBlock {
			blocks = append(blocks, index)
		}
	}
	slices.Sort(blocks)
	return blocks, nil
}

func blockName(index int) string { return strconv.Itoa(index) + ".blk" }

// scanStream reads all blocks of a stream, several at a time, and says what can be read and what cannot. A block that
// is not in its place, or has less there, is read where a start that was killed left it. It writes nothing. The error
// says what could not be read; the stream holds the rest then. Only the end of ctx leaves no stream.
func scanStream(ctx context.Context, dir, stream, prefix string, each eachRecord) (*scannedStream, error) {
	spares, err := sparesOf(dir, stream)
	scanned, scanErr := scanWith(ctx, dir, stream, prefix, spares, each)
	return scanned, errors.Join(err, scanErr)
}

// scanPlaces is scanStream of the blocks in their places alone.
func scanPlaces(ctx context.Context, dir, stream, prefix string, each eachRecord) (*scannedStream, error) {
	return scanWith(ctx, dir, stream, prefix, nil, each)
}

func scanWith(
	ctx context.Context, dir, stream, prefix string, spares map[int][]string, each eachRecord,
) (*scannedStream, error) {
	messages := filepath.Join(streamPath(dir, stream), "msgs")
	layout, err := layoutOf(dir, stream)
	indices := slices.Clone(layout.blocks)
	for index := range spares {
		if !slices.Contains(indices, index) {
			indices = append(indices, index)
		}
	}
	slices.Sort(indices)
	blocks := make([]scannedBlock, len(indices))
	failed := make([]error, len(indices))
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), 4, len(indices)) {
		workers.Go(func() {
			var buffer []byte
			var err error
			for i := range next {
				blocks[i], buffer, failed[i] = scanBlock(
					dir, filepath.Join(messages, blockName(indices[i])), stream, prefix, indices[i], buffer, each,
				)
				var unread error // what may hold more
				for _, spare := range spares[indices[i]] {
					var other scannedBlock
					other, buffer, err = scanBlock(dir, spare, stream, prefix, indices[i], buffer, each)
					unread = errors.Join(unread, err)
					if err == nil && other.key == indices[i] && len(other.places) > len(blocks[i].places) {
						other.path = spare
						blocks[i], failed[i] = other, nil
					}
				}
				failed[i] = errors.Join(failed[i], unread)
			}
		})
	}
	for i := range indices {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	workers.Wait()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	for i, err := range failed {
		blocks[i].index = indices[i] // a block of which nothing can be read
		if err != nil && len(blocks[i].places) == 0 {
			blocks[i].key, blocks[i].empty = indices[i], true
		}
	}
	s := &scannedStream{
		dir:    messages,
		name:   stream,
		blocks: blocks,
		faults: layout.faults,
		paths:  map[int]string{},
	}
	for i := range blocks {
		if blocks[i].path != "" {
			s.paths[blocks[i].index] = blocks[i].path
		}
	}
	s.settle(stream == StreamName)
	return s, errors.Join(append(failed, err)...)
}

// scanBlock reads one block file. It returns the buffer, grown if it had to be. With an *UnreadError comes what
// could be read.
func scanBlock(
	dir, path, stream, prefix string, index int, buffer []byte, each eachRecord,
) (scannedBlock, []byte, error) {
	b := scannedBlock{index: index, key: index}
	f, err := openBlock(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) { // it was compacted away meanwhile
			return b, buffer, nil
		}
		return b, buffer, unread(path, err)
	}
	defer f.close()
	content := f.window(buffer, 0)
	if err := refuseForm(content); err != nil {
		return b, content, fmt.Errorf("read the block %s: %w", path, err)
	}
	file, err := filepath.Rel(dir, path)
	if err != nil {
		return b, content, err
	}
	parser := newRecordParser(stream, prefix, index)
	if !parser.readsAny(content) {
		if key, found := keyOf(path, stream, prefix, index, content); found {
			b.key, parser = key, newRecordParser(stream, prefix, key)
			b.faults = append(b.faults, Fault{
				Stream: stream,
				File:   file,
				Why:    "it is block " + strconv.Itoa(key) + " under another name",
				next:   new(string),
			})
		}
	}
	var last []byte
	found := func(at int64, r blockRecord) {
		if r.kind != messageRecord {
			if r.sequence > 0 {
				b.deleted = append(b.deleted, r.sequence)
			}
			return
		}
		if n := len(b.faults); n > 0 && b.faults[n-1].next == nil {
			batch := headerValue(r.header, headerBatchID)
			for i := n - 1; i >= 0 && b.faults[i].next == nil; i-- {
				b.faults[i].next = &batch
			}
		}
		if len(b.places) == 0 {
			b.firstBatch = headerValue(r.header, headerBatchID)
		}
		last = append(last[:0], r.header...)
		b.places = append(
			b.places,
			place{r.sequence, int32(index), uint32(r.length), at}, //nolint:gosec // bounded by parse
		)
		if each != nil {
			each(index, r)
		}
	}
	lost := func(from, to int64, why error) {
		b.faults = append(
			b.faults,
			Fault{
				Stream: stream,
				File:   file,
				Offset: from,
				Length: to - from,
				Why:    why.Error(),
			},
		)
	}
	content, b.size = f.scan(parser, content, found, lost)
	b.lastBatch, b.empty = headerValue(last, headerBatchID), len(b.places) == 0
	if f.failed != nil {
		return b, content, unread(path, f.failed)
	}
	return b, content, nil
}
