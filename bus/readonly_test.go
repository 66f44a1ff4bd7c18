package bus

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"maestro/engine"
	"maestro/events"
	"maestro/internal/testing/race"
)

var _ engine.Log = (*ReadOnly)(nil)

func mustOpenReadOnly(t *testing.T, dir string) *ReadOnly {
	t.Helper()
	r, err := OpenReadOnly(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// allOf reads the log of a bus or of a read-only store up to its head.
func allOf(t *testing.T, log engine.Log) []events.Message {
	t.Helper()
	head, err := log.Sync(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var all []events.Message
	if err := log.Read(t.Context(), 1, head, func(m events.Message) error {
		all = append(all,
			m)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

func sameMessages(t *testing.T, got, want []events.Message) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d messages, expected %d", len(got), len(want))
	}
	for i, m := range got {
		if m.Sequence != want[i].Sequence || m.Subject != want[i].Subject || !bytes.Equal(m.Body, want[i].Body) {
			t.Fatalf("message %d is %d %q, expected %d %q", i, m.Sequence, m.Subject, want[i].Sequence, want[i].Subject)
		}
	}
}

// sample is the store that filledStore creates once for all tests. TestMain removes it.
var sample struct {
	once    sync.Once
	dir     string
	log     []events.Message
	blobs   map[string][]byte
	denials []events.StoredDenial
}

// filledStore returns a store that a killed server left: several blocks, blobs, and refusals, some of which replaced
// others in their slots. All tests share it, so each copies it before it opens or harms it.
func filledStore(
	t *testing.T,
) (dir string, log []events.Message, blobs map[string][]byte, denials []events.StoredDenial) {
	t.Helper()
	sample.once.Do(func() {
		b := mustOpen(t, t.TempDir(), Always)
		sample.log, sample.blobs, sample.denials = fillStore(t, b)
		image, err := os.MkdirTemp("", "maestro-sample-")
		if err != nil {
			t.Fatal(err)
		}
		copyStore(t, b.embedded.dir, image)
		sample.dir = image
	})
	if sample.dir == "" {
		t.Fatal("the shared store was not created: see the first test that needs it")
	}
	return sample.dir, slices.Clone(sample.log), maps.Clone(sample.blobs), slices.Clone(sample.denials)
}

func fillStore(t *testing.T, b *Bus) (log []events.Message, blobs map[string][]byte, denials []events.StoredDenial) {
	t.Helper()
	head := filled(t, b, 50)
	for i := range 5 { // two more blocks
		var large []events.Message
		for n := range 6 {
			body := []byte(`{"large":"` + strings.Repeat(strconv.Itoa(i*6+n)+",", 300_000) + `"}`)
			large = append(large, events.Message{Subject: events.Subject("p", "task", "large"), Body: body[:600_000+n]})
		}
		if err := b.Append(t.Context(), head.Sequence, large); err != nil {
			t.Fatal(err)
		}
		head.Sequence += uint64(len(large))
	}
	blobs = map[string][]byte{}
	for _, content := range [][]byte{
		{},
		[]byte("small"), bytes.Repeat([]byte("large"), 100_000),
		bytes.Repeat([]byte("maestro.ev."), 50_000),
	} {
		digest, err := b.PutBlob(t.Context(), content)
		if err != nil {
			t.Fatal(err)
		}
		blobs[digest] = content
	}
	gone, err := b.PutBlob(t.Context(), []byte("deleted"))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.blobs.Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	// The same name again: its description and its chunks replace the first ones.
	again, err := b.PutBlob(t.Context(), []byte("twice"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.blobs.PutBytes(t.Context(), again, []byte("twice")); err != nil {
		t.Fatal(err)
	}
	blobs[again] = []byte("twice")
	for i := range 300 {
		record := events.StoredDenial{
			Actor: "/users/u",
			Slot:  "s-" + strconv.Itoa(i%40),
			Body:  []byte(`{"n":` + strconv.Itoa(i) + `}`),
		}
		if err := b.StoreDenials(t.Context(), []events.StoredDenial{record}); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.LoadDenials(t.Context(), func(d events.StoredDenial) error {
		denials = append(denials,
			d)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return allOf(t, b), blobs, denials
}

func denialsOf(t *testing.T, load func(context.Context, func(events.StoredDenial) error) error) []events.StoredDenial {
	t.Helper()
	var all []events.StoredDenial
	if err := load(t.Context(), func(d events.StoredDenial) error { all = append(all, d); return nil }); err != nil {
		t.Fatal(err)
	}
	return all
}

func sameDenials(a, b []events.StoredDenial) bool {
	return slices.EqualFunc(a, b, func(a, b events.StoredDenial) bool {
		return a.Actor == b.Actor && a.Slot == b.Slot && bytes.Equal(a.Body, b.Body)
	})
}

// TestReadOnlyReadsWhatTheServerReads: it reads the log, the blobs and the refusals of a running store (as kill -9
// would leave it) and of a stopped one, and writes nothing.
func TestReadOnlyReadsWhatTheServerReads(t *testing.T) {
	t.Parallel()
	dir, log, blobs, denials := filledStore(t)
	killed := t.TempDir()
	copyStore(t, dir, killed)
	running := mustOpen(t, t.TempDir(), Always).embedded.dir
	_, err := OpenReadOnly(t.Context(), Options{Dir: running})
	if err == nil || !strings.Contains(err.Error(), "another process holds") {
		t.Fatalf("a store that a server holds open: %v", err)
	}
	dir = killed
	before := fingerprint(t, dir)
	r := mustOpenReadOnly(t, dir)
	if len(r.Faults()) != 0 {
		t.Fatalf("faults in an intact store: %v", r.Faults())
	}
	sameMessages(t, allOf(t, r), log)
	var readable []events.Message
	if err := r.Readable(t.Context(), func(m events.Message) error {
		readable = append(readable,
			m)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	sameMessages(t, readable, log)
	digests, err := r.Blobs(t.Context())
	if err != nil || len(digests) != len(blobs) {
		t.Fatalf("%d blobs, %v, expected %d", len(digests), err, len(blobs))
	}
	for digest, content := range blobs {
		if got, err := r.Blob(t.Context(), digest); err != nil || !bytes.Equal(got, content) {
			t.Fatalf("blob %s: %d bytes, %v", digest, len(got), err)
		}
	}
	if _, err := r.Blob(t.Context(), Digest([]byte("deleted"))); !errors.Is(err, ErrNoBlob) {
		t.Fatalf("a deleted blob: %v", err)
	}
	if got := denialsOf(t, r.LoadDenials); !sameDenials(got, denials) {
		t.Fatalf("%d refusals, expected %d in the same order", len(got), len(denials))
	}
	if err := r.Append(t.Context(), r.Head(), log[:1]); !errors.Is(err, events.ErrReadOnly) {
		t.Fatalf("an append: %v", err)
	}
	if _, err := r.PutBlob(t.Context(), nil); !errors.Is(err, events.ErrReadOnly) {
		t.Fatalf("a blob: %v", err)
	}
	if got := fingerprint(t, dir); got != before {
		t.Fatalf("the store was changed:\n%s\nbecame\n%s", before, got)
	}
}

// fingerprint names every file below dir with its size, its time and its digest.
func fingerprint(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		b.WriteString(path + " " + info.ModTime().String())
		if info.Mode().IsRegular() {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			b.WriteString(" " + Digest(content))
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// recordsOf returns the position of each record of a block.
func recordsOf(t *testing.T, path string) (content []byte, at []int) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(content); i += claimed(content[i:]) {
		at = append(at, i)
		if claimed(content[i:]) == 0 {
			t.Fatalf("%s: no record at %d", path, i)
		}
	}
	return content, at
}

// TestReadOnlyResynchronises: a damaged record costs no other record, wherever in it the damage is.
func TestReadOnlyResynchronises(t *testing.T) {
	race.Without(t)
	t.Parallel()
	dir, log, _, _ := filledStore(t)
	stopped := t.TempDir()
	copyStore(t, dir, stopped)
	block := filepath.Join(streamPath(stopped, StreamName), "msgs", "1.blk")
	whole, at := recordsOf(t, block)
	const hit = 20 // the record that is harmed, the 21st message
	begin, end := at[hit], at[hit+1]
	for name, harm := range map[string]func(content []byte) []byte{
		"length":       func(c []byte) []byte { c[begin] ^= 1; return c },
		"length high":  func(c []byte) []byte { c[begin+2] ^= 0x40; return c },
		"header bit":   func(c []byte) []byte { c[begin+3] ^= 0x80; return c },
		"sequence":     func(c []byte) []byte { c[begin+4] ^= 1; return c },
		"erased bit":   func(c []byte) []byte { c[begin+11] ^= 0x80; return c },
		"time":         func(c []byte) []byte { c[begin+14] ^= 1; return c },
		"subject len":  func(c []byte) []byte { c[begin+20] ^= 0x80; return c },
		"subject":      func(c []byte) []byte { c[begin+25] ^= 1; return c },
		"body":         func(c []byte) []byte { c[end-12] ^= 1; return c },
		"checksum":     func(c []byte) []byte { c[end-1] ^= 1; return c },
		"zeros":        func(c []byte) []byte { clear(c[begin:end]); return c },
		"taken out":    func(c []byte) []byte { return slices.Delete(c, begin, end) },
		"bytes gone":   func(c []byte) []byte { return slices.Delete(c, begin+30, begin+37) },
		"bytes put in": func(c []byte) []byte { return slices.Insert(c, begin+30, 1, 2, 3) },
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(block, harm(bytes.Clone(whole)), 0o600); err != nil {
				t.Fatal(err)
			}
			r := mustOpenReadOnly(t, stopped)
			var got []events.Message
			if err := r.Readable(t.Context(), func(m events.Message) error {
				got = append(got,
					m)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			want := slices.Delete(slices.Clone(log), hit, hit+1)
			sameMessages(t, got, want)
			if len(r.Faults()) != 1 {
				t.Fatalf("faults: %v", r.Faults())
			}
			f := r.Faults()[0]
			if f.From != hit+1 || f.To != hit+1 || f.Tail ||
				f.File != filepath.Join("jetstream", "$G", "streams", StreamName, "msgs", "1.blk") {
				t.Fatalf("fault: %+v", f)
			}
			var damage *events.DamageError
			read := uint64(0)
			err := r.Read(t.Context(), 1, r.Head(), func(m events.Message) error { read = m.Sequence; return nil })
			if !errors.As(err, &damage) || damage.Sequence != hit+1 || read != hit {
				t.Fatalf("read up to %d: %v", read, err)
			}
		})
	}
}

// TestReadOnlyFindsWhatIsMissing: missing blocks, a missing end, and records in another order are faults.
func TestReadOnlyFindsWhatIsMissing(t *testing.T) {
	race.Without(t)
	t.Parallel()
	dir, log, _, _ := filledStore(t)
	path := func(dir string, n string) string { return filepath.Join(streamPath(dir, StreamName), "msgs", n) }
	for name, c := range map[string]struct {
		harm  func(t *testing.T, dir string)
		lost  func(m events.Message, blocks map[uint64]int) bool
		tail  bool
		order bool
	}{
		"first block": {
			harm: func(t *testing.T, dir string) { remove(t, path(dir, "1.blk")) },
			lost: func(m events.Message, b map[uint64]int) bool { return b[m.Sequence] == 1 },
		},
		"middle block": {
			harm: func(t *testing.T, dir string) { remove(t, path(dir, "2.blk")) },
			lost: func(m events.Message, b map[uint64]int) bool { return b[m.Sequence] == 2 },
		},
		"two swapped": {
			harm: func(t *testing.T, dir string) {
				rename(t, path(dir, "1.blk"), path(dir, "x"))
				rename(t, path(dir, "2.blk"), path(dir, "1.blk"))
				rename(t, path(dir, "x"), path(dir, "2.blk"))
			},
			lost: func(events.Message, map[uint64]int) bool { return false },
		},
		"torn tail": {
			harm: func(t *testing.T, dir string) { cut(t, path(dir, "3.blk"), 100) },
			lost: func(m events.Message, _ map[uint64]int) bool { return m.Sequence == uint64(len(log)) },
			tail: true,
		},
		"records swapped": {
			harm: func(t *testing.T, dir string) {
				content, at := recordsOf(t, path(dir, "1.blk"))
				swapped := slices.Concat(content[:at[4]], content[at[5]:at[6]], content[at[4]:at[5]], content[at[6]:])
				if err := os.WriteFile(path(dir, "1.blk"), swapped, 0o600); err != nil {
					t.Fatal(err)
				}
			},
			lost:  func(events.Message, map[uint64]int) bool { return false },
			order: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			image := t.TempDir()
			copyStore(t, dir, image)
			blocks := map[uint64]int{}
			for index := 1; index <= 3; index++ {
				content, at := recordsOf(t, path(image, blockName(index)))
				for _, i := range at {
					blocks[binary.LittleEndian.Uint64(content[i+4:])] = index
				}
			}
			c.harm(t, image)
			r := mustOpenReadOnly(t, image)
			var want, got []events.Message
			missing := map[uint64]bool{}
			for _, m := range log {
				if c.lost(m, blocks) {
					missing[m.Sequence] = true
					continue
				}
				want = append(want, m)
			}
			if err := r.Readable(t.Context(), func(m events.Message) error {
				got = append(got,
					m)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			sameMessages(t, got, want)
			if len(r.Faults()) == 0 {
				t.Fatal("no fault was found")
			}
			for _, f := range r.Faults() {
				if f.Tail != c.tail {
					t.Errorf("%v: a tail is %t", f, f.Tail)
				}
				for q := f.From; q > 0 && q <= f.To; q++ {
					delete(missing, q)
				}
			}
			if !c.tail && len(missing) > 0 {
				t.Errorf("missing but not named: %v; faults %v", missing, r.Faults())
			}
		})
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// cut takes bytes from a file's end.
func cut(t *testing.T, path string, bytes int64) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, info.Size()-bytes); err != nil {
		t.Fatal(err)
	}
}
