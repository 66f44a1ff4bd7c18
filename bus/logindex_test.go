package bus

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"maestro/events"
)

// manyBlocks appends to a log until it has several blocks.
func manyBlocks(t *testing.T, b *Bus) {
	t.Helper()
	head := uint64(0)
	for i := range 40 {
		var messages []events.Message
		for j := range 50 {
			messages = append(messages, events.Message{
				Subject: events.Subject("p", "task", fmt.Sprint("t", 10+(i*i+j)%70)),
				Body:    fmt.Appendf(nil, `{"n":%d,"text":%q}`, i*100+j, strings.Repeat("x", 9000+j)),
			})
		}
		if err := b.Append(t.Context(), head, messages); err != nil {
			t.Fatal(err)
		}
		head += uint64(len(messages))
	}
}

func filler(n int) (messages []events.Message) {
	for range n {
		messages = append(messages, events.Message{Subject: events.Subject("p", "task", "t"), Body: []byte("{}")})
	}
	return messages
}

// indexOf is the path of the index of a store's log.
func indexOf(dir string) string { return filepath.Join(streamPath(dir, StreamName), "msgs", indexName) }

// openListening opens a store, and returns what was logged.
func openListening(t *testing.T, dir string) (*Bus, *bytes.Buffer) {
	t.Helper()
	said := new(bytes.Buffer)
	b, err := Open(t.Context(), Options{
		Dir:        dir,
		Durability: Interval,
		Logger:     slog.New(slog.NewTextHandler(said, nil)),
		Timeout:    patience,
	})
	must(t, err)
	return b, said
}

// entriesOf returns what precedes the subjects of an index, the subjects in order, which the server writes in another
// one, and what follows them. The checksum covers the order, so it is left out.
func entriesOf(t *testing.T, index []byte) (entries []string) {
	t.Helper()
	at := 2
	next := func() int {
		n, size := binary.Uvarint(index[at:])
		if size <= 0 {
			t.Fatalf("the index %x is cut at %d", index, at)
		}
		at += size
		return int(n)
	}
	for range 6 {
		next()
	}
	subjects := make([]string, next())
	before := string(index[:at])
	for i := range subjects {
		from := at
		length := next()
		at += length
		for range 3 {
			next()
		}
		subjects[i] = string(index[from:at])
	}
	slices.Sort(subjects)
	return append(append(subjects, before), string(index[at:len(index)-recordSum]))
}

// TestLogIndexIsTheServers: the index that the check writes says what the server's says when it stops.
func TestLogIndexIsTheServers(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	b := mustOpen(t, dir, Interval)
	manyBlocks(t, b)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	servers, err := os.ReadFile(indexOf(dir))
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := blockFiles(filepath.Dir(indexOf(dir)))
	if err != nil || len(blocks) < 3 {
		t.Fatalf("blocks %v: %v", blocks, err)
	}
	e := &embedded{dir: dir, logger: testLogger(t)}
	scanned, index, err := e.readStream(t.Context(), storedStreams[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := e.replaceIndex(scanned, index); err != nil {
		t.Fatal(err)
	}
	ours, err := os.ReadFile(indexOf(dir))
	if err != nil || !slices.Equal(entriesOf(t, ours), entriesOf(t, servers)) {
		t.Errorf("the index has %d bytes, that of the server %d: %v", len(ours), len(servers), err)
	}
}

// TestAKilledLogStartsWithItsIndex: the server accepts the index that the check wrote, so it does not read the blocks.
// It warns of an index that it does not accept, and reads them.
func TestAKilledLogStartsWithItsIndex(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	b := mustOpen(t, dir, Interval)
	manyBlocks(t, b)
	killed, log := storeCopy(t, dir), allOf(t, b)
	for _, c := range []struct {
		name    string
		before  func(image string)
		written bool
		lost    int
	}{
		{"killed", func(string) {}, true, 0},
		{"killed after a start", func(image string) {
			must(t, os.WriteFile(indexOf(image), []byte("an earlier one"), 0o600))
		}, true, 0},
		{"killed in the middle of an append", func(image string) {
			blocks, err := blockFiles(filepath.Dir(indexOf(image)))
			must(t, err)
			newest := filepath.Join(filepath.Dir(indexOf(image)), blockName(blocks[len(blocks)-1]))
			info, err := os.Stat(newest)
			must(t, err)
			must(t, os.Truncate(newest, info.Size()-10))
		}, false, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			image := storeCopy(t, killed)
			c.before(image)
			b, said := openListening(t, image)
			written := true
			if _, err := os.Stat(indexOf(image)); err != nil {
				written = false
			}
			if refused := strings.Contains(said.String(), "Stream state"); written != c.written || refused {
				t.Errorf("the index is written: %t, want %t; the server refused it: %t\n%s",
					written, c.written, refused, said)
			}
			sameMessages(t, allOf(t, b), log[:len(log)-c.lost])
			head := uint64(len(log) - c.lost)
			if err := b.Append(t.Context(), head, filler(3)); err != nil {
				t.Error(err)
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
			b = mustOpen(t, image, Interval)
			if got := uint64(len(allOf(t, b))); b.Damage() != nil || got != head+3 {
				t.Errorf("after a clean stop: %d messages, want %d: %v", got, head+3, b.Damage())
			}
		})
	}
}
