package bus

import (
	"bytes"
	"encoding/binary"
	"hash"
	"math"
	"testing"

	"maestro/events"
)

// counting counts the bytes over which checksums are computed.
type counting struct {
	hash.Hash64
	bytes int
}

func (c *counting) Write(b []byte) (int, error) {
	c.bytes += len(b)
	return c.Hash64.Write(b)
}

// head returns the beginning of a record that claims this length.
func head(length int, subject string) []byte {
	content := binary.LittleEndian.AppendUint32(nil, uint32(length)) //nolint:gosec // a test's
	content = binary.LittleEndian.AppendUint64(content, 1)
	content = binary.LittleEndian.AppendUint64(content, 0)
	content = binary.LittleEndian.AppendUint16(content, uint16(len(subject))) //nolint:gosec // a test's
	return append(content, subject...)
}

// record returns a whole record.
func record(p *recordParser, subject string) []byte {
	content := head(recordHead+len(subject)+recordSum, subject)
	p.sum.Reset()
	_, _ = p.sum.Write(content[4:20])
	_, _ = p.sum.Write(content[recordHead:])
	return p.sum.Sum(content)
}

// TestMaliciousBlockIsNotSlow: in a block in which every position looks like a long record, checksums are computed
// over a bounded number of bytes, whether the records in between can be read or not.
func TestMaliciousBlockIsNotSlow(t *testing.T) {
	const size, long = 1 << 20, 300_000
	subject := events.SubjectPrefix + "x"
	parser := newRecordParser(StreamName, events.SubjectPrefix, 1)
	whole := record(parser, subject)
	for name, piece := range map[string][]byte{
		"none can be read":   head(long, subject),
		"each second can be": append(head(long, subject), whole...),
	} {
		content := bytes.Repeat(piece, size/len(piece))
		counter := &counting{Hash64: parser.sum}
		slow := &recordParser{prefix: parser.prefix, sum: counter}
		found := 0
		slow.scan(content, len(content), func(int, blockRecord) { found++ }, func(int, int, error) {})
		if most := 66*len(content) + 4*maxRecord; counter.bytes > most {
			t.Errorf("%s: checksums were computed over %d bytes of a block of %d", name, counter.bytes, len(content))
		}
		if name != "none can be read" && found == 0 {
			t.Errorf("%s: no record was read", name)
		}
	}
}

// TestKeysAreTriedWithinABudget: no block number is tried if nothing in the block looks like a record, and few are
// tried if its records are long.
func TestKeysAreTriedWithinABudget(t *testing.T) {
	tried := 0
	numbers := func(yield func(int) bool) {
		for n := range math.MaxInt {
			if tried++; tried > 1_000_000 || !yield(n) {
				return
			}
		}
	}
	for name, content := range map[string][]byte{"empty": nil, "zeros": make([]byte, 1<<20)} {
		if _, found := keyAmong(numbers, StreamName, events.SubjectPrefix, content); found || tried != 0 {
			t.Errorf("%s: found %t, tried %d numbers", name, found, tried)
		}
	}
	const length = 1 << 20
	long := make([]byte, length)
	copy(long, head(length, events.SubjectPrefix+"x"))
	content := bytes.Repeat(long, maxSamples)
	if _, found := keyAmong(numbers, StreamName, events.SubjectPrefix, content); found || tried > 2*maxTried/length {
		t.Errorf("found %t, tried %d numbers", found, tried)
	}
}
