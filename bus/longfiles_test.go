package bus

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"maestro/events"
)

// lengthen makes a file this long until the test ends.
func lengthen(t *testing.T, path string, size int64) {
	t.Helper()
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		t.Cleanup(func() { _ = os.Remove(path) })
		err = os.WriteFile(path, nil, 0o600)
	} else if err == nil {
		t.Cleanup(func() { _ = os.Truncate(path, info.Size()) })
	}
	if err := errors.Join(err, os.Truncate(path, size)); err != nil {
		t.Fatal(err)
	}
}

// A huge file in the store or the home takes no more memory than one that the server wrote.
func TestHugeFilesAreNotReadWhole(t *testing.T) {
	const huge, most = 256 << 20, 64 << 20
	dir, _, _, _ := filledStore(t)
	stream := streamPath(dir, StreamName)
	home := t.TempDir()
	snapshots, err := OpenSnapshots(home)
	if err != nil {
		t.Fatal(err)
	}
	if err := snapshots.Save(events.Snapshot{Head: events.Head{Sequence: 7}, State: []byte("state")}); err != nil {
		t.Fatal(err)
	}
	if _, err := snapshots.Load(7); err != nil {
		t.Fatal(err)
	}
	aside := dir + asideInfix + "x"
	if err := os.Mkdir(aside, 0o700); err != nil {
		t.Fatal(err)
	}
	block := filepath.Join(stream, "msgs", blockName(1))
	for path, read := range map[string]func(path string){
		filepath.Join(home, "head"):              func(path string) { _, _ = LoadHeadFile(path) },
		snapshots.path(7):                        func(string) { _, _ = snapshots.Read(7) },
		snapshots.path(8):                        func(string) { _, _ = snapshots.Read(8) },
		filepath.Join(dir, cleanName):            func(string) { loadNote(dir) },
		filepath.Join(dir, checkedName):          func(string) { loadChecked(dir) },
		filepath.Join(dir, rebuildsName):         func(string) { _, _ = pendingRebuilds(dir) },
		filepath.Join(aside, faultsName):         func(string) { _, _ = (&embedded{dir: dir}).copyDamaged(nil) },
		filepath.Join(stream, "msgs", indexName): func(string) { noteStream(dir, StreamName) },
		filepath.Join(stream, metaName):          func(string) { metaFits(stream, StreamName) },
		filepath.Join(stream, metaSumName):       func(string) { metaFits(stream, StreamName) },
		filepath.Join(dir, "renamed"):            func(string) { _, _ = Strays(t.Context(), dir) },
		block: func(string) {
			if s, err := scanStream(t.Context(), dir, StreamName, events.SubjectPrefix, nil); err != nil ||
				len(s.places) == 0 || len(s.faults) != 1 || s.faults[0].Offset+s.faults[0].Length != huge {
				t.Errorf("the scan found %+v, %v", s, err)
			}
		},
	} {
		t.Run(filepath.Base(path), func(t *testing.T) {
			lengthen(t, path, huge)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			read(path)
			runtime.ReadMemStats(&after)
			if got := after.TotalAlloc - before.TotalAlloc; got > most {
				t.Errorf("reading the file takes %d MiB of memory", got>>20)
			}
		})
	}
}

// Every record of a block that is longer than the read window is found, wherever the windows end, and each run of bytes
// that is not a record is one fault.
func TestLongBlocksAreReadInWindows(t *testing.T) {
	dir := t.TempDir()
	whole := record(newRecordParser(StreamName, events.SubjectPrefix, 1), events.SubjectPrefix+"x")
	limit := int64(maxWindow - maxRecord) // where the second window begins
	size := int64(len(whole))
	at := []int64{
		0, size, limit - size - 1, // with a hole of a byte before the limit
		limit, 2*limit + 3, 3*limit - 1, 3*limit - 1 + size,
	}
	path := filepath.Join(dir, "msgs", blockName(1))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, offset := range at {
		_, writeErr := f.WriteAt(whole, offset)
		err = errors.Join(err, writeErr)
	}
	end := 4*limit + 5
	if err := errors.Join(err, f.Truncate(end), f.Close()); err != nil {
		t.Fatal(err)
	}
	b, buffer, err := scanBlock(dir, path, StreamName, events.SubjectPrefix, 1, nil, nil)
	if err != nil || b.size != end || cap(buffer) > maxWindow {
		t.Fatalf("the block has %d bytes, %v, read into a buffer of %d", b.size, err, cap(buffer))
	}
	var places []int64
	for _, p := range b.places {
		places = append(places, p.offset)
	}
	if !slices.Equal(places, at) {
		t.Errorf("records were found at %v, expected %v", places, at)
	}
	var lost, want [][2]int64
	for _, fault := range b.faults {
		lost = append(lost, [2]int64{fault.Offset, fault.Offset + fault.Length})
	}
	for i, offset := range at {
		next := end
		if i+1 < len(at) {
			next = at[i+1]
		}
		if offset+size < next {
			want = append(want, [2]int64{offset + size, next})
		}
	}
	if !slices.Equal(lost, want) {
		t.Errorf("lost: %v, expected %v", lost, want)
	}
}
