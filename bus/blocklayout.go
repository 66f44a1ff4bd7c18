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

// nats-server acts on more than the blocks of a stream when it opens one. It replaces the messages with what is in
// __new_msgs__, deletes __msgs__ and every directory of streams/ that begins with a dot, takes "3.blk.blk" for a second
// block 3, and believes the index files of its older versions. None of these comes from Maestro, so each is a fault:
// the server must not open a stream that has one.
const (
	newMessagesName = "__new_msgs__"
	oldMessagesName = "__msgs__"
	indexName       = "index.db"
	keyName         = "meta.key"
	// consumersName is a directory; without it the server leaves the stream out.
	consumersName = "obs"
)

// streamLayout is what the directory of a stream holds.
type streamLayout struct {
	blocks []int   // the numbers of the block files, in order
	faults []Fault // what must not be there, or is no file or directory where one must be
}

// layoutReader collects the layout of one stream.
type layoutReader struct {
	dir, stream string
	found       streamLayout
}

// layoutOf looks at the directories and the file names of a stream; it reads no block. What is not there is no fault.
// The error names what could not be read; the layout holds the rest then.
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

// list reads a directory. A path that leads to something else is a fault.
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

// besideStream looks for streams that the server is about to delete. The log reports them.
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
		// The server reads the names in this way too.
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

// mustBeFile makes anything else a fault; what is gone meanwhile is none. A link to a file is one.
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

// deadLink is what is wrong with a symbolic link that leads to nothing, or to itself.
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

// openFile opens a plain file for reading. Opening a named pipe would wait for whoever writes to it.
func openFile(path string) (*os.File, error) {
	info, err := disk.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: errNoFile}
	}
	return disk.Open(path)
}

// The longest files beside the blocks, in bytes. Whatever is longer was not written by the server.
const (
	maxHeadFile = 4 << 10
	// maxMeta is for the configuration of a stream, and the list of those that wait to be filled again.
	maxMeta = 1 << 20
	// maxNotes is for what has a line for each block or fault, and for a stream's index.
	maxNotes = 64 << 20
)

var errTooLong = errors.New("the file is too long")

// readFile reads a plain file of at most so many bytes. Nothing of a longer one is read.
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
		return nil, &fs.PathError{
			Op: "read", Path: path, Err: fmt.Errorf("%w: it has %d bytes, at most %d", errTooLong, info.Size(), most),
		}
	}
	content, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(content)) > most { // it grew meanwhile
		err = &fs.PathError{Op: "read", Path: path, Err: errTooLong}
	}
	return content, err
}

// nearKeys is how far from the numbers in a directory the number of a renamed block is looked for. maxTried bounds the
// bytes of which checksums are made on the way.
const (
	nearKeys = 16
	maxTried = 256 << 20
)

// keyOf finds the number under which the server wrote a block of which nothing can be read under the number in its
// name. It tries those of the other files in the directory, and those near them.
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

// keyAmong finds the number under which the server wrote a block: the checksums cover it.
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
