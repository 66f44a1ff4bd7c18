package bus

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"maestro/events"
	"maestro/internal/disk"
	"maestro/internal/testing/race"
)

var (
	powerCuts    = flag.Int("power-cuts", 16, "how many power cuts TestPowerCut makes")
	powerCutSeed = flag.Uint64("power-cut-seed", 1, "what they leave")
)

// pageSize is the smallest part of a file that a disk writes.
const pageSize = 4096

// syncRecorder holds what is on the disk of a running store: what was synced. Syncs by the embedded server itself do
// not count.
type syncRecorder struct {
	dir string
	// before is called before each sync in the store. It may be nil.
	before func(path string)

	mu    sync.Mutex
	sizes map[string]int64 // the synced length of each file
	names map[string]bool  // the files whose names are synced
}

// newSyncRecorder records the syncs of a store that is opened after the call, until the test ends. The test must not
// run in parallel.
func newSyncRecorder(t *testing.T, dir string) *syncRecorder {
	p := &syncRecorder{dir: dir, sizes: map[string]int64{}, names: map[string]bool{}}
	t.Cleanup(disk.Inject(func(operation, path string) error {
		if operation == "sync" && (path == dir || strings.HasPrefix(path, dir+string(filepath.Separator))) {
			if p.before != nil {
				p.before(path)
			}
			p.synced(path)
		}
		return nil
	}))
	return p
}

// synced records what a sync of a path that is about to begin puts on the disk at least.
func (p *syncRecorder) synced(path string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	info, err := os.Stat(path)
	if err != nil {
		return
	}
	if !info.IsDir() {
		p.sizes[path] = info.Size()
		return
	}
	entries, _ := os.ReadDir(path)
	for _, entry := range entries {
		p.names[filepath.Join(path, entry.Name())] = true
	}
}

// lacks returns the blocks of a stream that are not completely on the disk.
func (p *syncRecorder) lacks(t *testing.T, stream string) (blocks []string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	messages := filepath.Join(streamPath(p.dir, stream), "msgs")
	indices, err := blockFiles(messages)
	must(t, err)
	for _, index := range indices {
		path := filepath.Join(messages, blockName(index))
		info, err := os.Stat(path)
		must(t, err)
		if !p.names[path] || p.sizes[path] < info.Size() {
			blocks = append(blocks, fmt.Sprintf("%s: %d of %d bytes, its name %t", path, p.sizes[path], info.Size(),
				p.names[path]))
		}
	}
	return blocks
}

// cut copies what a power cut could leave: any unsynced pages and names may be missing.
func (p *syncRecorder) cut(t *testing.T, random *rand.Rand) (image string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	image = filepath.Join(t.TempDir(), "store")
	must(t, filepath.WalkDir(p.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(p.dir, path)
		if err != nil {
			return err
		}
		target := filepath.Join(image, relative)
		if entry.IsDir() {
			return os.MkdirAll(target, 0o700)
		}
		if !entry.Type().IsRegular() || !p.names[path] && random.IntN(2) == 0 {
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, torn(content, p.sizes[path], random), 0o600)
	}))
	return image
}

// torn returns contents of which only the beginning is certainly on the disk.
func torn(content []byte, synced int64, random *rand.Rand) []byte {
	end := len(content)
	if unsynced := end - int(synced); unsynced > 0 && random.IntN(2) == 0 {
		end -= random.IntN(unsynced + 1)
	}
	content = content[:end]
	for at := int(synced); at < end; {
		next := min(end, (at/pageSize+1)*pageSize)
		if random.IntN(3) == 0 {
			clear(content[at:next])
		}
		at = next
	}
	return content
}

// stored holds what was acknowledged.
type stored struct {
	log     []events.Message
	blobs   map[string][]byte
	denials map[string]bool
}

// write stores something, and records it once it is acknowledged.
func (s *stored) write(t *testing.T, b *Bus, random *rand.Rand) (stream string) {
	t.Helper()
	text := func(most int) []byte {
		body := make([]byte, 1+random.IntN(most))
		for i := range body {
			body[i] = byte('a' + random.IntN(26))
		}
		return body
	}
	switch random.IntN(6) {
	case 0:
		content := text(400_000)
		digest, err := b.PutBlob(t.Context(), content)
		must(t, err)
		s.blobs[digest] = content
		return BlobStream
	case 1:
		var records []events.StoredDenial
		for range 1 + random.IntN(8) {
			slot := fmt.Sprint("s-", random.IntN(30))
			records = append(records, events.StoredDenial{Actor: "/users/u", Slot: slot, Body: []byte(`{}`)})
		}
		must(t, b.StoreDenials(t.Context(), records))
		for _, record := range records {
			s.denials[record.Slot] = true
		}
		return DeniedStream
	}
	after := uint64(len(s.log))
	messages := make([]events.Message, 1+random.IntN(2)*random.IntN(800))
	for i := range messages {
		messages[i] = events.Message{
			Sequence: after + uint64(i) + 1, //nolint:gosec // an index
			Subject:  events.Subject("p", "session", "s"),
			Body:     text(2500),
		}
	}
	must(t, b.Append(t.Context(), after, messages))
	s.log = append(s.log, messages...)
	return StreamName
}

// When a write is acknowledged, everything that it stored is on the disk, in blocks whose names are on the disk too.
// The embedded server hands each message to the operating system before it replies: when the sync of an append begins,
// the file holds the whole append.
func TestAcknowledgedMessagesAreSynced(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	on := newSyncRecorder(t, dir)
	b := mustOpen(t, dir, Always)
	s := stored{blobs: map[string][]byte{}, denials: map[string]bool{}}
	random := rand.New(rand.NewPCG(1, 1)) //nolint:gosec // not a secret
	blocks := 0
	for i := 0; i < 60 || blocks < 2; i++ {
		stream := s.write(t, b, random)
		if lacking := on.lacks(t, stream); len(lacking) > 0 {
			t.Fatalf("write %d, to %s, was acknowledged without a sync: %s", i, stream, lacking)
		}
		indices, err := blockFiles(b.embedded.messagesDir(StreamName))
		must(t, err)
		blocks = len(indices)
	}
	// The whole log was in the files at each sync: the last acknowledged sequence was read back from them.
	var short []string
	after := uint64(len(s.log))
	on.before = func(path string) {
		if filepath.Dir(path) != b.embedded.messagesDir(StreamName) {
			return
		}
		scanned, err := scanPlaces(t.Context(), dir, StreamName, events.SubjectPrefix, nil)
		if err != nil || scanned.last != after {
			short = append(short, fmt.Sprintf("the files end at %d of %d, %v", scanned.last, after, err))
		}
	}
	for _, n := range []int{1, 40, 1000} {
		messages := several(n)
		from := after
		after += uint64(n) //nolint:gosec // small
		must(t, b.Append(t.Context(), from, messages))
	}
	on.before = nil
	if len(short) > 0 {
		t.Errorf("when an append was synced: %s", short)
	}
}

// A power cut may keep any part of what was not synced. Everything acknowledged is still there, and the store is not
// damaged.
func TestPowerCut(t *testing.T) {
	race.Without(t)
	dir := filepath.Join(t.TempDir(), "store")
	on := newSyncRecorder(t, dir)
	b := mustOpen(t, dir, Always)
	s := stored{blobs: map[string][]byte{}, denials: map[string]bool{}}
	random := rand.New(rand.NewPCG(*powerCutSeed, 1)) //nolint:gosec // not a secret
	type image struct {
		dir            string
		head, headFile int
		blobs          map[string][]byte
		denials        []string
	}
	var images []image
	take := func(string) {
		if len(images) == *powerCuts || random.IntN(4) != 0 {
			return
		}
		i := image{dir: on.cut(t, random), head: len(s.log), blobs: map[string][]byte{}}
		i.headFile = max(0, i.head-random.IntN(100))
		for digest, content := range s.blobs {
			i.blobs[digest] = content
		}
		for slot := range s.denials {
			i.denials = append(i.denials, slot)
		}
		images = append(images, i)
	}
	on.before = take
	for len(images) < *powerCuts {
		s.write(t, b, random)
	}
	on.before = nil
	must(t, b.Close())
	for n, i := range images {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			b, err := Open(t.Context(), Options{
				Dir:       i.dir,
				Witnessed: uint64(i.headFile), //nolint:gosec // a length
				HeadFile:  uint64(i.headFile), //nolint:gosec // a length
				Logger:    testLogger(t),
				Timeout:   patience,
			})
			must(t, err)
			defer func() { must(t, b.Close()) }()
			must(t, b.Damage())
			log := allOf(t, b)
			if len(log) < i.head {
				t.Fatalf("%d of %d events are left", len(log), i.head)
			}
			sameMessages(t, log[:i.head], s.log[:i.head])
			for digest, content := range i.blobs {
				if got, err := b.Blob(t.Context(), digest); err != nil || !bytes.Equal(got, content) {
					t.Errorf("the text %s is %d bytes, %v", digest, len(got), err)
				}
			}
			left := map[string]bool{}
			for _, d := range denialsOf(t, b.LoadDenials) {
				left[d.Slot] = true
			}
			for _, slot := range i.denials {
				if !left[slot] {
					t.Errorf("the refusal in slot %s is lost", slot)
				}
			}
		})
	}
}

// After a failed sync the outcome is unknown, and nothing is acknowledged until the store was read from the disk again.
func TestSyncFailureDuringWrite(t *testing.T) {
	text := "a text"
	for stream, write := range map[string]func(b *Bus) error{
		StreamName: func(b *Bus) error { return b.Append(t.Context(), b.acked.Load(), several(3)) },
		BlobStream: func(b *Bus) error {
			_, err := b.PutBlob(t.Context(), []byte(text))
			return err
		},
		DeniedStream: func(b *Bus) error {
			record := events.StoredDenial{Actor: "/users/u", Slot: "s", Body: []byte(`{}`)}
			return b.StoreDenials(t.Context(), []events.StoredDenial{record})
		},
	} {
		t.Run(stream, func(t *testing.T) {
			b := mustOpen(t, filepath.Join(t.TempDir(), "store"), Always)
			must(t, b.Append(t.Context(), 0, several(2)))
			must(t, write(b))
			messages := b.embedded.messagesDir(stream)
			var failed sync.Once
			restore := disk.Inject(func(operation, path string) (err error) {
				if operation == "sync" && filepath.Dir(path) == messages {
					failed.Do(func() { err = syscall.EIO })
				}
				return err
			})
			defer restore()
			acked := b.acked.Load()
			text = "another text" // the first one is stored already
			err := write(b)
			text = "a text"
			if err == nil {
				t.Fatal("a write whose sync failed was acknowledged")
			}
			if stream != StreamName {
				b.mender.done.Wait()
				must(t, b.mender.pending())
				must(t, write(b))
				return
			}
			head, err := b.Sync(t.Context())
			if err != nil || head != acked && head != acked+3 {
				t.Fatalf("the head is %d after %d, %v", head, acked, err)
			}
			must(t, write(b))
		})
	}
}
