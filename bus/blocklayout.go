package bus

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"maestro/internal/disk"
)

// nats-server acts on more than the blocks of a stream when it opens one. It replaces the messages with the content of
// __new_msgs__, deletes __msgs__ and every directory of streams/ that begins with a dot, takes "3.blk.blk" for a second
// block 3, and trusts the index files of its older versions. Maestro creates none of these, so each is a fault: the
// server must not open a stream that has one.
const (
	newMessagesName = "__new_msgs__"
	oldMessagesName = "__msgs__"
	indexName       = "index.db"
	keyName         = "meta.key"
	// consumersName is a directory; without it the server skips the stream.
	consumersName = "obs"
)

// streamLayout lists the contents of a stream's directory.
type streamLayout struct {
	blocks []int   // the numbers of the block files, in order
	faults []Fault // entries that must not be there, or have the wrong type
}

// layoutReader collects the layout of one stream.
type layoutReader struct {
	dir, stream string
	found       streamLayout
}

// layoutOf lists the directories and file names of a stream; it reads no block. A missing entry is not a fault. If a
// part cannot be read, the error names it and the layout holds the rest.
func layoutOf(dir, stream string) (streamLayout, error) {
	r := &layoutReader{dir: dir, stream: stream}
	err := r.read()
	return r.found, err
}

func (r *layoutReader) read() error {
	var failed error
	for _, level := range []struct {
		path  string
		entry func(entry fs.DirEntry) error
	}{
		{"jetstream", nil},
		{filepath.Join("jetstream", "$G"), nil},
		{filepath.Join("jetstream", "$G", "streams"), r.besideStream},
		{streamPath("", r.stream), r.inStream},
		{filepath.Join(streamPath("", r.stream), "msgs"), r.inMessages},
	} {
		entries, found, err := r.list(level.path)
		if err != nil {
			return errors.Join(failed, err)
		}
		if !found {
			return failed
		}
		for _, entry := range entries {
			if level.entry != nil {
				failed = errors.Join(failed, level.entry(entry))
			}
		}
	}
	return failed
}

// list reads a directory. A path that is not a directory is a fault.
func (r *layoutReader) list(path string) (entries []fs.DirEntry, found bool, err error) {
	whole := filepath.Join(r.dir, path)
	if _, err := disk.Lstat(whole); err != nil {
		return nil, false, ignoreMissing(err)
	}
	info, err := disk.Stat(whole)
	if err != nil && isLink(whole) {
		r.fault(path, deadLink)
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	if !info.IsDir() {
		r.fault(path, "it is "+kindOf(info.Mode())+", and must be a directory")
		return nil, false, nil
	}
	entries, err = disk.ReadDir(whole)
	return entries, true, err
}

func (r *layoutReader) fault(path, why string) {
	r.found.faults = append(r.found.faults, Fault{Stream: r.stream, File: path, Why: why})
}

// besideStream looks for streams that the server is about to delete, so that the log reports them.
func (r *layoutReader) besideStream(entry fs.DirEntry) error {
	if r.stream == StreamName && strings.HasPrefix(entry.Name(), ".") {
		r.fault(filepath.Join("jetstream", "$G", "streams", entry.Name()),
			"nats-server would delete it: move it out of the store")
	}
	return nil
}

func (r *layoutReader) inStream(entry fs.DirEntry) error {
	path := filepath.Join(streamPath("", r.stream), entry.Name())
	switch entry.Name() {
	case newMessagesName, oldMessagesName:
		entries, found, err := r.list(path)
		if err == nil && found && len(entries) > 0 {
			r.fault(path, "nats-server would delete it, or replace the messages with it: move it out of the store")
		}
		return err
	case keyName:
		r.fault(path, "the stream seems to be encrypted, and Maestro's streams are not")
	case metaName, metaSumName:
		return r.mustBeFile(path)
	case consumersName:
		_, _, err := r.list(path)
		return err
	}
	return nil
}

func (r *layoutReader) inMessages(entry fs.DirEntry) error {
	name := entry.Name()
	path := filepath.Join(streamPath("", r.stream), "msgs", name)
	switch {
	case name == indexName:
		return r.mustBeFile(path)
	case strings.HasSuffix(name, ".idx"):
		r.fault(path, "nats-server would believe it rather than the block: move it out of the store")
	case strings.HasSuffix(name, ".blk"):
		// The server parses the names the same way.
		var index int
		if n, err := fmt.Sscanf(name, "%d.blk", &index); err != nil || n != 1 {
			return nil
		}
		if name != blockName(index) || index < 0 || index > math.MaxInt32 {
			r.fault(path, "nats-server would take it for block "+strconv.Itoa(index)+": move it out of the store")
			return nil
		}
		before := len(r.found.faults)
		if err := r.mustBeFile(path); err != nil || len(r.found.faults) > before {
			return err
		}
		r.found.blocks = append(r.found.blocks, index)
	}
	return nil
}

// mustBeFile records anything but a file as a fault. A file that was just removed is not a fault, nor is a link to a
// file.
func (r *layoutReader) mustBeFile(path string) error {
	whole := filepath.Join(r.dir, path)
	info, err := disk.Stat(whole)
	if err != nil && isLink(whole) {
		r.fault(path, deadLink)
		return nil
	}
	if err != nil {
		return ignoreMissing(err)
	}
	if !info.Mode().IsRegular() {
		r.fault(path, "it is "+kindOf(info.Mode())+", and must be a file")
	}
	return nil
}

// deadLink describes a symbolic link to nothing, or to itself.
const deadLink = "it is a symbolic link to nothing"

func isLink(path string) bool {
	info, err := disk.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode.IsRegular():
		return "a plain file"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	default:
		return "a special file"
	}
}

var errNoFile = errors.New("it is not a plain file")

// openFile opens a plain file for reading. Opening a named pipe would block until somebody writes to it.
func openFile(path string) (*os.File, error) {
	info, err := disk.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: disk.Shown(path), Err: errNoFile}
	}
	return disk.Open(path)
}

// The maximum sizes of the files beside the blocks, in bytes. The server never writes longer ones.
const (
	maxHeadFile = 4 << 10
	// maxMeta applies to a stream's configuration, and to the list of streams that must still be rebuilt.
	maxMeta = 1 << 20
	// maxNotes applies to files with a line per block or fault, and to a stream's index.
	maxNotes = 64 << 20
)

var errTooLong = errors.New("the file is too long")

// readFile reads a plain file of at most most bytes. It reads nothing of a longer one.
func readFile(path string, most int64) ([]byte, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := disk.FileStat(f)
	if err != nil {
		return nil, err
	}
	if err := disk.Check("read", path); err != nil {
		return nil, err
	}
	if info.Size() > most {
		err := fmt.Errorf("%w: it has %d bytes, at most %d", errTooLong, info.Size(), most)
		return nil, &fs.PathError{Op: "read", Path: disk.Shown(path), Err: err}
	}
	content, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(content)) > most { // it grew meanwhile
		err = &fs.PathError{Op: "read", Path: disk.Shown(path), Err: errTooLong}
	}
	return content, err
}

// nearKeys is how far from the numbers in a directory keyOf searches for the number of a renamed block. maxTried bounds
// the bytes that it checksums on the way.
const (
	nearKeys = 16
	maxTried = 256 << 20
)

// keyOf finds the number under which the server wrote a block whose records do not verify under the number in its name.
// It tries the numbers of the other files in the directory, and those near them.
func keyOf(path, stream, prefix string, index int, content []byte) (key int, found bool) {
	there, err := blockFiles(filepath.Dir(path))
	if err != nil {
		return 0, false
	}
	return keyAmong(func(yield func(int) bool) {
		for distance := range nearKeys {
			for _, other := range there {
				for _, key := range []int{other - distance, other + distance} {
					if key != index && !yield(key) {
						return
					}
				}
			}
		}
	}, stream, prefix, content)
}

// keyAmong finds the number under which the server wrote a block. The number is part of the checksums.
func keyAmong(numbers iter.Seq[int], stream, prefix string, content []byte) (key int, found bool) {
	samples, budget := newRecordParser(stream, prefix, 0).samples(content), maxTried
	if len(samples) == 0 {
		return 0, false
	}
	tried := map[int]bool{}
	for number := range numbers {
		if number < 0 || tried[number] {
			continue
		}
		tried[number] = true
		parser := newRecordParser(stream, prefix, number)
		for _, sample := range samples {
			budget -= len(sample)
			if _, err := parser.parse(sample); err == nil {
				return number, true
			}
		}
		if budget < 0 {
			break
		}
	}
	return 0, false
}
