package bus

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"maestro/events"
)

// copyTimes copies a store with the times of its files, as they are after a kill.
func copyTimes(t *testing.T, from, to string) {
	t.Helper()
	copyStore(t, from, to)
	must(t, filepath.WalkDir(from, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		must(t, err)
		relative, err := filepath.Rel(from, path)
		must(t, err)
		return os.Chtimes(filepath.Join(to, relative), time.Time{}, info.ModTime())
	}))
}

// indexedStore is a store that was killed after its index had been written and more had been appended, also a further
// block.
func indexedStore(t *testing.T) (dir string, log []events.Message) {
	t.Helper()
	origin := filepath.Join(t.TempDir(), "store")
	b := mustOpen(t, origin, Interval)
	manyBlocks(t, b)
	must(t, b.Close()) // the server writes its index
	b = mustOpen(t, origin, Interval)
	head := uint64(len(allOf(t, b)))
	for range 30 {
		messages := filler(40)
		for i := range messages {
			messages[i].Body = bytes.Repeat([]byte("y"), 9000)
		}
		must(t, b.Append(t.Context(), head, messages))
		head += uint64(len(messages))
	}
	must(t, b.blocks.sync())
	dir = filepath.Join(t.TempDir(), "killed")
	copyTimes(t, origin, dir)
	return dir, allOf(t, b)
}

// tailOf reports whether a start reads only the tail of a store.
func tailOf(t *testing.T, dir string, witnessed uint64) (last uint64, fit bool) {
	t.Helper()
	e := &embedded{dir: dir, logger: testLogger(t)}
	last, fit, err := e.tailFits(t.Context(), witnessed)
	if err != nil {
		t.Log(err)
	}
	return last, fit && err == nil
}

// TestAKilledStoreReadsItsTail: after a kill, the index is brought up to date from the tail alone, and says what one
// from all blocks says. The server accepts it.
func TestAKilledStoreReadsItsTail(t *testing.T) {
	t.Parallel()
	killed, log := indexedStore(t)
	must(t, saveChecked(killed, checkedNote{Finished: time.Now()}))
	dir := filepath.Join(t.TempDir(), "store")
	copyTimes(t, killed, dir)
	last, fit := tailOf(t, dir, uint64(len(log)))
	if !fit || last != uint64(len(log)) {
		t.Fatalf("the tail ends at %d of %d: %t", last, len(log), fit)
	}
	fromTail, err := os.ReadFile(indexOf(dir))
	must(t, err)
	e := &embedded{dir: dir, logger: testLogger(t)}
	scanned, index, err := e.readStream(t.Context(), storedStreams[0])
	must(t, err, e.replaceIndex(scanned, index))
	fromAll, err := os.ReadFile(indexOf(dir))
	must(t, err)
	if !bytes.Equal(fromTail, fromAll) {
		t.Errorf("the index from the tail has %d bytes, that from all blocks %d", len(fromTail), len(fromAll))
	}
	x, _, err := parseIndex(fromAll)
	must(t, err)
	end := fromAll[len(fromAll)-2*recordSum : len(fromAll)-recordSum]
	if !bytes.Equal(x.encode(slices.Sorted(maps.Keys(x.blocks)), end), fromAll) {
		t.Error("an index that was read is not the one that was written")
	}

	b, said := openListening(t, killed)
	if strings.Contains(said.String(), "Stream state") {
		t.Errorf("the server refused the index:\n%s", said)
	}
	if note := loadChecked(killed); note.left(time.Now()) != 0 {
		t.Errorf("the blocks that were not read are read again at %v", note.Finished)
	}
	sameMessages(t, allOf(t, b), log)
	must(t, b.Append(t.Context(), uint64(len(log)), filler(3)), b.Close())
}

// TestTheWholeLogIsRead: a start reads every block unless all that a tail relies on holds.
func TestTheWholeLogIsRead(t *testing.T) {
	t.Parallel()
	killed, log := indexedStore(t)
	block := func(dir string, n int) string {
		blocks, err := blockFiles(filepath.Dir(indexOf(dir)))
		must(t, err)
		return filepath.Join(filepath.Dir(indexOf(dir)), blockName(blocks[(n+len(blocks))%len(blocks)]))
	}
	edit := func(path string, change func([]byte) []byte) {
		info, err := os.Stat(path)
		must(t, err)
		content, err := os.ReadFile(path)
		must(t, err, os.WriteFile(path, change(content), 0o600), os.Chtimes(path, time.Time{}, info.ModTime()))
	}
	flip := func(at int) func([]byte) []byte {
		return func(content []byte) []byte {
			at := (at + len(content)) % len(content)
			content[at] ^= 4
			return content
		}
	}
	reindexed := func(change func(x *logIndex)) func(string) {
		return func(dir string) {
			edit(indexOf(dir), func(content []byte) []byte {
				x, _, err := parseIndex(content)
				must(t, err)
				change(x)
				end := content[len(content)-2*recordSum : len(content)-recordSum]
				return x.encode(slices.Sorted(maps.Keys(x.blocks)), end)
			})
		}
	}
	for _, c := range []struct {
		name   string
		change func(dir string)
		tail   bool
	}{
		{"nothing is wrong", func(string) {}, true},
		{"the system was restarted", func(dir string) {
			must(t, os.WriteFile(filepath.Join(dir, bootName), []byte("another\n"), 0o600))
		}, false},
		{"the boot is not known", func(dir string) { must(t, os.Remove(filepath.Join(dir, bootName))) }, false},
		{"there is no index", func(dir string) { must(t, os.Remove(indexOf(dir))) }, false},
		{"the index is damaged", func(dir string) { edit(indexOf(dir), flip(40)) }, false},
		{"the index is cut", func(dir string) {
			edit(indexOf(dir), func(content []byte) []byte { return content[:30] })
		}, false},
		{"a finished block was changed", func(dir string) {
			must(t, os.Chtimes(block(dir, 0), time.Time{}, time.Now().Add(time.Hour)))
		}, false},
		{"a finished block is shorter", func(dir string) {
			edit(block(dir, 0), func(content []byte) []byte { return content[:len(content)-1] })
		}, false},
		{"a finished block is gone", func(dir string) { must(t, os.Remove(block(dir, 1))) }, false},
		{"a block of the tail is damaged", func(dir string) { edit(block(dir, -1), flip(5000)) }, false},
		{"the first block of the tail is damaged", func(dir string) { edit(block(dir, -2), flip(5000)) }, false},
		{"the end is torn", func(dir string) { edit(block(dir, -1), flip(-1)) }, false},
		{"the tail lacks a block", func(dir string) { must(t, os.Remove(block(dir, -1))) }, false},
		{"the index knows of more messages", reindexed(func(x *logIndex) {
			b := x.blocks[slices.Max(slices.Collect(maps.Keys(x.blocks)))]
			b.last, b.messages = b.last+5000, b.messages+5000
		}), false},
		{"the log lacks its beginning, and the index as well", func(dir string) {
			must(t, os.Remove(block(dir, 0)))
			reindexed(func(x *logIndex) { delete(x.blocks, slices.Min(slices.Collect(maps.Keys(x.blocks)))) })(dir)
		}, false},
		{"the index is of another log", reindexed(func(x *logIndex) {
			x.blocks[slices.Max(slices.Collect(maps.Keys(x.blocks)))].lastTime++
		}), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "store")
			copyTimes(t, killed, dir)
			c.change(dir)
			if _, fit := tailOf(t, dir, uint64(len(log))); fit != c.tail {
				t.Errorf("only the tail is read: %t, want %t", fit, c.tail)
			}
		})
	}
	if _, fit := tailOf(t, killed, uint64(len(log))+1); fit {
		t.Error("the log is shorter than what was witnessed, and only the tail is read")
	}
}

// TestFoundDamageIsFoundAgain: once damage was found, no start trusts the finished blocks, whatever their times say.
func TestFoundDamageIsFoundAgain(t *testing.T) {
	t.Parallel()
	dir, log := indexedStore(t)
	b := mustOpen(t, dir, Interval)
	blocks, err := blockFiles(filepath.Dir(indexOf(dir)))
	must(t, err)
	first := filepath.Join(filepath.Dir(indexOf(dir)), blockName(blocks[0]))
	info, err := os.Stat(first)
	must(t, err)
	flip(t, first, func(size int64) int64 { return size / 2 })
	must(t, os.Chtimes(first, time.Time{}, info.ModTime()))
	err = b.Read(t.Context(), 1, uint64(len(log)), func(events.Message) error { return nil })
	if !errors.Is(err, events.ErrReadOnly) {
		t.Fatalf("read: %v", err)
	}
	killed := filepath.Join(t.TempDir(), "killed")
	copyTimes(t, dir, killed)
	for range 2 {
		if _, fit := tailOf(t, killed, uint64(len(log))); fit {
			t.Fatal("a start reads only the tail of a store in which damage was found")
		}
		again := mustOpen(t, killed, Interval)
		if again.Damage() == nil {
			t.Fatal("the next start did not find the damage")
		}
		must(t, again.Close())
	}
}

// FuzzParseIndex: no content makes the reader of indexes fail, and what it accepts can be written again.
func FuzzParseIndex(f *testing.F) {
	x := &logIndex{blocks: map[int]*indexedBlock{
		3: {
			messages:  2,
			bytes:     90,
			first:     1,
			last:      2,
			firstTime: 5,
			lastTime:  9,
			subjects:  map[string]uint64{"a.b": 2},
		},
		4: {messages: 1, bytes: 50, first: 3, last: 3, subjects: map[string]uint64{"a.b": 1}},
	}}
	content := x.encode([]int{3, 4}, make([]byte, recordSum))
	f.Add(content[:len(content)-recordSum])
	f.Add(binary.AppendUvarint([]byte{indexMagic, indexVersion}, 1<<40))
	f.Fuzz(func(t *testing.T, content []byte) {
		x, newest, err := parseIndex(append(content, indexSum(content)...))
		if err == nil && (x.blocks[newest] == nil || len(x.encode(slices.Sorted(maps.Keys(x.blocks)), nil)) == 0) {
			t.Error("an index without its newest block was accepted")
		}
	})
}
