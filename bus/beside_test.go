package bus

import (
	"bytes"
	"compress/gzip"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"maestro/events"
	"maestro/internal/testing/race"
)

// filled appends n events to a log, ten at a time, and returns its head.
func filled(t *testing.T, b *Bus, n int) events.Head {
	t.Helper()
	var head events.Head
	for head.Sequence < uint64(n) {
		var messages []events.Message
		after := head.Sequence
		for range min(10, uint64(n)-after) {
			body := []byte(`{"n":` + strconv.FormatUint(head.Sequence, 10) + `, "html":"<&>"}`)
			messages = append(messages, events.Message{Subject: events.Subject("p", "session", "s.1"), Body: body})
			head = events.Head{Sequence: head.Sequence + 1, Hash: events.Next(head.Hash, events.BodyHash(body))}
		}
		if err := b.Append(t.Context(), after, messages); err != nil {
			t.Fatal(err)
		}
	}
	return head
}

func TestOneProcessHoldsAStore(t *testing.T) {
	dir := t.TempDir()
	b := mustOpen(t, dir, Always)
	if _, err := Open(t.Context(), Options{Dir: dir}); err == nil || !strings.Contains(err.Error(),
		"another process holds") {
		t.Fatalf("a second server on the store: %v", err)
	}
	for range 2 {
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Append(t.Context(), 0, []events.Message{{Subject: "maestro.ev.a.b.c"}}); err == nil {
		t.Fatal("a closed bus accepted an append")
	}
	mustOpen(t, dir, Always)
}

// A store whose lock file was deleted still allows only one server, and no readers beside it.
func TestOneProcessHoldsAStoreWithoutItsLock(t *testing.T) {
	dir := t.TempDir()
	b := mustOpen(t, dir, Always)
	lock := filepath.Join(dir, lockName)
	must(t, os.Remove(lock))
	if _, err := OpenReadOnly(t.Context(), Options{Dir: dir}); !errors.Is(err, ErrStoreInUse) {
		t.Errorf("a reader beside the server: %v", err)
	}
	if _, err := Open(t.Context(), Options{Dir: dir}); !errors.Is(err, ErrStoreInUse) {
		t.Errorf("a second server on the store: %v", err)
	}
	must(t, b.Close())
	r, err := OpenReadOnly(t.Context(), Options{Dir: dir})
	must(t, err, os.Remove(lock))
	if _, err := Open(t.Context(), Options{Dir: dir}); !errors.Is(err, ErrStoreInUse) {
		t.Errorf("a server beside a reader: %v", err)
	}
	must(t, r.Close())
	mustOpen(t, dir, Always)
}

func TestUnsuitableStreamIsRefused(t *testing.T) {
	b := mustOpen(t, t.TempDir(), Always)
	b.watch.release() // the test takes the stream away itself
	for name, spoil := range map[string]func(*jetstream.StreamConfig){
		"age":     func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour },
		"limit":   func(c *jetstream.StreamConfig) { c.MaxMsgs = 10 },
		"old":     func(c *jetstream.StreamConfig) { c.Discard = jetstream.DiscardOld },
		"delete":  func(c *jetstream.StreamConfig) { c.DenyDelete = false },
		"purge":   func(c *jetstream.StreamConfig) { c.DenyPurge = false },
		"batches": func(c *jetstream.StreamConfig) { c.AllowAtomicPublish = false },
		"memory":  func(c *jetstream.StreamConfig) { c.Storage = jetstream.MemoryStorage },
		"subject": func(c *jetstream.StreamConfig) { c.Subjects = []string{"maestro.ev.a.>"} },
		"small":   func(c *jetstream.StreamConfig) { c.MaxMsgSize = 1000 },
	} {
		t.Run(name, func(t *testing.T) {
			if err := b.js.DeleteStream(t.Context(), StreamName); err != nil {
				t.Fatal(err)
			}
			config := streamConfig(1)
			spoil(&config)
			if _, err := b.js.CreateStream(t.Context(), config); err != nil {
				t.Fatal(err)
			}
			if _, err := connect(t.Context(), b.Conn(), Options{}); err == nil || !strings.Contains(err.Error(),
				"cannot be Maestro's log") {
				t.Fatalf("a bus on it: %v", err)
			}
		})
	}
}

func TestLateAnswersAreNotMixedUp(t *testing.T) {
	b := mustOpen(t, t.TempDir(), Always)
	filled(t, b, 1)
	b.writer.answers <- &nats.Msg{Subject: b.writer.inbox + "earlier", Data: []byte(`{"stream":"MAESTRO","seq":1}`)}
	err := b.Append(t.Context(), 0, []events.Message{{Subject: "maestro.ev.p.task.1", Body: []byte("a")}})
	if !errors.Is(err, events.ErrConflict) {
		t.Fatalf("a conflict, and a late acknowledgement of an earlier append: %v", err)
	}
}

func TestBlobs(t *testing.T) {
	b := mustOpen(t, t.TempDir(), Always)
	if _, err := b.Blob(t.Context(), Digest([]byte("x"))); !errors.Is(err, events.ErrNoBlob) {
		t.Fatalf("a missing blob: %v", err)
	}
	if _, err := b.Blob(t.Context(), "../etc"); !errors.Is(err, events.ErrNoBlob) {
		t.Fatalf("a name that is not a digest: %v", err)
	}
	var want []string
	for _, content := range [][]byte{{}, []byte("small"), bytes.Repeat([]byte("large"), 100_000)} {
		for range 2 {
			digest, err := b.PutBlob(t.Context(), content)
			if err != nil || digest != Digest(content) {
				t.Fatalf("put: %q, %v", digest, err)
			}
		}
		got, err := b.Blob(t.Context(), Digest(content))
		if err != nil || !bytes.Equal(got, content) {
			t.Fatalf("get: %d bytes, %v", len(got), err)
		}
		want = append(want, Digest(content))
	}
	slices.Sort(want)
	if got, err := b.Blobs(t.Context()); err != nil || !slices.Equal(got, want) {
		t.Fatalf("list: %v, %v", got, err)
	}
}

func TestHeadFile(t *testing.T) {
	for _, d := range []Durability{Always, Interval} {
		b := mustOpen(t, t.TempDir(), d)
		path := filepath.Join(t.TempDir(), "head.json")
		if head, err := LoadHeadFile(path); err != nil || head != (events.Head{}) {
			t.Fatalf("no file: %v, %v", head, err)
		}
		head := filled(t, b, 25)
		h := b.HeadFile(path)
		h.Record(events.Head{Sequence: 1})
		h.Record(head)
		for range 2 {
			if err := h.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := LoadHeadFile(path); err != nil || got != head {
			t.Fatalf("loaded %v, %v, expected %v", got, err, head)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Fatalf("%v, %v", info, err)
		}
		for _, content := range []string{
			"", "{}", `{"sequence":1}`, `{"sequence":1,"hash":"ab"}`,
			`{"sequence":1,"hash":"` + head.Hash.String() + `"`,
		} {
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			if got, err := LoadHeadFile(path); err == nil {
				t.Fatalf("the damaged file %q was loaded as %v", content, got)
			}
		}
	}
}

// Something that another process writes in place of the head file is kept, and the head is written again.
func TestChangedHeadFileIsKept(t *testing.T) {
	b := mustOpen(t, t.TempDir(), Always)
	head := filled(t, b, 3)
	path := filepath.Join(t.TempDir(), "head")
	first := b.HeadFile(path)
	first.Record(head)
	must(t, first.Close())
	for _, junk := range []string{"junk", `{"sequence":1,"hash":"` + head.Hash.String() + `"}`} {
		h := b.HeadFile(path)
		must(t, os.WriteFile(path, []byte(junk), 0o600), h.Close())
		if got, err := LoadHeadFile(path); err != nil || got != head {
			t.Errorf("the head file holds %v, %v", got, err)
		}
		if kept, err := os.ReadFile(path + DamagedSuffix); err != nil || string(kept) != junk {
			t.Errorf("kept is %q, %v; expected %q", kept, err, junk)
		}
	}
}

func TestHeadFileIsNeverAheadOfTheBlocks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "head.json")
	h := &HeadFile{
		path:   path,
		newest: events.Head{Sequence: 9},
		wake:   make(chan struct{}, 1),
		logger: testLogger(t),
	}
	h.firm = func() error { return errors.New("the blocks are not synced") }
	h.flush()
	if head, err := LoadHeadFile(path); err != nil || head.Sequence != 0 || h.err == nil {
		t.Fatalf("recorded %v, %v, although the blocks are not synced", head, err)
	}
}

// While the head file cannot be written, the bus names it, and the log says so once a minute, however often it is
// tried.
func TestUnwritableHeadFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "away")
	synctest.Test(t, func(t *testing.T) {
		var logged sharedBuffer
		h := &HeadFile{
			path:    filepath.Join(dir, "head"),
			firm:    func() error { return nil },
			logger:  slog.New(slog.NewTextHandler(&logged, nil)),
			wake:    make(chan struct{}, 1),
			stop:    make(chan struct{}),
			stopped: make(chan struct{}),
		}
		go h.run()
		said := func(what string) int { return strings.Count(logged.String(), what) }
		for minute := range 3 {
			h.Record(events.Head{Sequence: uint64(1 + minute)})
			time.Sleep(time.Minute)
			synctest.Wait()
			if err := h.Failed(); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the head file failed with %v", err)
			}
			if n := said("cannot be written"); n < 1 || n > minute+2 {
				t.Errorf("after %d minutes the log reports it %d times", minute+1, n)
			}
		}
		must(t, os.Mkdir(dir, 0o700))
		time.Sleep(time.Second)
		synctest.Wait()
		if h.Failed() != nil || said("is written again") != 1 {
			t.Errorf("the head file can be written again, but failed with %v\n%s", h.Failed(), logged.String())
		}
		must(t, os.RemoveAll(dir)) // the head file must be written again
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if !errors.Is(h.Failed(), fs.ErrNotExist) {
			t.Errorf("the head file cannot be written again, but failed with %v", h.Failed())
		}
		must(t, os.Mkdir(dir, 0o700))
		time.Sleep(3 * time.Second)
		synctest.Wait()
		must(t, h.Failed(), h.Close())
	})
}

// sharedBuffer is a log that is read while it is written.
type sharedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *sharedBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *sharedBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// If the blocks are gone, their contents are not durable any more, and only the head file shows what was acknowledged.
func TestHeadFileIsWrittenWhenTheBlocksAreGone(t *testing.T) {
	b := mustOpen(t, t.TempDir(), Interval)
	head := filled(t, b, 25)
	path := filepath.Join(t.TempDir(), "head.json")
	h := b.HeadFile(path)
	away := filepath.Join(t.TempDir(), "away")
	if err := os.Rename(b.watch.dir, away); err != nil {
		t.Fatal(err)
	}
	h.Record(head)
	if err := errors.Join(h.Close(), os.Rename(away, b.watch.dir)); err != nil {
		t.Fatal(err)
	}
	if got, err := LoadHeadFile(path); err != nil || got != head {
		t.Fatalf("loaded %v, %v, expected %v", got, err, head)
	}
}

func TestSnapshots(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := OpenSnapshots(filepath.Join(dir, "snapshots"))
	if err != nil {
		t.Fatal(err)
	}
	// Incompressible, so that a flipped bit is not found by decompression.
	var state []byte
	for i := range 50 {
		hash := events.BodyHash([]byte{byte(i)})
		state = append(state, hash[:]...)
	}
	sequences := []uint64{10, 49_999, 50_000, 70_000, 99_000, 150_000, 150_001, 150_002, 150_003}
	for _, sequence := range sequences {
		if err := s.Save(events.Snapshot{
			Head:    events.Head{Sequence: sequence, Hash: events.Hash{1}},
			Genesis: events.Hash{2},
			Format:  3,
			State:   state,
		}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Load(70_000)
	if err != nil || got.Sequence != 70_000 || got.Hash != (events.Hash{1}) || got.Genesis != (events.Hash{2}) ||
		got.Format != 3 || !bytes.Equal(got.State, state) {
		t.Fatalf("loaded %+v, %v", got.Head, err)
	}
	if err := s.Prune(); err != nil {
		t.Fatal(err)
	}
	want := []uint64{150_003, 150_002, 150_000, 50_000, 10}
	if left, err := s.List(); err != nil || !slices.Equal(left, want) {
		t.Fatalf("after pruning: %v, %v, expected %v", left, err, want)
	}
	if _, err := s.Load(70_000); !errors.Is(err, events.ErrNoSnapshot) {
		t.Fatalf("a pruned snapshot: %v", err)
	}
	whole, err := os.ReadFile(s.path(10))
	if err != nil {
		t.Fatal(err)
	}
	for cut := range whole {
		if err := os.WriteFile(s.path(10), whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Load(10); !errors.Is(err, events.ErrNoSnapshot) {
			t.Fatalf("cut to %d of %d bytes: %v", cut, len(whole), err)
		}
	}
	whole[len(whole)-3] ^= 1
	if err := os.WriteFile(s.path(10), whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(10); !errors.Is(err, events.ErrNoSnapshot) {
		t.Fatalf("with a flipped bit: %v", err)
	}
}

// restoreAt restores a backup whose signature is valid and that lacks nothing.
func restoreAt(t *testing.T, archive []byte, dir string, verify func(events.Message) error) (events.Head, error) {
	t.Helper()
	return Build(t.Context(), dir, func(s *Builder) error {
		contents, err := ReadBackup(bytes.NewReader(archive), BackupVisitor{
			Message: func(m events.Message) error {
				if verify != nil {
					if err := verify(m); err != nil {
						return err
					}
				}
				return s.Message(m)
			},
			Blob: func(_ string, content []byte) error { return s.Blob(content) },
		})
		if err == nil && len(contents.Lost) > 0 {
			err = fmt.Errorf("the backup lacks %v", contents.Lost)
		}
		return errors.Join(err, contents.Unsealed)
	})
}

func TestBackupAndRestore(t *testing.T) {
	race.Without(t)
	t.Parallel()
	b := mustOpen(t, t.TempDir(), Interval)
	head := filled(t, b, 1234)
	// Not valid events: a backup keeps them unchanged.
	for _, body := range []string{"not\njson", "", ` {"spaces": 1} `} {
		if err := b.Append(t.Context(), head.Sequence, []events.Message{{
			Subject: "maestro.ev.p.x.y",
			Body:    []byte(body),
		}}); err != nil {
			t.Fatal(err)
		}
		head = events.Head{Sequence: head.Sequence + 1, Hash: events.Next(head.Hash, events.BodyHash([]byte(body)))}
	}
	blob, err := b.PutBlob(t.Context(), bytes.Repeat([]byte("blob"), 50_000))
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	if _, err := b.Backup(t.Context(), &archive, BackupOptions{
		Head: head, Created: time.Unix(1_700_000_000, 0),
		Key: key,
	}); err != nil {
		t.Fatal(err)
	}
	other := BackupOptions{Head: events.Head{Sequence: head.Sequence, Hash: events.Hash{1}}, Key: key}
	if _, err := b.Backup(t.Context(), io.Discard, other); !errors.Is(err, events.ErrReadOnly) {
		t.Fatalf("a backup to a head that is not in the log: %v", err)
	}

	parent := t.TempDir()
	dir := filepath.Join(parent, "store")
	calls := uint64(0)
	got, err := restoreAt(t, archive.Bytes(), dir, func(m events.Message) error {
		calls++
		if m.Sequence != calls {
			t.Errorf("verified %d as the %dth", m.Sequence, calls)
		}
		return nil
	})
	if err != nil || got != head || calls != head.Sequence {
		t.Fatalf("restored %v after %d calls, %v", got, calls, err)
	}
	again := mustOpen(t, dir, Always)
	next := uint64(1)
	if err := again.Read(t.Context(), 1, head.Sequence, func(m events.Message) error {
		return b.Read(t.Context(), next, next, func(want events.Message) error {
			if next++; want.Subject != m.Subject || !bytes.Equal(want.Body, m.Body) {
				t.Errorf("sequence %d is %q, expected %q", m.Sequence, m.Body, want.Body)
			}
			return nil
		})
	}); err != nil {
		t.Fatal(err)
	}
	if synced, err := again.Sync(t.Context()); err != nil || synced != head.Sequence {
		t.Fatalf("the restored head is %d, %v", synced, err)
	}
	if content, err := again.Blob(t.Context(), blob); err != nil || len(content) != 200_000 {
		t.Fatalf("the restored blob: %d bytes, %v", len(content), err)
	}
	if _, err := restoreAt(t, archive.Bytes(), dir, nil); err == nil {
		t.Fatal("a backup was restored over an existing store")
	}

	refuse := func(name string, content []byte, verify func(events.Message) error) {
		t.Helper()
		parent := t.TempDir()
		if _, err := restoreAt(t, content, filepath.Join(parent, "store"), verify); err == nil {
			t.Errorf("%s: restored", name)
		}
		if left, err := os.ReadDir(parent); err != nil || len(left) != 0 {
			t.Errorf("%s: left %v behind, %v", name, left, err)
		}
	}
	whole := archive.Bytes()
	for _, cut := range []int{0, 5, 100, len(whole) / 2, len(whole) - 9, len(whole) - 1} {
		refuse("cut to "+strconv.Itoa(cut), whole[:cut], nil)
	}
	for _, at := range []int{20, len(whole) / 3, len(whole) - 20} {
		altered := bytes.Clone(whole)
		altered[at] ^= 4
		refuse("altered at "+strconv.Itoa(at), altered, nil)
	}
	// Altered by somebody who knows the format: only the chain and the digests reveal it.
	unzipped, err := gzip.NewReader(bytes.NewReader(whole))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(unzipped)
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range [][2]string{{`{"n":500,`, `{"n":501,`}, {"blobblob", "blobBlob"}, {
		`"sequence":700,`,
		`"sequence":701,`,
	}, {"log.ndjson", "../etc/log"}} {
		altered := bytes.Replace(plain, []byte(change[0]), []byte(change[1]), 1)
		if bytes.Equal(altered, plain) {
			t.Fatalf("the backup has no %q", change[0])
		}
		var zipped bytes.Buffer
		w := gzip.NewWriter(&zipped)
		if _, err := w.Write(altered); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		refuse(change[0]+" became "+change[1], zipped.Bytes(), nil)
	}
	refuse("the caller says no", whole, func(m events.Message) error {
		if m.Sequence == 1000 {
			return errors.New("no")
		}
		return nil
	})
}

func TestSyncBringsADeadServerBack(t *testing.T) {
	b := mustOpen(t, t.TempDir(), Always)
	head := filled(t, b, 12)
	b.embedded.stop()
	if err := b.Append(t.Context(), head.Sequence, []events.Message{{
		Subject: "maestro.ev.p.task.1",
		Body:    []byte("a"),
	}}); !errors.Is(err, events.ErrUnknown) {
		t.Fatalf("an append without a server: %v, expected ErrUnknown", err)
	}
	b.doubtful.Store(false) // even if nobody had appended meanwhile
	if got, err := b.Sync(t.Context()); err != nil || got != head.Sequence {
		t.Fatalf("sync: %d, %v, expected %d", got, err, head.Sequence)
	}
	filledOn := []events.Message{{Subject: "maestro.ev.p.task.1", Body: []byte("a")}}
	if err := b.Append(t.Context(), head.Sequence, filledOn); err != nil {
		t.Fatal(err)
	}
}
