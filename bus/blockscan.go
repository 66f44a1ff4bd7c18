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

// BlobStream is the stream of the blobs' object store.
const BlobStream = "OBJ_" + BlobBucket

const (
	blobPrefix      = "$O." + BlobBucket + "."
	blobChunkPrefix = blobPrefix + "C."
	blobMetaPrefix  = blobPrefix + "M."
)

// storedStream is a stream of a store and the prefix of its subjects.
type storedStream struct{ name, prefix string }

// storedStreams are the streams of a store, the log first.
var storedStreams = []storedStream{
	{StreamName, events.SubjectPrefix},
	{BlobStream, blobPrefix},
	{DeniedStream, events.DeniedPrefix},
}

// streamPath is where nats-server stores a stream, below the store's directory.
func streamPath(dir, stream string) string {
	return filepath.Join(dir, "jetstream", "$G", "streams", stream)
}

// Fault is a part of a store's files that cannot be read, or does not hold what it must.
type Fault struct {
	// Stream is StreamName, BlobStream or DeniedStream.
	Stream string `json:"stream"`
	// File is the path below the store's directory.
	File string `json:"file"`
	// Offset and Length give the bytes of the file that cannot be read. Length 0 means that bytes are missing after
	// Offset.
	Offset int64 `json:"offset"`
	Length int64 `json:"length"`
	// From and To are the first and the last sequence missing there; both are 0 if none is known to be missing.
	From uint64 `json:"from,omitempty"`
	To   uint64 `json:"to,omitempty"`
	// Why describes what was found.
	Why string `json:"why"`
	// Tail says that nothing readable follows in the stream. A torn last write looks like that.
	Tail bool `json:"tail,omitempty"`

	// next names the append of the first message after the fault; see scannedStream.oneAppend.
	next *string
}

// String describes the fault in one line.
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

// place is the location of a stored message.
type place struct {
	sequence uint64
	block    int32 // its number
	length   uint32
	offset   int64
}

// scannedBlock is the content of one block file.
type scannedBlock struct {
	index int
	// key is the number under which the server wrote the block. It differs from index if the file was renamed.
	key     int
	size    int64
	places  []place // messages, in file order
	deleted []uint64
	faults  []Fault
	// firstAppend and lastAppend name the appends of the first and the last message; see appendOf.
	firstAppend, lastAppend string
	empty                   bool // the block has no messages
	// path is the file that was read, if it is not the block's own.
	path string
}

// scannedStream is the content of all blocks of a stream.
type scannedStream struct {
	// dir is the directory of its blocks.
	dir    string
	name   string
	blocks []scannedBlock
	places []place // by sequence, each once, without deleted messages
	others []place // of the log: further messages of sequences in places
	asides []place // of the log: those that Prefer dropped
	faults []Fault
	last   uint64 // the highest readable sequence
	// keys are the numbers under which the blocks were written, by file number; see scannedBlock.
	keys map[int]int
	// paths are the paths, by file number, of blocks that are not in dir: an interrupted start left them elsewhere.
	paths map[int]string
}

// eachRecord is called for every message that a scan finds, in block order. Blocks are scanned concurrently.
type eachRecord func(block int, r blockRecord)

// blockFiles lists the numbers of a directory's block files, in order. A missing directory has none.
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

// appendOf names the append of a message that is one of several, and returns "" for any other. Clusters and earlier
// versions store the messages of an append as an atomic batch.
func appendOf(header []byte) string {
	if id := headerValue(header, headerAppend); id != "" {
		return id
	}
	return headerValue(header, headerBatchID)
}

// scanStream reads all blocks of a stream, several at a time, and records what can be read and what cannot. It reads a
// block that is missing or too short from where an interrupted start left it. It writes nothing. If a part cannot be
// read, the error says so and the stream holds the rest. The stream is nil only when ctx ends.
func scanStream(ctx context.Context, dir, stream, prefix string, each eachRecord) (*scannedStream, error) {
	spares, err := sparesOf(dir, stream)
	scanned, scanErr := scanWith(ctx, dir, stream, prefix, spares, each)
	return scanned, errors.Join(err, scanErr)
}

// scanPlaces is scanStream for blocks in their own directory alone.
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
				var unread error // set if a part that could not be read may hold more
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
		blocks[i].index = indices[i] // a block without any readable record
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

// scanBlock reads one block file. It returns the buffer, which may have grown. With an *UnreadError it also returns
// what could be read.
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
			batch := appendOf(r.header)
			for i := n - 1; i >= 0 && b.faults[i].next == nil; i-- {
				b.faults[i].next = &batch
			}
		}
		if len(b.places) == 0 {
			b.firstAppend = appendOf(r.header)
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
	b.lastAppend, b.empty = appendOf(last), len(b.places) == 0
	if f.failed != nil {
		return b, content, unread(path, f.failed)
	}
	return b, content, nil
}
