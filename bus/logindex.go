package bus

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/minio/highwayhash"

	"maestro/internal/disk"
)

// An index.db tells nats-server what a stream's blocks hold, so that it does not read them. The server writes one when
// it stops. After a kill there is none that ends where the blocks end, and the server would read every block, on one
// core. So the check before such a start, which reads every block anyway, writes the index of the log from what it
// read. The server ignores an index that does not end with the newest record, and reads the blocks as before.
//
// An index is, in variable-length integers (times are signed, in Unix nanoseconds):
//
//	magic, version    1 byte each
//	stream            messages, bytes, first sequence, first time, last sequence, last time
//	subjects          their number; of each its length, itself, its messages, its first and its last block
//	blocks            their number; of each its number, bytes, first sequence, first time, last sequence, last time,
//	                  and three counts that are 0 in the log. The times count from the stream's first time.
//	newest block      its number, and the 8 bytes of its last record's checksum
//	checksum          8 bytes: HighwayHash-64 of all that, keyed with SHA-256("<stream>")
const (
	indexMagic   = 11
	indexVersion = 4
)

// indexedBlock is what an index says of one block.
type indexedBlock struct {
	messages, bytes     uint64
	first, last         uint64
	firstTime, lastTime int64
	subjects            map[string]uint64
}

// indexedMost bounds the memory of a logIndex, in subjects of blocks. A log with more is read by the server as well.
const indexedMost = 500_000

// logIndex collects what an index says while the blocks of the log are scanned.
type logIndex struct {
	blocks map[int]*indexedBlock
	// subjects counts those of all blocks.
	subjects atomic.Int64

	// earlier holds the subjects of an earlier index, which covers the messages up to a sequence; see tail.go. covered
	// is the time of the last of these messages.
	earlier map[string]indexedSubject
	through uint64
	covered int64
}

// newLogIndex prepares for the blocks of a store's log. Others are left out, and the index then fits no store.
func newLogIndex(dir string) *logIndex {
	x := &logIndex{blocks: map[int]*indexedBlock{}}
	blocks, err := blockFiles(filepath.Join(streamPath(dir, StreamName), "msgs"))
	if err != nil {
		return x
	}
	for _, block := range blocks {
		x.blocks[block] = &indexedBlock{subjects: map[string]uint64{}}
	}
	return x
}

// add counts a message. Different blocks may be scanned at the same time.
func (x *logIndex) add(block int, r blockRecord) {
	b := x.blocks[block]
	if b == nil {
		return
	}
	if b.messages == 0 {
		b.first, b.firstTime = r.sequence, r.time
	}
	b.messages++
	b.bytes += uint64(r.length) //nolint:gosec // bounded by parse
	b.last, b.lastTime = r.sequence, r.time
	if r.sequence <= x.through { // its subject is counted
		x.covered = r.time
		return
	}
	switch n, known := b.subjects[string(r.subject)]; {
	case known: // allocates nothing
		b.subjects[string(r.subject)] = n + 1
	case x.subjects.Add(1) <= indexedMost:
		b.subjects[string(r.subject)] = 1
	}
}

// describes reports whether the collected blocks are all of a scanned log, in which nothing is missing, deleted or out
// of its place.
func (x *logIndex) describes(s *scannedStream) bool {
	if len(s.blocks) == 0 || len(s.blocks) != len(x.blocks) || x.subjects.Load() > indexedMost ||
		len(s.faults)+len(s.others)+len(s.paths) > 0 {
		return false
	}
	next := uint64(1)
	for i := range s.blocks {
		b := x.blocks[s.blocks[i].index]
		if b == nil || !s.blocks[i].isWhole(b, next) {
			return false
		}
		next = b.last + 1
	}
	return true
}

// isWhole reports whether a scanned block holds messages from a sequence on, and nothing else: they fill the file.
func (s *scannedBlock) isWhole(b *indexedBlock, from uint64) bool {
	return s.key == s.index && b.messages > 0 && b.first == from && b.last-b.first+1 == b.messages &&
		b.bytes == uint64(s.size) //nolint:gosec // not negative
}

// indexedSubject is what an index says of one subject.
type indexedSubject struct {
	messages    uint64
	first, last int
}

// encode returns the index of blocks, given in order. end is the checksum of the last record.
func (x *logIndex) encode(blocks []int, end []byte) []byte {
	var messages, size uint64
	subjects := map[string]indexedSubject{}
	maps.Copy(subjects, x.earlier)
	for _, index := range blocks {
		b := x.blocks[index]
		messages, size = messages+b.messages, size+b.bytes
		for subject, n := range b.subjects {
			entry, known := subjects[subject]
			if !known {
				entry.first = index
			}
			subjects[subject] = indexedSubject{entry.messages + n, entry.first, index}
		}
	}
	first, last := x.blocks[blocks[0]], x.blocks[blocks[len(blocks)-1]]
	c := []byte{indexMagic, indexVersion}
	count := func(values ...uint64) {
		for _, value := range values {
			c = binary.AppendUvarint(c, value)
		}
	}
	number := func(index int) uint64 { return uint64(index) } //nolint:gosec // not negative; see inMessages
	count(messages, size, first.first)
	c = binary.AppendVarint(c, first.firstTime)
	count(last.last)
	c = binary.AppendVarint(c, last.lastTime)
	count(uint64(len(subjects)))
	for _, subject := range slices.Sorted(maps.Keys(subjects)) {
		entry := subjects[subject]
		count(uint64(len(subject)))
		c = append(c, subject...)
		count(entry.messages, number(entry.first), number(entry.last))
	}
	count(uint64(len(blocks)))
	for _, index := range blocks {
		b := x.blocks[index]
		count(number(index), b.bytes, b.first)
		c = binary.AppendVarint(c, b.firstTime-first.firstTime)
		count(b.last)
		c = binary.AppendVarint(c, b.lastTime-first.firstTime)
		count(0, 0, 0) // deleted messages, messages that expire, scheduled messages
	}
	count(number(blocks[len(blocks)-1]))
	c = append(c, end...)
	return append(c, indexSum(c)...)
}

// indexSum returns the checksum of an index.
func indexSum(content []byte) []byte {
	key := sha256.Sum256([]byte(StreamName))
	sum, err := highwayhash.NewDigest64(key[:])
	if err != nil {
		panic(err) // the key has the right length
	}
	_, _ = sum.Write(content)
	return sum.Sum(nil)
}

// errNotIndexed: an index is damaged, or says something that is never so in the log.
var errNotIndexed = errors.New("the index does not describe a log")

// parseIndex reads an index of the log. It returns the number of its newest block.
func parseIndex(content []byte) (x *logIndex, newest int, err error) {
	n := len(content) - recordSum
	if n < 2 || content[0] != indexMagic || content[1] != indexVersion ||
		!bytes.Equal(content[n:], indexSum(content[:n])) {
		return nil, 0, errNotIndexed
	}
	r := indexReader{content: content[2:n]}
	x = &logIndex{blocks: map[int]*indexedBlock{}, earlier: map[string]indexedSubject{}}
	messages, size, first, firstTime := r.count(), r.count(), r.count(), r.time()
	last, lastTime := r.count(), r.time()
	for range r.count() {
		subject := r.text(r.count())
		x.earlier[subject] = indexedSubject{r.count(), r.block(), r.block()}
		if r.failed {
			return nil, 0, errNotIndexed
		}
	}
	if first != 1 { // nothing is removed from the log
		return nil, 0, errNotIndexed
	}
	next := first
	for range r.count() {
		index := r.block()
		b := &indexedBlock{
			bytes:     r.count(),
			first:     r.count(),
			firstTime: firstTime + r.time(),
			last:      r.count(),
			lastTime:  firstTime + r.time(),
		}
		deleted, expiring, scheduled := r.count(), r.count(), r.count()
		if r.failed || b.first != next || b.last < b.first || index <= newest || deleted+expiring+scheduled > 0 {
			return nil, 0, errNotIndexed
		}
		b.messages = b.last - b.first + 1
		messages, size, next = messages-b.messages, size-b.bytes, b.last+1
		x.blocks[index], newest = b, index
	}
	if block := r.block(); r.failed || block != newest || newest == 0 || len(r.content) != recordSum || messages != 0 ||
		size != 0 || next != last+1 || x.blocks[newest].lastTime != lastTime {
		return nil, 0, errNotIndexed
	}
	x.through = last
	return x, newest, nil
}

// indexReader reads the numbers of an index.
type indexReader struct {
	content []byte
	failed  bool
}

func (r *indexReader) count() uint64 {
	n, size := binary.Uvarint(r.content)
	if size <= 0 || n > maxSequence {
		r.failed, r.content = true, nil
		return 0
	}
	r.content = r.content[size:]
	return n
}

func (r *indexReader) time() int64 {
	n, size := binary.Varint(r.content)
	if size <= 0 {
		r.failed, r.content = true, nil
		return 0
	}
	r.content = r.content[size:]
	return n
}

func (r *indexReader) block() int {
	n := r.count()
	if n > math.MaxInt32 {
		r.failed = true
	}
	return int(n) //nolint:gosec // bounded by count
}

func (r *indexReader) text(length uint64) string {
	if length > uint64(len(r.content)) {
		r.failed, r.content = true, nil
		return ""
	}
	text := string(r.content[:length])
	r.content = r.content[length:]
	return text
}

// replaceIndex removes the index of a scanned stream, and writes a new one for a log that it describes.
func (e *embedded) replaceIndex(s *scannedStream, x *logIndex) error {
	if err := e.removeIndex(s.name); err != nil || x == nil || !x.describes(s) {
		return err
	}
	if err := x.write(s.dir); err != nil {
		e.logger.Warn("the index of the log could not be written; the start reads every block once more", "why", err)
		return e.removeIndex(StreamName)
	}
	return nil
}

// write writes the index into the directory of its blocks.
func (x *logIndex) write(dir string) error {
	blocks := slices.Sorted(maps.Keys(x.blocks))
	end, err := lastSum(filepath.Join(dir, blockName(blocks[len(blocks)-1])))
	if err != nil {
		return err
	}
	return writeAtomically(filepath.Join(dir, indexName), x.encode(blocks, end))
}

// lastSum returns the checksum of a block's last record, zeros for an empty block.
func lastSum(block string) ([]byte, error) {
	f, err := openFile(block)
	if err != nil {
		return nil, unread(block, err)
	}
	defer func() { _ = f.Close() }()
	info, err := disk.FileStat(f)
	if err != nil {
		return nil, unread(block, err)
	}
	last := make([]byte, recordSum)
	if info.Size() < recordSum {
		return last, nil
	}
	if _, err := disk.ReadAt(f, last, info.Size()-recordSum); err != nil {
		return nil, unread(block, err)
	}
	return last, nil
}
