//go:build unix

package bus

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"maestro/events"
	"maestro/internal/files"
	"maestro/internal/testing/race"
)

// linkTree copies a directory with hard links to its files, as `cp -al` does.
func linkTree(t *testing.T, from, to string) {
	t.Helper()
	must(t, filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, path)
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			return os.MkdirAll(filepath.Join(to, relative), 0o700)
		case entry.Type().IsRegular() && entry.Name() != lockName:
			return os.Link(path, filepath.Join(to, relative))
		}
		return nil
	}))
}

// namedOnce fails for each file that has a second name.
func namedOnce(t *testing.T, dir string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		if info, err := entry.Info(); err != nil || files.Links(info) != 1 {
			t.Errorf("%s has a second name, %v", path, err)
		}
		return nil
	}))
}

// appendTo appends short messages and returns the head.
func appendTo(t *testing.T, b *Bus, n int) uint64 {
	t.Helper()
	head, err := b.Sync(t.Context())
	must(t, err)
	for range n {
		m := events.Message{Subject: events.Subject("p", "task", "t"), Body: []byte(strconv.FormatUint(head, 10))}
		must(t, b.Append(t.Context(), head, []events.Message{m}))
		head++
	}
	return head
}

// A store and its copy of hard links never write to each other's files, whichever is opened first, even if the copy is
// made while the server runs.
func TestHardLinkedStoresAreSeparate(t *testing.T) {
	race.Without(t)
	t.Parallel()
	for _, running := range []bool{false, true} {
		sample, log, blobs, denials := filledStore(t)
		dir, copied := filepath.Join(t.TempDir(), "store"), filepath.Join(t.TempDir(), "store")
		copyStore(t, sample, dir)
		if !running {
			linkTree(t, dir, copied)
		}
		b := mustOpen(t, dir, Always)
		if running {
			linkTree(t, dir, copied)
		}
		heads := map[string]uint64{dir: appendTo(t, b, 20)}
		must(t, b.Close())
		other := mustOpen(t, copied, Always)
		heads[copied] = appendTo(t, other, 5)
		must(t, other.Close())
		for path, head := range heads {
			again := openWitnessed(t, path, Always, head)
			if err := again.Damage(); err != nil {
				t.Errorf("damage: %v", err)
			}
			if last, err := again.Sync(t.Context()); err != nil || last != head {
				t.Errorf("the log ends at %d, %v; expected %d", last, err, head)
			}
			if got, err := again.Blobs(t.Context()); err != nil || len(got) != len(blobs) {
				t.Errorf("%d blobs, %v", len(got), err)
			}
			if got := denialsOf(t, again.LoadDenials); !sameDenials(got, denials) {
				t.Errorf("%d refusals, expected %d", len(got), len(denials))
			}
			must(t, again.Close())
			sameMessages(t, readable(t, path)[:len(log)], log)
			namedOnce(t, filepath.Join(path, "jetstream"))
		}
	}
}

// A block that gets its own inode keeps its size and time: the note of the last clean stop still vouches for it.
func TestSeparatedBlockKeepsItsTime(t *testing.T) {
	t.Parallel()
	sample, _, _, _ := filledStore(t)
	dir := storeCopy(t, sample)
	must(t, mustOpen(t, dir, Always).Close())
	note := loadNote(dir)
	copied := filepath.Join(t.TempDir(), "store")
	linkTree(t, dir, copied)
	e := &embedded{dir: dir, logger: testLogger(t)}
	must(t, e.separate())
	for _, stored := range storedStreams {
		if !note.vouches(dir, stored.name) {
			t.Errorf("the note of the clean stop no longer vouches for %s", stored.name)
		}
	}
	first, err := os.Stat(blockPath(dir, 1))
	must(t, err)
	if second, err := os.Stat(blockPath(copied, 1)); err != nil || os.SameFile(first, second) {
		t.Errorf("the stores share a block, %v", err)
	}
}
