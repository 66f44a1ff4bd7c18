package bus

import (
	"errors"
	"io"
	"os"

	"maestro/internal/disk"
)

// maxWindow is how much of a block file is in memory at a time: the whole block, if the server wrote it. A longer file
// was tampered with, and is read piece by piece.
const maxWindow = 16 << 20

// blockFile is a block being read. Parts that the disk cannot read count as zeros, and failed says why.
type blockFile struct {
	f      *os.File
	size   int64
	failed error
}

func openBlock(path string) (*blockFile, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	info, err := disk.FileStat(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &blockFile{f: f, size: info.Size()}, nil
}

func (b *blockFile) close() { _ = b.f.Close() }

// readBlockBegin reads the first window of a block.
func readBlockBegin(path string) ([]byte, error) {
	b, err := openBlock(path)
	if err != nil {
		return nil, err
	}
	defer b.close()
	content := b.window(nil, 0)
	return content, b.failed
}

// window reads from an offset into the buffer, which it grows if needed. It returns less than a whole window only at
// the end.
func (b *blockFile) window(buffer []byte, from int64) []byte {
	size := int(min(b.size-from, maxWindow))
	if cap(buffer) < size {
		buffer = make([]byte, size)
	}
	buffer = buffer[:size]
	for n, failures := 0, 0; n < size; {
		read, err := disk.ReadAt(b.f, buffer[n:], from+int64(n))
		if n += read; n == size || err == nil {
			continue
		}
		if failures++; read > 0 {
			failures = 1
		}
		if errors.Is(err, io.EOF) { // it was cut meanwhile
			b.size = from + int64(n)
			return buffer[:n]
		}
		if failures < readTries {
			continue
		}
		failures = 0
		if b.failed == nil {
			b.failed = err
		}
		// The disk cannot read this part. Continue after it.
		skip := min(unreadable-n%unreadable, size-n)
		clear(buffer[n : n+skip])
		n += skip
	}
	return buffer
}

// readTries is how often a read is tried before its error counts.
const readTries = 3

// unreadable is the number of bytes to skip where the disk returns an error.
const unreadable = 4096

// scan applies recordParser.scan to the whole file, whose first window is given. It returns the buffer and the length
// of the file. What is found aliases the buffer.
func (b *blockFile) scan(
	p *recordParser, content []byte, found func(at int64, r blockRecord), lost func(from, to int64, why error),
) ([]byte, int64) {
	var from, to int64 // the lost bytes not yet reported
	var why error
	tell := func() {
		if why != nil {
			lost(from, to, why)
		}
		why = nil
	}
	for base := int64(0); ; {
		limit := len(content) // the limit up to which a record may begin here
		if base+int64(limit) < b.size {
			limit -= maxRecord
		}
		end := p.scan(content, limit, func(at int, r blockRecord) {
			tell()
			found(base+int64(at), r)
		}, func(begin, end int, reason error) {
			if why != nil && (begin > 0 || to != base) { // otherwise it continues from the window before
				tell()
			}
			if why == nil {
				from, why = base+int64(begin), reason
			}
			to = base + int64(end)
		})
		if base += int64(end); base >= b.size || end == 0 {
			tell()
			return content, base
		}
		content = b.window(content, base)
	}
}
