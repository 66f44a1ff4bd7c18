package bus

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"maestro/events"
	"maestro/internal/testing/race"
)

// blockPath is a block of the log.
func blockPath(dir string, index int) string {
	return filepath.Join(streamPath(dir, StreamName), "msgs", blockName(index))
}

// openWitnessed opens a store as serve does, with the last acknowledged head.
func openWitnessed(t *testing.T, dir string, d Durability, witnessed uint64) *Bus {
	t.Helper()
	b, err := Open(t.Context(), Options{
		Dir:        dir,
		Durability: d,
		Witnessed:  witnessed,
		HeadFile:   witnessed,
		Logger:     testLogger(t),
		Timeout:    patience,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return b
}

func readable(t *testing.T, dir string) []events.Message {
	t.Helper()
	r, err := OpenReadOnly(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	var all []events.Message
	if err := r.Readable(t.Context(), func(m events.Message) error { all = append(all, m); return nil }); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestFlippedBitAfterKillCostsOneEvent: one bit is flipped at a tenth of a block, after kill -9. The log opens
// read-only, and every other event can still be read, however often it is opened.
func TestFlippedBitAfterKillCostsOneEvent(t *testing.T) {
	race.Without(t)
	t.Parallel()
	dir, log, blobs, denials := filledStore(t)
	image := storeCopy(t, dir)
	flip(t, blockPath(image, 1), func(size int64) int64 { return size / 10 })
	before := readable(t, image)
	if len(before) != len(log)-1 {
		t.Fatalf("%d of %d events can be read, expected all but one", len(before), len(log))
	}
	for range 2 {
		b, err := Open(t.Context(), Options{Dir: image, Witnessed: uint64(len(log)), Logger: testLogger(t)})
		if err != nil {
			t.Fatal(err)
		}
		var damage *events.DamageError
		if !errors.As(b.Damage(), &damage) || !errors.Is(b.Damage(), events.ErrReadOnly) {
			t.Fatalf("damage: %v", b.Damage())
		}
		if err := b.Append(t.Context(), uint64(len(log)), log[:1]); !errors.Is(err, events.ErrReadOnly) {
			t.Fatalf("an append to a damaged log: %v", err)
		}
		read := uint64(0)
		err = b.Read(t.Context(), 1, uint64(len(log)), func(m events.Message) error { read = m.Sequence; return nil })
		if !errors.Is(err, events.ErrReadOnly) || read != damage.Sequence-1 {
			t.Fatalf("read up to %d: %v, the damage is at %d", read, err, damage.Sequence)
		}
		if got, err := b.Blobs(t.Context()); err != nil || len(got) != len(blobs) {
			t.Fatalf("%d blobs, %v", len(got), err)
		}
		if got := denialsOf(t, b.LoadDenials); !sameDenials(got, denials) {
			t.Fatalf("%d refusals, expected %d", len(got), len(denials))
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		sameMessages(t, readable(t, image), before)
	}
	// Each damage is copied once, however often it is met.
	copies, err := filepath.Glob(image + asideInfix + "*")
	if err != nil || len(copies) != 1 {
		t.Fatalf("copies: %v, %v", copies, err)
	}
	sameMessages(t, readable(t, copies[0]), before)
	// A server that was killed while it copied leaves half a copy, which the next start removes.
	half := image + asideInfix + "20260102T030405Z-copying"
	must(t, os.MkdirAll(filepath.Join(half, "jetstream"), 0o700))
	flip(t, blockPath(image, 2), func(size int64) int64 { return size / 2 })
	_ = openWitnessed(t, image, Always, uint64(len(log)))
	if _, err := os.Stat(half); err == nil {
		t.Error("half a copy is left")
	}
	if copies, err = filepath.Glob(image + asideInfix + "*"); err != nil || len(copies) != 2 {
		t.Fatalf("copies after a second damage: %v, %v", copies, err)
	}
}

// A clean stop does not vouch for a finished block that was changed while the server ran, even if the block was
// finished in that run.
func TestCleanStopDoesNotCoverChangedBlocks(t *testing.T) {
	race.Without(t)
	t.Parallel()
	for _, again := range []bool{false, true} {
		dir := filepath.Join(t.TempDir(), "store")
		b := mustOpen(t, dir, Interval)
		messages := make([]events.Message, 6)
		for i := range messages {
			messages[i] = events.Message{
				Subject: events.Subject("p", "task", "t"),
				Body:    bytes.Repeat([]byte("x"), 700_000),
			}
		}
		for head := range uint64(4) {
			if err := errors.Join(b.Append(t.Context(), head*6, messages), b.Here()); err != nil {
				t.Fatal(err)
			}
		}
		if again {
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			if !loadNote(dir).vouches(dir, StreamName) {
				t.Error("a clean stop does not vouch for blocks that nobody changed")
			}
			b = mustOpen(t, dir, Interval)
		}
		if err := os.Truncate(blockPath(dir, 1), 1_000_000); err != nil {
			t.Fatal(err)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		if b = openWitnessed(t, dir, Interval, 24); b.Damage() == nil {
			t.Errorf("reopened: %t: the next start finds no damage", again)
		}
	}
}

// TestDamageWhileStoppedIsSeenBeforeTheServer: damage in any block is found before nats-server opens it, even after a
// clean stop.
func TestDamageWhileStoppedIsSeenBeforeTheServer(t *testing.T) {
	race.Without(t)
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	b := mustOpen(t, dir, Interval)
	head := uint64(0)
	for range 4 {
		messages := make([]events.Message, 6)
		for i := range messages {
			messages[i] = events.Message{
				Subject: events.Subject("p", "task", "t"),
				Body:    bytes.Repeat([]byte("x"), 700_000),
			}
		}
		if err := b.Append(t.Context(), head, messages); err != nil {
			t.Fatal(err)
		}
		head += 6
	}
	log := allOf(t, b)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if !loadNote(dir).vouches(dir, StreamName) {
		t.Fatal("the clean stop was not recorded")
	}
	for block := 1; block <= 3; block++ {
		image := storeCopy(t, dir)
		flip(t, blockPath(image, block),
			func(int64) int64 { return 2 }) // a length: nats-server would cut the whole block off
		b := openWitnessed(t, image, Interval, head)
		if b.Damage() == nil {
			t.Fatalf("block %d: no damage was found", block)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		if got := readable(t, image); len(got) != len(log)-1 {
			t.Fatalf("block %d: %d of %d events are left", block, len(got), len(log))
		}
	}
}

// TestTornEndIsNotDamage: the remains of an unacknowledged append after a kill or a power cut are not damage.
func TestTornEndIsNotDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := mustOpen(t, dir, Always)
	head := filled(t, b, 30) // the last ten are one append
	log := allOf(t, b)
	last := func(dir string) (path string, content []byte, at []int) {
		path = blockPath(dir, 1)
		content, at = recordsOf(t, path)
		return path, content, at
	}
	for name, c := range map[string]struct {
		harm      func(content []byte, at []int) []byte
		witnessed uint64
		durable   Durability
		left      int // -1: damage
		aside     bool
	}{
		"a half record": {
			harm: func(c []byte, at []int) []byte { return c[:len(c)-5] }, witnessed: 29,
			left: 29,
		},
		"junk after the last": {harm: func(c []byte, _ []int) []byte {
			return append(c, make([]byte,
				5000)...)
		}, witnessed: 30, left: 30},
		"an acknowledged half record": {
			harm: func(c []byte, _ []int) []byte { return c[:len(c)-5] }, witnessed: 30,
			left: -1,
		},
		"an acknowledged end": {
			harm: func(c []byte, at []int) []byte { return c[:at[27]] }, witnessed: 28,
			left: -1,
		},
		"a hole in the last batch": {
			harm:      func(c []byte, at []int) []byte { clear(c[at[24]:at[25]]); return c },
			witnessed: 20,
			left:      24,
			aside:     true,
		},
		"a hole before the last batch": {
			harm:      func(c []byte, at []int) []byte { clear(c[at[14]:at[15]]); return c },
			witnessed: 10, left: -1,
		},
		"a hole in the last second, with lazy syncs": {
			harm:      func(c []byte, at []int) []byte { clear(c[at[14]:at[15]]); return c },
			witnessed: 10,
			durable:   Interval,
			left:      14,
			aside:     true,
		},
		"a hole before the last second": {
			harm:      func(c []byte, at []int) []byte { clear(c[at[14]:at[15]]); return c },
			witnessed: 15,
			durable:   Interval,
			left:      -1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			image := storeCopy(t, dir)
			path, content, at := last(image)
			if err := os.WriteFile(path, c.harm(content, at), 0o600); err != nil {
				t.Fatal(err)
			}
			before := readable(t, image)
			b := openWitnessed(t, image, c.durable, c.witnessed)
			if (b.Damage() != nil) != (c.left < 0) {
				t.Fatalf("damage: %v", b.Damage())
			}
			if trouble := b.embedded.trouble.Load(); trouble != nil {
				t.Fatalf("the server is taken for failed: %v", *trouble)
			}
			copies, err := filepath.Glob(image + asideInfix + "*")
			if err != nil || (len(copies) == 1) != (c.aside || c.left < 0) {
				t.Fatalf("set aside: %v, %v", copies, err)
			}
			if len(copies) == 1 {
				sameMessages(t, readable(t, copies[0]), before)
			}
			if c.left < 0 {
				return
			}
			sameMessages(t, allOf(t, b), log[:c.left])
			if err := b.Append(t.Context(), uint64(c.left), log[:1]); err != nil {
				t.Fatalf("the log accepts no writes: %v", err)
			}
		})
	}
	_ = head
}

// TestDamageWhileRunningStopsWrites: a read that finds damage makes the log read-only at once, tells its owner, and
// the server does not cut the block, now or at the next start.
func TestDamageWhileRunningStopsWrites(t *testing.T) {
	t.Parallel()
	for name, place := range map[string]func(size int64) int64{
		"a body":   func(size int64) int64 { return size / 2 },
		"a length": func(int64) int64 { return 2 },
	} {
		t.Run(name, func(t *testing.T) {
			dir, log, _, _ := filledStore(t)
			image := storeCopy(t, dir)
			b := openWitnessed(t, image, Always, uint64(len(log)))
			told := make(chan error, 2)
			b.OnDamage(func(err error) { told <- err })
			sameMessages(t, allOf(t, b), log) // everything was read and is cached
			flip(t, blockPath(image, 1), place)
			before, err := os.ReadFile(blockPath(image, 1))
			if err != nil {
				t.Fatal(err)
			}
			err = b.Read(t.Context(), 1, uint64(len(log)), func(events.Message) error { return nil })
			if !errors.Is(err, events.ErrReadOnly) {
				t.Fatalf("read: %v", err)
			}
			if b.Damage() == nil {
				t.Fatal("the damage is not recorded")
			}
			if err := <-told; !errors.Is(err, events.ErrReadOnly) {
				t.Fatalf("reported: %v", err)
			}
			if err := b.Append(t.Context(), uint64(len(log)), log[:1]); !errors.Is(err, events.ErrReadOnly) {
				t.Fatalf("an append: %v", err)
			}
			if _, err := b.PutBlob(t.Context(), []byte("new")); !errors.Is(err, events.ErrReadOnly) {
				t.Fatalf("a blob: %v", err)
			}
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				again := openWitnessed(t, image, Always, uint64(len(log)))
				if again.Damage() == nil {
					t.Fatal("the next start did not find the damage")
				}
				if err := again.Close(); err != nil {
					t.Fatal(err)
				}
				after, err := os.ReadFile(blockPath(image, 1))
				if err != nil || !bytes.Equal(after, before) {
					t.Fatalf("the block was changed: %d bytes became %d, %v", len(before), len(after), err)
				}
			}
		})
	}
}

// TestStreamConfigurationsAreMadeAgain: nothing is lost with a damaged, empty or missing meta.inf or meta.sum.
func TestStreamConfigurationsAreMadeAgain(t *testing.T) {
	t.Parallel()
	dir, log, blobs, denials := filledStore(t)
	for _, stream := range []string{StreamName, BlobStream, DeniedStream} {
		for name, harm := range map[string]func(t *testing.T, path string){
			"empty sum": func(t *testing.T, path string) { truncate(t, filepath.Join(path, metaSumName)) },
			"empty inf": func(t *testing.T, path string) { truncate(t, filepath.Join(path, metaName)) },
			"no sum":    func(t *testing.T, path string) { remove(t, filepath.Join(path, metaSumName)) },
			"no inf":    func(t *testing.T, path string) { remove(t, filepath.Join(path, metaName)) },
			"cut inf":   func(t *testing.T, path string) { cut(t, filepath.Join(path, metaName), 20) },
			"flipped": func(t *testing.T, path string) {
				flip(t, filepath.Join(path, metaName), func(n int64) int64 { return n / 2 })
			},
			"both empty": func(t *testing.T, path string) {
				truncate(t, filepath.Join(path, metaName))
				truncate(t, filepath.Join(path, metaSumName))
			},
		} {
			t.Run(stream+" "+name, func(t *testing.T) {
				t.Parallel()
				image := storeCopy(t, dir)
				harm(t, streamPath(image, stream))
				b := openWitnessed(t, image, Always, uint64(len(log)))
				if b.Damage() != nil {
					t.Fatal(b.Damage())
				}
				sameMessages(t, allOf(t, b), log)
				if got, err := b.Blobs(t.Context()); err != nil || len(got) != len(blobs) {
					t.Fatalf("%d blobs, %v, expected %d", len(got), err, len(blobs))
				}
				if got := denialsOf(t, b.LoadDenials); !sameDenials(got, denials) {
					t.Fatalf("%d refusals, expected %d", len(got), len(denials))
				}
				if err := b.Append(t.Context(), uint64(len(log)), log[:1]); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

func truncate(t *testing.T, path string) {
	t.Helper()
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
}

// TestWrongIndexIsHarmless: only the blocks count, whatever an index says.
func TestWrongIndexIsHarmless(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	b := mustOpen(t, dir, Always)
	filled(t, b, 100)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	index := func(dir string) string { return filepath.Join(streamPath(dir, StreamName), "msgs", "index.db") }
	earlier, err := os.ReadFile(index(dir))
	if err != nil {
		t.Fatal(err)
	}
	b = mustOpen(t, dir, Always)
	head := events.Head{Sequence: 100}
	for head.Sequence < 160 {
		if err := b.Append(t.Context(), head.Sequence, []events.Message{{
			Subject: events.Subject("p", "task", "t"),
			Body:    []byte("{}"),
		}}); err != nil {
			t.Fatal(err)
		}
		head.Sequence++
	}
	log := allOf(t, b)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	later, err := os.ReadFile(index(dir))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"earlier": earlier, "empty": {}, "cut": later[:len(later)-9], "flipped": append(bytes.Clone(later[:20]),
			append([]byte{later[20] ^ 4}, later[21:]...)...),
	} {
		t.Run(name, func(t *testing.T) {
			image := storeCopy(t, dir)
			if err := os.WriteFile(index(image), content, 0o600); err != nil {
				t.Fatal(err)
			}
			b := openWitnessed(t, image, Always, 160)
			if b.Damage() != nil {
				t.Fatal(b.Damage())
			}
			sameMessages(t, allOf(t, b), log)
		})
	}
	// An index that lists more than the blocks hold, as a power cut leaves it with lazy syncs: the server would
	// continue after what the index lists, and leave a permanent hole.
	image := storeCopy(t, dir)
	_, at := recordsOf(t, blockPath(image, 1))
	must(t, os.Truncate(blockPath(image, 1), int64(at[150])), os.Remove(filepath.Join(image, cleanName)))
	b = openWitnessed(t, image, Interval, 140)
	if b.Damage() != nil {
		t.Fatal(b.Damage())
	}
	sameMessages(t, allOf(t, b), log[:150])
	if err := b.Append(t.Context(), 150, log[:1]); err != nil {
		t.Fatal(err)
	}
}

// TestCleanStopRecordsTheEnd: everything that was there at a clean stop must be there at the next start, even if the
// head file is lost.
func TestCleanStopRecordsTheEnd(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	b := mustOpen(t, dir, Always)
	large(t, b, 0, 30)
	must(t, b.Close(), os.Remove(blockPath(dir, 3)))
	b = openWitnessed(t, dir, Always, 0)
	if !errors.Is(b.Damage(), events.ErrReadOnly) {
		t.Fatal("the log opened without its last block")
	}
}

// TestDamagedSideStreamsAreMadeAgain: damage in the blobs or the refusals loses only the damaged record, and the log
// continues.
func TestDamagedSideStreamsAreMadeAgain(t *testing.T) {
	race.Without(t)
	t.Parallel()
	dir, log, blobs, denials := filledStore(t)
	for _, c := range []struct {
		stream       string
		lost, denied int
	}{{BlobStream, 1, 0}, {DeniedStream, 0, 1}} {
		t.Run(c.stream, func(t *testing.T) {
			image := storeCopy(t, dir)
			block := filepath.Join(streamPath(image, c.stream), "msgs", "1.blk")
			content, at := recordsOf(t, block)
			parser := newRecordParser(c.stream, "", 1)
			hit := -1 // a part of a large blob, or the refusal currently in its slot
			for i := range at {
				if r, err := parser.parse(content[at[i]:]); err == nil && len(r.body) > 100_000 ||
					c.stream == DeniedStream &&
						i == len(at)-5 {
					hit = i
				}
			}
			flip(t, block, func(int64) int64 { return int64(at[hit]) })
			b := openWitnessed(t, image, Always, uint64(len(log)))
			if b.Damage() != nil {
				t.Fatal(b.Damage())
			}
			lost := 0
			for digest, want := range blobs {
				got, err := b.Blob(t.Context(), digest)
				if errors.Is(err, ErrNoBlob) {
					lost++
				} else if err != nil || !bytes.Equal(got, want) {
					t.Fatalf("blob %s: %d bytes, %v", digest, len(got), err)
				}
			}
			if lost != c.lost {
				t.Errorf("%d blobs are lost, expected %d", lost, c.lost)
			}
			if got := denialsOf(t, b.LoadDenials); len(got) < len(denials)-c.denied {
				t.Errorf("%d of %d refusals are left", len(got), len(denials))
			}
			sameMessages(t, allOf(t, b), log)
			if err := b.Append(t.Context(), uint64(len(log)), log[:1]); err != nil {
				t.Fatal(err)
			}
			aside, err := filepath.Glob(image + asideInfix + "*")
			if err != nil || len(aside) != 1 {
				t.Fatalf("set aside: %v, %v", aside, err)
			}
			if !isRemade(aside[0]) {
				t.Fatal("the rebuilding is not marked")
			}
			if _, err := os.Stat(filepath.Join(image, rebuildsName)); !errors.Is(err, os.ErrNotExist) {
				t.Fatalf("the rebuilding is not finished: %v", err)
			}
		})
	}
}

// TestBlobWithoutDescriptionIsKept: the description of a blob with complete content may be cut off.
func TestBlobWithoutDescriptionIsKept(t *testing.T) {
	dir := t.TempDir()
	b := mustOpen(t, dir, Always)
	content := bytes.Repeat([]byte("text"), 100_000)
	digest, err := b.PutBlob(t.Context(), content)
	if err != nil {
		t.Fatal(err)
	}
	image := storeCopy(t, dir)
	cut(t, filepath.Join(streamPath(image, BlobStream), "msgs", "1.blk"), 10) // the description comes last
	again := openWitnessed(t, image, Always, 0)
	if got, err := again.Blob(t.Context(), digest); err != nil || !bytes.Equal(got, content) {
		t.Fatalf("the blob: %d bytes, %v", len(got), err)
	}
}

// TestPowerCutAfterFirstStart: a copy of the store that holds only what was synced opens.
func TestPowerCutAfterFirstStart(t *testing.T) {
	for _, d := range []Durability{Always, Interval} {
		t.Run(d.String(), func(t *testing.T) {
			root := t.TempDir()
			dir := filepath.Join(root, "home", "store")
			durable := map[string][]byte{} // files by path, as of their last sync
			names := map[string][]string{} // the names in each directory then
			synced = func(path string) {
				info, err := os.Stat(path)
				if err != nil {
					t.Error(err)
					return
				}
				if info.IsDir() {
					names[path] = entries(t, path)
					return
				}
				if durable[path], err = os.ReadFile(path); err != nil {
					t.Error(err)
				}
			}
			defer func() { synced = nil }()
			b := mustOpen(t, dir, d)
			synced = nil
			want := fileNames(t, dir)
			var got []string
			for path, content := range durable {
				if !lasting(names, root, path) {
					continue
				}
				now, err := os.ReadFile(path)
				if err == nil && bytes.Equal(now, content) {
					got = append(got, path)
				}
			}
			slices.Sort(got)
			got = slices.Compact(got)
			missing := slices.DeleteFunc(
				slices.Clone(want), func(path string) bool { return slices.Contains(got, path) },
			)
			if len(missing) > 0 {
				t.Errorf("a power cut would lose:\n%s", strings.Join(missing, "\n"))
			}
			_ = b
		})
	}
}

// lasting reports whether every directory from root down to the path was synced with the next name in it.
func lasting(names map[string][]string, root, path string) bool {
	for path != root {
		parent := filepath.Dir(path)
		if !slices.Contains(names[parent], filepath.Base(path)) {
			return false
		}
		path = parent
	}
	return true
}

func entries(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Error(err)
	}
	var names []string
	for _, entry := range list {
		names = append(names, entry.Name())
	}
	return names
}

// fileNames lists the regular files below dir that the server needs. The lock and the index are recreated.
func fileNames(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && entry.Name() != lockName && entry.Name() != "index.db" {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 6 {
		t.Fatalf("the store has only %s", strconv.Itoa(len(files)))
	}
	return files
}
