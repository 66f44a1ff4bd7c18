package bus

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"maestro/engine"
	"maestro/events"
	"maestro/internal/testing/logtest"
)

var _ engine.Log = (*Bus)(nil)

// testTimeout is how long an append waits if a test loses its acknowledgement.
const testTimeout = 100 * time.Millisecond

// patience is how long a step may take on a busy disk.
const patience = 2 * time.Minute

type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("/proc/self/fd")) {
		w.t.Errorf("the log names a path that only this process can use: %s", p)
	}
	w.t.Log(string(p))
	return len(p), nil
}

func testLogger(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(testWriter{t}, nil))
}

func openAt(t *testing.T, dir string, d Durability) (*Bus, error) {
	t.Helper()
	b, err := Open(t.Context(), Options{
		Dir:        dir,
		Durability: d,
		Logger:     testLogger(t),
		Timeout:    patience,
	})
	if err == nil {
		t.Cleanup(func() {
			if err := b.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
	return b, err
}

func mustOpen(t *testing.T, dir string, d Durability) *Bus {
	t.Helper()
	b, err := openAt(t, dir, d)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// loseAcks makes the writer lose its acknowledgements. The function that it returns waits until one was sent: until
// then an append may still be on its way.
func loseAcks(t *testing.T, b *Bus) func() {
	w := b.writer
	if err := w.sub.Unsubscribe(); err != nil {
		t.Fatal(err)
	}
	lost, err := w.nc.SubscribeSync(w.inbox + "*")
	if err != nil {
		t.Fatal(err)
	}
	timeout := w.timeout
	w.answers, w.timeout = make(chan *nats.Msg, 64), testTimeout
	return func() {
		for {
			answer, err := lost.NextMsg(patience)
			if err != nil {
				t.Fatal(err)
			}
			if len(answer.Data) > 0 { // the first message of a batch is answered with nothing
				break
			}
		}
		if err := lost.Unsubscribe(); err != nil {
			t.Fatal(err)
		}
		w.timeout = timeout
		if w.sub, err = w.nc.ChanSubscribe(w.inbox+"*", w.answers); err != nil {
			t.Fatal(err)
		}
	}
}

// publish stores a message without a guard.
func publish(ctx context.Context, nc *nats.Conn, m events.Message) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	answer, err := nc.RequestWithContext(ctx, m.Subject, m.Body)
	if err != nil {
		return err
	}
	err = outcome(answer, 0, 1)
	if err != nil && !errors.Is(err, events.ErrUnknown) { // the sequence is not the expected one
		return err
	}
	return nil
}

// embeddedFixture is a log in a fresh directory.
func embeddedFixture(d Durability) func(t *testing.T) logtest.Fixture {
	return func(t *testing.T) logtest.Fixture {
		t.Parallel()
		b := mustOpen(t, t.TempDir(), d)
		const alone = "nobody else can publish into an embedded log; see TestNobodyElsePublishes"
		f := logtest.Fixture{
			Log:     b,
			LoseAck: func(t *testing.T) func() { return loseAcks(t, b) },
			Crash: func(t *testing.T) engine.Log {
				image := t.TempDir()
				copyStore(t, b.embedded.dir, image)
				return mustOpen(t, image, d)
			},
			Damage: func(t *testing.T, harm logtest.Harm) (engine.Log, error) {
				if err := b.Close(); err != nil {
					t.Fatal(err)
				}
				damageStore(t, b.embedded.messagesDir(StreamName), harm)
				again, err := openAt(t, b.embedded.dir, d)
				if err != nil {
					return nil, err
				}
				return again, nil
			},
			Cannot: map[string]string{
				"Stranger": alone,
				"Second":   alone,
				"StepDown": "one server has no other leader",
				"FillDisk": "the limit is the whole process's: TestFullDisk runs it in a child",
			},
		}
		return f
	}
}

// copyStore copies the files of a live server, as they are at this moment in the page cache: what kill -9 would leave.
// Links are copied as links.
// storeCopy returns a copy of a store, with nothing beside it.
func storeCopy(t *testing.T, from string) (to string) {
	t.Helper()
	to = filepath.Join(t.TempDir(), "store")
	copyStore(t, from, to)
	return to
}

func copyStore(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, relative)
		switch {
		case entry.IsDir():
			return os.MkdirAll(target, 0o700)
		case entry.Type()&fs.ModeSymlink != 0:
			link, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(link+"-gone", target)
		case entry.Type().IsRegular():
			// The kernel copies: the race detector would check every byte.
			if err := copyFile(path, target); !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// damageStore harms the block files of a stopped server.
func damageStore(t *testing.T, dir string, harm logtest.Harm) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var blocks []int
	for _, entry := range entries {
		if index, isBlock := blockIndex(entry.Name()); isBlock {
			blocks = append(blocks, index)
		}
	}
	slices.Sort(blocks)
	if len(blocks) < 2 {
		t.Fatalf("the log has %d blocks, the test needs an old one", len(blocks))
	}
	path := func(i int) string { return filepath.Join(dir, itoa(blocks[i])+".blk") }
	switch harm {
	case logtest.FlipOldBit:
		flip(t, path(0), func(size int64) int64 { return size / 2 })
	case logtest.FlipLastBit:
		flip(t, path(len(blocks)-1), func(size int64) int64 { return size - 100 })
	case logtest.CutTail:
		last := path(len(blocks) - 1)
		info, err := os.Stat(last)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(last, info.Size()-1000); err != nil {
			t.Fatal(err)
		}
	}
}

func flip(t *testing.T, path string, at func(size int64) int64) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	content[at(int64(len(content)))] ^= 1
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}
