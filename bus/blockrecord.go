package bus

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"slices"
	"strconv"

	"github.com/minio/highwayhash"
)

// A block file of nats-server is a row of records, in little endian:
//
//	length    4  of the whole record; the highest bit says that there is a header
//	sequence  8  the highest bit marks an erased message, the next one a tombstone (its message is deleted)
//	time      8  Unix nanoseconds
//	subject   2  length of the subject, which follows
//	header    4  length of the header, which follows; only if there is one
//	message      the rest
//	checksum  8  HighwayHash-64 of sequence, time, subject, header and message, keyed with SHA-256("<stream>-<block>")
//
// The checksum does not cover the three lengths, so parseRecord checks what they cut out as far as its form is known.
const (
	recordHead   = 22
	recordSum    = highwayhash.Size64
	headerBit    = 1 << 31
	erasedBit    = 1 << 63
	tombstoneBit = 1 << 62
	// maxRecord bounds a length field: the largest message of any of our streams, and generous headers.
	maxRecord = 2 << 20
	// maxSequence bounds a sequence field.
	maxSequence = 1 << 48
)

type recordKind uint8

const (
	messageRecord recordKind = iota
	erasedRecord
	tombstoneRecord
)

// blockRecord is one record. Its slices alias the block's content.
type blockRecord struct {
	kind     recordKind
	length   int
	sequence uint64
	time     int64 // Unix nanoseconds
	subject  []byte
	header   []byte
	body     []byte
}

var (
	errRecordCut  = errors.New("the record is cut")
	errRecordHead = errors.New("the record's lengths or sequence are damaged")
	errRecordSum  = errors.New("the record does not have its checksum")
	errRecordForm = errors.New("the record's subject or header is damaged")
)

// recordParser reads the records of one block. It is not safe for concurrent use.
type recordParser struct {
	prefix []byte // the prefix of every subject of the stream
	sum    hash.Hash64
	buf    [recordSum]byte
}

func newRecordParser(stream, prefix string, block int) *recordParser {
	key := sha256.Sum256([]byte(stream + "-" + strconv.Itoa(block)))
	sum, err := highwayhash.NewDigest64(key[:])
	if err != nil {
		panic(err) // the key has the right length
	}
	return &recordParser{prefix: []byte(prefix), sum: sum}
}

// claimed returns the length that the record at the start of content claims, or 0 if that is impossible.
func claimed(content []byte) int {
	if len(content) < recordHead {
		return 0
	}
	length := int(binary.LittleEndian.Uint32(content) &^ headerBit)
	if length < recordHead+recordSum || length > maxRecord {
		return 0
	}
	return length
}

// parse reads the record at the start of content and verifies its checksum.
func (p *recordParser) parse(content []byte) (blockRecord, error) {
	var r blockRecord
	if len(content) < recordHead {
		return r, errRecordCut
	}
	little := binary.LittleEndian
	hasHeader := little.Uint32(content)&headerBit != 0
	subject := int(little.Uint16(content[20:]))
	if r.length = claimed(content); r.length == 0 {
		return r, errRecordHead
	}
	if r.length > len(content) {
		return r, errRecordCut
	}
	data := content[recordHead : r.length-recordSum]
	begin := subject
	if hasHeader {
		begin += 4
	}
	if begin > len(data) {
		return r, errRecordHead
	}
	p.sum.Reset()
	_, _ = p.sum.Write(content[4:20])
	_, _ = p.sum.Write(data[:subject])
	_, _ = p.sum.Write(data[begin:])
	if !bytes.Equal(p.sum.Sum(p.buf[:0]), content[r.length-recordSum:r.length]) {
		return r, errRecordSum
	}
	r.sequence = little.Uint64(content[4:])
	r.time = int64(little.Uint64(content[12:])) //nolint:gosec // as the server wrote it
	switch {
	case r.sequence&tombstoneBit != 0:
		r.kind = tombstoneRecord
	case r.sequence&erasedBit != 0:
		r.kind = erasedRecord
	}
	if r.sequence &^= tombstoneBit | erasedBit; r.sequence > maxSequence {
		return r, errRecordHead
	}
	if r.kind != messageRecord {
		return r, nil
	}
	r.subject, r.body = data[:subject], data[begin:]
	if hasHeader {
		header := uint64(little.Uint32(data[subject:]))
		if header > uint64(len(r.body)) || !isHeader(r.body[:header]) {
			return r, errRecordForm
		}
		r.header, r.body = r.body[:header], r.body[header:]
	}
	if r.sequence == 0 || !p.isSubject(r.subject) {
		return r, errRecordForm
	}
	return r, nil
}

// isSubject reports whether a subject can belong to the stream.
func (p *recordParser) isSubject(subject []byte) bool {
	if !bytes.HasPrefix(subject, p.prefix) || subject[len(subject)-1] == '.' {
		return false
	}
	for _, c := range subject {
		if c <= ' ' || c == 0x7f {
			return false
		}
	}
	return true
}

var (
	headerBegin = []byte("NATS/1.0\r\n")
	headerEnd   = []byte("\r\n\r\n")
)

// isHeader reports whether the bytes are exactly one header block.
func isHeader(header []byte) bool {
	return bytes.HasPrefix(header, headerBegin) && bytes.Index(header, headerEnd) == len(header)-len(headerEnd)
}

// headerValue returns the value of one header field, or "".
func headerValue(header []byte, name string) string {
	for line := range bytes.SplitSeq(header, []byte("\r\n")) {
		if field, value, ok := bytes.Cut(line, []byte(":")); ok && string(field) == name {
			return string(bytes.TrimSpace(value))
		}
	}
	return ""
}

// scan calls found for every readable record of a block, and lost for every run of bytes between them that cannot be
// read. Only records that begin before the limit count. It returns the offset where it stopped.
func (p *recordParser) scan(
	content []byte, limit int, found func(at int, r blockRecord), lost func(from, to int, why error),
) int {
	// Finding the next record costs a checksum for each offset that looks like one. The budget bounds the time for a
	// block that was crafted to have many of them.
	budget := 64*len(content) + maxRecord
	at := 0
	for at < limit {
		r, err := p.parse(content[at:])
		if err == nil {
			found(at, r)
			at += r.length
			continue
		}
		// This checksum and that of the record after it cost as much as those that next computes.
		budget -= 2 * max(claimed(content[at:]), recordHead)
		next := p.next(content, at, &budget)
		if limit < len(content) { // what begins after the limit is reported with the bytes that follow
			next = min(next, limit)
		}
		lost(at, next, err)
		at = next
	}
	return at
}

// next returns the offset of the next readable record after the damaged one at the offset, or the block's end.
func (p *recordParser) next(content []byte, at int, budget *int) int {
	if length := claimed(content[at:]); length > 0 {
		end := at + length
		if end == len(content) {
			return end
		}
		if end < len(content) {
			if _, err := p.parse(content[end:]); err == nil {
				return end
			}
		}
	}
	for look := at + 1 + recordHead; look < len(content) && *budget > 0; look++ {
		found := bytes.Index(content[look:], p.prefix)
		if found < 0 {
			break
		}
		look += found
		*budget -= max(claimed(content[look-recordHead:]), recordHead)
		if _, err := p.parse(content[look-recordHead:]); err == nil {
			return look - recordHead
		}
	}
	return len(content)
}

// readsAny reports whether at least one record of a block can be read.
func (p *recordParser) readsAny(content []byte) bool {
	budget := 64*len(content) + maxRecord
	if _, err := p.parse(content); err == nil || len(content) < recordHead {
		return true
	}
	return p.next(content, 0, &budget) < len(content)
}

// samples returns parts of a block that may be records, to try keys on. They are few and short, so that many keys can
// be tried.
func (p *recordParser) samples(content []byte) [][]byte {
	var found [][]byte
	for at := 0; at < len(content) && len(found) < 2*maxSamples; {
		length := claimed(content[at:])
		if length == 0 || at+length > len(content) {
			next := at + 1 + recordHead
			if next >= len(content) {
				break
			}
			step := bytes.Index(content[next:], p.prefix)
			if step < 0 {
				break
			}
			at = next + step - recordHead
			continue
		}
		found = append(found, content[at:at+length])
		at += length
	}
	slices.SortFunc(found, func(a, b []byte) int { return cmp.Compare(len(a), len(b)) })
	return found[:min(len(found), maxSamples)]
}

const maxSamples = 6

// refuseForm explains why a block cannot be read at all, or returns nil. This reader supports only plain blocks, as our
// streams use them.
func refuseForm(content []byte) error {
	if bytes.HasPrefix(content, []byte("cmp")) {
		return fmt.Errorf("the block is compressed, and Maestro's streams are not: %w", errors.ErrUnsupported)
	}
	return nil
}
