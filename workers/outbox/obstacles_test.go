//go:build unix

package outbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"maestro/internal/files"

	"golang.org/x/sys/unix"
)

// obstacles are things that a session's process can put under a name that the outbox uses.
var obstacles = map[string]func(path string) error{
	"file":              func(path string) error { return os.WriteFile(path, []byte("x"), 0o600) },
	"pipe":              func(path string) error { return unix.Mkfifo(path, 0o600) },
	"link to nothing":   func(path string) error { return os.Symlink("nothing", path) },
	"link to directory": func(path string) error { return os.Symlink("../other", path) },
	"empty directory":   func(path string) error { return os.Mkdir(path, 0o700) },
	"locked directory":  func(path string) error { return os.Mkdir(path, 0o000) },
	"full directory": func(path string) error {
		return errors.Join(os.Mkdir(path, 0o700), os.WriteFile(filepath.Join(path, "x"), nil, 0o600))
	},
}

// Whatever a session's process puts in the place of the outbox's own files, the outbox delivers the entries with a
// valid proof in order, sets the others aside, and does not block.
func TestObstacles(t *testing.T) {
	bad := func(number uint64) string { return position{number, digestOf([]byte("x"))}.file() }
	for kind, put := range obstacles {
		for _, name := range []string{damagedDir, deliverLock, keepingLock, writtenFile, damagedDir + "/" + bad(1)} {
			t.Run(kind+" at "+name, func(t *testing.T) {
				dir := t.TempDir()
				root := home(t, dir)
				box := filepath.Join(dir, "outbox", "s")
				o := opened(t, root, "s")
				for _, err := range []error{
					os.MkdirAll(filepath.Dir(filepath.Join(box, name)), 0o700),
					os.MkdirAll(filepath.Join(dir, "outbox", "other"), 0o700),
					put(filepath.Join(box, name)),
				} {
					if err != nil {
						t.Fatal(err)
					}
				}
				plantedFile(t, box, bad(1), []byte("y"))
				keep(t, o, "first")
				plantedFile(t, box, bad(3), []byte("z"))
				keep(t, o, "second")
				sent, rejected, d := delivered(t, o)
				if !slices.Equal(sent, []string{"first", "second"}) || rejected != nil || len(d.Damaged) != 2 {
					t.Errorf("sent %v, rejected %v, %+v", sent, rejected, d)
				}
				for _, damaged := range d.Damaged {
					if _, err := os.Lstat(filepath.Join(box, damaged.File)); err != nil {
						t.Error(err)
					}
				}
				if aside, err := SetAside(t.Context(), root); err != nil || aside["s"] < 2 {
					t.Errorf("set aside: %v, %v", aside, err)
				}
				if left, err := os.ReadDir(filepath.Join(dir, "outbox", "other")); err != nil || len(left) > 0 {
					t.Errorf("a link was followed: %v, %v", left, err)
				}
			})
		}
	}
}

// A session's process cannot make the server wait by replacing directories.
func TestOutboxesThatAreNoDirectories(t *testing.T) {
	for kind, put := range obstacles {
		if kind == "empty directory" || kind == "full directory" || kind == "locked directory" {
			continue
		}
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			root := home(t, dir)
			if err := put(filepath.Join(dir, "outbox")); err != nil {
				t.Fatal(err)
			}
			if _, err := Sessions(t.Context(), root); err == nil {
				t.Error("no error")
			}
			outboxes := filepath.Join(dir, "outbox")
			err := errors.Join(os.Remove(outboxes), os.Mkdir(outboxes, 0o700), put(filepath.Join(outboxes, "s")))
			if err != nil {
				t.Fatal(err)
			}
			if sessions, err := Sessions(t.Context(), root); err != nil || !slices.Equal(sessions, []string{"s"}) {
				t.Errorf("%v, %v", sessions, err)
			}
			if _, err := SetAside(t.Context(), root); err == nil {
				t.Error("no error")
			}
			if removed, err := RemoveEmpty(t.Context(), root); err != nil || removed != 0 {
				t.Errorf("%d, %v", removed, err)
			}
		})
	}
}

// Empty outboxes are removed, however many there are, and no others.
func TestEmptyOutboxesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	root := home(t, dir)
	for i := range 3 * listed {
		if err := os.MkdirAll(filepath.Join(dir, "outbox", "empty"+strconv.Itoa(i)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	keep(t, opened(t, root, "waits"), "k")
	keep(t, opened(t, root, "delivered"), "k")
	delivered(t, opened(t, root, "delivered"))
	plantedFile(t, filepath.Join(dir, "outbox", "aside", damagedDir), "x", nil)
	plantedFile(t, filepath.Join(dir, "outbox", "litter"), "x", nil)
	plantedFile(t, filepath.Join(dir, "outbox", "no session"), "x", nil)
	unlock, err := directory{home: root, dir: "outbox/used"}.Lock(t.Context(), keepingLock)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if sessions, err := Sessions(t.Context(), root); err != nil || !slices.Equal(sessions, []string{
		"litter",
		"waits",
	}) {
		t.Errorf("something waits for %v, %v", sessions, err)
	}
	removed, err := RemoveEmpty(t.Context(), root)
	for err == nil && removed > 0 && removed < 3*listed+1 { // a directory that changes may be listed in part
		var more int
		if more, err = RemoveEmpty(t.Context(), root); more == 0 {
			break
		}
		removed += more
	}
	if err != nil || removed != 3*listed+1 {
		t.Errorf("%d, %v", removed, err)
	}
	var left []string
	entries, err := os.ReadDir(filepath.Join(dir, "outbox"))
	for _, entry := range entries {
		left = append(left, entry.Name())
	}
	if err != nil || !slices.Equal(left, []string{"aside", "litter", "no session", "used", "waits"}) {
		t.Errorf("left: %v, %v", left, err)
	}
}

// A command that is kept while its outbox is being removed is kept.
func TestKeepingWhileEmptyOutboxesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	root := home(t, dir)
	const keepers, each = 4, 50
	var group sync.WaitGroup
	done := make(chan struct{})
	for k := range keepers {
		group.Go(func() {
			o := opened(t, root, "s")
			for i := range each {
				if _, err := o.Keep(t.Context(), entry(fmt.Sprint(k, "-", i))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	go func() { group.Wait(); close(done) }()
	var sent []string
	ended := false
	for !ended {
		select {
		case <-done:
			ended = true // and once more
		default:
		}
		_, err := opened(t, root, "s").Deliver(t.Context(), time.Minute, func(_ context.Context, e Entry) error {
			sent = append(sent, e.Key)
			return nil
		}, rejectNone(t))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := RemoveEmpty(t.Context(), root); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(sent)
	if sent = slices.Compact(sent); len(sent) != keepers*each {
		t.Errorf("delivered %d of %d", len(sent), keepers*each)
	}
	// A process that another test starts has the open locks of this one for a moment, until it runs its program.
	for until := time.Now().Add(time.Minute); ; {
		if _, err := RemoveEmpty(t.Context(), root); err != nil {
			t.Fatal(err)
		}
		_, err := os.Lstat(filepath.Join(dir, "outbox", "s"))
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if time.Now().After(until) {
			names, _ := os.ReadDir(filepath.Join(dir, "outbox", "s"))
			t.Fatalf("it is still there, with %v: %v", names, err)
		}
	}
}

// A lock that another process never releases delays only its own session, for as long as the caller allows.
func TestHeldLock(t *testing.T) {
	root := home(t, t.TempDir())
	unlock, err := directory{home: root, dir: "outbox/s"}.Lock(t.Context(), deliverLock)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	var busy *BusyError
	if _, err := opened(t, root, "s").Deliver(ctx, time.Minute, nil, nil); !errors.As(err, &busy) {
		t.Errorf("got %v", err)
	}
}

// A lock on a file that was removed after it was opened does not count: the next process locks another file.
func TestRemovedLock(t *testing.T) {
	dir := t.TempDir()
	d := directory{home: home(t, dir), dir: "outbox/s"}
	f, err := d.lockFile(keepingLock)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	if err := os.Remove(filepath.Join(dir, "outbox", "s", keepingLock)); err != nil {
		t.Fatal(err)
	}
	if err := d.lock(keepingLock, f); !errors.Is(err, files.ErrHeld) {
		t.Errorf("got %v", err)
	}
	unlock, err := d.Lock(t.Context(), keepingLock)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}
