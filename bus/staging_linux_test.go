package bus

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"maestro/events"
	"maestro/internal/disk"
)

// A server that is killed leaves its staging in memory; the next start of any store of the same user removes it, and
// leaves those alone whose servers live.
func TestStagingOfTheKilledIsSwept(t *testing.T) {
	memory, err := os.MkdirTemp("/dev/shm", "maestro-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(memory) })
	var at unix.Statfs_t
	if err := unix.Statfs(memory, &at); err != nil || at.Type != unix.TMPFS_MAGIC {
		t.Fatalf("/dev/shm is no tmpfs: %v", err)
	}
	t.Setenv("XDG_RUNTIME_DIR", memory)
	living := mustOpen(t, t.TempDir(), Interval)
	killed := mustOpen(t, t.TempDir(), Interval)
	// What a kill leaves: the directory and a batch in it, and nobody who holds it.
	left := killed.embedded.staging.dir
	if err := os.WriteFile(filepath.Join(left, "1.blk"), []byte("half a batch"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := killed.embedded.staging.lock.Close(); err != nil {
		t.Fatal(err)
	}
	third := mustOpen(t, t.TempDir(), Interval)
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("what the killed server left is there still: %v", err)
	}
	message := events.Message{Subject: "maestro.ev.a.b.c", Body: []byte("1")}
	for _, b := range []*Bus{living, third} {
		if err := b.Append(t.Context(), 0, []events.Message{message, message}); err != nil {
			t.Errorf("a batch of a server that lives: %v", err)
		}
	}
	// A clean stop sweeps too.
	if err := errors.Join(os.Mkdir(left, 0o700), third.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("a clean stop leaves what the killed server left: %v", err)
	}
	for _, b := range []*Bus{living, killed} {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	if entries, err := os.ReadDir(memory); err != nil || len(entries) > 0 {
		t.Errorf("servers that were stopped leave %v, %v", entries, err)
	}
}

// A server that was killed may have run with another XDG_RUNTIME_DIR than the next one, also of the same store.
func TestStagingElsewhereIsSwept(t *testing.T) {
	memory, err := os.MkdirTemp("/dev/shm", "maestro-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(memory) })
	runtimeDirs = memory
	t.Cleanup(func() { runtimeDirs = "/run/user" })
	own := filepath.Join(memory, strconv.Itoa(os.Getuid()))
	session := filepath.Join(memory, "session")
	t.Setenv("XDG_RUNTIME_DIR", session)
	dir := t.TempDir()
	var left []string
	for _, root := range []string{"/dev/shm", own, session} {
		for _, store := range []string{dir, t.TempDir()} {
			path := filepath.Join(root, stagingOf(stagingPrefix)+storeSum(store))
			left = append(left, filepath.Join(path, "1.blk"))
			if err := errors.Join(os.MkdirAll(path, 0o700), os.WriteFile(left[len(left)-1], nil, 0o600)); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(path) })
		}
	}
	b := mustOpen(t, dir, Interval)
	for _, path := range left {
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s is there still: %v", path, err)
		}
	}
	message := events.Message{Subject: "maestro.ev.a.b.c", Body: []byte("1")}
	if err := b.Append(t.Context(), 0, []events.Message{message, message}); err != nil {
		t.Error(err)
	}
}

// What older versions left in memory holds no lock: it is removed unless a process has a file of its store open.
func TestStagingWithoutALockIsSwept(t *testing.T) {
	memory, err := os.MkdirTemp("/dev/shm", "maestro-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(memory) })
	t.Setenv("XDG_RUNTIME_DIR", memory)
	dir := t.TempDir()
	used, left := filepath.Join(dir, "used"), filepath.Join(dir, "left")
	if err := os.MkdirAll(filepath.Join(used, "jetstream"), 0o700); err != nil {
		t.Fatal(err)
	}
	block, err := os.Create(filepath.Join(used, "jetstream", "1.blk"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = block.Close() })
	name := func(end string) string { return filepath.Join(memory, stagingOf(oldStagingPrefix)+end) }
	for _, end := range []string{storeSum(used), storeSum(left), "notes"} {
		if err := os.MkdirAll(filepath.Join(name(end), "batch"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	sweepStaging("")
	for end, want := range map[string]bool{storeSum(used): true, storeSum(left): false, "notes": true} {
		if _, err := os.Stat(name(end)); (err == nil) != want {
			t.Errorf("%s: %v", end, err)
		}
	}
	if err := block.Close(); err != nil {
		t.Fatal(err)
	}
	sweepStaging("")
	if _, err := os.Stat(name(storeSum(used))); !os.IsNotExist(err) {
		t.Errorf("it is there still: %v", err)
	}
}

// A server may replace its directory while another sweeps: the new one stays.
func TestAReplacedStagingIsNotSwept(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, stagingOf(stagingPrefix)+storeSum("a"))
	must(t, os.Mkdir(path, 0o700))
	var once sync.Once
	t.Cleanup(disk.Inject(func(operation, at string) error {
		if operation == "stat" && at == path { // it is open, and not locked yet
			once.Do(func() { must(t, errors.Join(os.Rename(path, path+"-old"), os.Mkdir(path, 0o700))) })
		}
		return nil
	}))
	sweep(root, stagingOf(stagingPrefix), "")
	if _, err := os.Lstat(path + "-old"); err != nil {
		t.Fatal("nothing was replaced")
	}
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("the directory of the server that lives is gone: %v", err)
	}
}
