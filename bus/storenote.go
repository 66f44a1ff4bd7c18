package bus

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"maestro/internal/disk"
	"maestro/internal/files"
)

// cleanName is the file that a clean stop leaves. It does not exist while the server runs.
const cleanName = "clean.json"

// StoppedCleanly reports whether the last server of a stopped store left its note.
func StoppedCleanly(dir string) bool {
	_, err := disk.Lstat(filepath.Join(dir, cleanName))
	return err == nil
}

// storeNote describes the files of a stopped store when everything in them was intact. While a stream's files match it,
// the server trusts its index and reads only the last block.
type storeNote struct {
	Streams map[string]streamNote `json:"streams"`
	// Sum is the checksum of the rest. Notes of earlier versions have none.
	Sum string `json:"sum,omitempty"`
}

// sum returns the checksum of what the note says.
func (n *storeNote) sum() (string, error) {
	content, err := json.Marshal(storeNote{Streams: n.Streams})
	return shortSum(string(content)), err
}

type streamNote struct {
	// Index is the digest of index.db.
	Index string `json:"index"`
	// Last is the log's last sequence. Notes of earlier versions and of the other streams have none.
	Last   uint64      `json:"last,omitempty"`
	Blocks []blockNote `json:"blocks"`
}

type blockNote struct {
	Index int       `json:"index"`
	Size  int64     `json:"size"`
	Time  time.Time `json:"time"`
}

// noteStore describes the files of a stopped store.
func noteStore(dir string) *storeNote {
	note := &storeNote{Streams: map[string]streamNote{}}
	for _, s := range storedStreams {
		if n, ok := noteStream(dir, s.name); ok {
			note.Streams[s.name] = n
		}
	}
	return note
}

// ending adds the log's last sequence, if the note describes the log.
func (n *storeNote) ending(last uint64) *storeNote {
	if noted, found := n.Streams[StreamName]; found {
		noted.Last = last
		n.Streams[StreamName] = noted
	}
	return n
}

// unless drops the note's claim about the log's blocks if they were changed since they were checked.
func (n *storeNote) unless(untouched bool) *storeNote {
	if noted, found := n.Streams[StreamName]; found && !untouched {
		noted.Index = ""
		n.Streams[StreamName] = noted
	}
	return n
}

func noteStream(dir, stream string) (streamNote, bool) {
	messages := filepath.Join(streamPath(dir, stream), "msgs")
	layout, err := layoutOf(dir, stream)
	if err != nil || len(layout.faults) > 0 {
		return streamNote{}, false
	}
	index, err := readFile(filepath.Join(messages, indexName), maxNotes)
	if err != nil {
		return streamNote{}, false
	}
	blocks := layout.blocks
	if len(blocks) == 0 || !indexFits(index, filepath.Join(messages, blockName(blocks[len(blocks)-1]))) {
		return streamNote{}, false
	}
	note := streamNote{Index: Digest(index)}
	for _, block := range blocks {
		info, err := disk.Stat(filepath.Join(messages, blockName(block)))
		if err != nil {
			return streamNote{}, false
		}
		note.Blocks = append(note.Blocks, blockNote{Index: block, Size: info.Size(), Time: info.ModTime().UTC()})
	}
	return note, true
}

// indexFits reports whether an index was written after the last record of a block: it ends with that record's checksum,
// and its own. Otherwise the server ignores it and reads every block.
func indexFits(index []byte, block string) bool {
	last, err := lastSum(block)
	if err != nil || len(index) < 2*recordSum {
		return false
	}
	end := len(index) - recordSum
	return bytes.Equal(index[end-recordSum:end], last)
}

// vouches reports whether a stream's files still match the note. A missing note vouches for nothing.
func (n *storeNote) vouches(dir, stream string) bool {
	if n == nil {
		return false
	}
	noted, isNoted := n.Streams[stream]
	found, isThere := noteStream(dir, stream)
	return isNoted && isThere && noted.Index == found.Index && slices.EqualFunc(noted.Blocks, found.Blocks, func(a,
		b blockNote,
	) bool {
		return a.Index == b.Index && a.Size == b.Size && a.Time.Equal(b.Time)
	})
}

// loadNote reads the note of the last clean stop; nil if there is none, or if it cannot be read.
func loadNote(dir string) *storeNote {
	content, err := readFile(filepath.Join(dir, cleanName), maxNotes)
	if err != nil {
		return nil
	}
	var note storeNote
	if json.Unmarshal(content, &note) != nil {
		return nil
	}
	if sum, err := note.sum(); err != nil || note.Sum != "" && note.Sum != sum {
		return nil
	}
	return &note
}

func (n *storeNote) save(dir string) (err error) {
	if n.Sum, err = n.sum(); err != nil {
		return err
	}
	content, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return writeAtomically(filepath.Join(dir, cleanName), content, []byte("\n"))
}

// forgetNote removes the note durably: from now on the store is in use.
func forgetNote(dir string) error {
	path := filepath.Join(dir, cleanName)
	if err := disk.Remove(path); err != nil {
		return ignoreMissing(files.Explain(path, files.ToChange, err))
	}
	return syncPath(dir)
}

// rebuildsName is the file that lists the streams that must still be rebuilt, and the directories to rebuild them from.
const rebuildsName = "rebuild.json"

// pendingRebuilds returns, by stream, the names of the directories beside the store from which it must still be
// rebuilt.
func pendingRebuilds(dir string) (map[string][]string, error) {
	pending := map[string][]string{}
	content, err := readFile(filepath.Join(dir, rebuildsName), maxMeta)
	if err != nil {
		return pending, ignoreMissing(err)
	}
	// An unreadable list names nothing: what it named is still beside the store.
	if json.Unmarshal(content, &pending) != nil {
		return map[string][]string{}, nil
	}
	for stream, names := range pending {
		pending[stream] = slices.DeleteFunc(names, func(name string) bool {
			return filepath.Base(name) != name || !strings.HasPrefix(name, filepath.Base(dir)+asideInfix)
		})
	}
	return pending, nil
}

func writeRebuilds(dir string, pending map[string][]string) error {
	content, err := json.Marshal(pending)
	if err != nil {
		return err
	}
	return writeAtomically(filepath.Join(dir, rebuildsName), content, []byte("\n"))
}
