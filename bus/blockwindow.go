package bus

import (
	"errors"
	"io"
	"os"

	"maestro/internal/disk"
)

// maxWindow is how much of a block file is in memory at a time: all of one that the server wrote. A longer one was made
// so, and is read piece by piece.
const maxWindow = 16 << 20

// blockFile is a block that is read. What the disk cannot read of it counts as zeros, and failed says why.
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

// readBlockBegin reads as much of a block as is read at a time.
func readBlockBegin(path string) ([]byte, error) {
	b, err := openBlock(path)
	if err != nil {
		return nil, err
	}
	defer b.close()
	content := b.window(nil, 0)
	return content, b.failed
}

// window reads from an offset into the buffer, which it makes larger if it must. It returns less than a whole window at
// the end only.
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
		// The disk cannot read this part. What it can read behind it is worth having.
		skip := min(unreadable-n%unreadable, size-n)
		clear(buffer[n : n+skip])
		n += skip
	}
	return buffer
}

// readTries is how often the disk is asked before an error counts.
const readTries = 3

// unreadable is how much is given up where the disk answers an error.
const unreadable = 4096

// scan is recordParser.scan of the whole file, whose first window is given. It returns the buffer, and how long the
// file is. What is found refers to the buffer.
func (b *blockFile) scan(
	p *recordParser, content []byte, found func(at int64, r blockRecord), lost func(from, to int64, why error),
) ([]byte, int64) {
	var from, to int64 // what is lost so far and not told yet
	var why error
	tell := func() {
		if why != nil {
			lost(from, to, why)
		}
		why = nil
	}
	for base := int64(0); ; {
		limit := len(content) // up to where a record may begin here
		if base+int64(limit) < b.size {
			limit -= maxRecord
		}
		end := p.scan(content, limit, func(at int, r blockRecord) {
			tell()
			found(base+int64(at), r)
		}, func(begin, end int, reason error) {
			if why != nil && (begin > 0 || to != base) { // else it goes on from the window before
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
