package bus

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"maestro/events"
	"maestro/internal/disk"
)

var (
	diskFaults = flag.Int("disk-faults", 6, "how many operations of each kind of start fail, each in a start of its own; 0: all")
	diskSeed   = flag.Uint64("disk-seed", 1, "which ones, if not all")
)

// failures are the errors that a file operation of a working disk may end with.
var failures = []error{syscall.EIO, syscall.EMFILE, syscall.EACCES, syscall.ENOSPC}

// smallStore is what a killed server left, in few and small blocks, and what is in it.
type smallStore struct {
	dir     string
	log     []events.Message
	blobs   map[string][]byte
	denials int
}

func newSmallStore(t *testing.T) smallStore {
	t.Helper()
	b := mustOpen(t, filepath.Join(t.TempDir(), "store"), Always)
	s := smallStore{dir: filepath.Join(t.TempDir(), "store"), blobs: map[string][]byte{}, denials: 3}
	filled(t, b, 30)
	for i := range 4 {
		content := bytes.Repeat([]byte{byte('a' + i)}, 3000+i)
		digest, err := b.PutBlob(t.Context(), content)
		must(t, err)
		s.blobs[digest] = content
	}
	for i := range s.denials {
		record := events.StoredDenial{Actor: "/users/u", Slot: fmt.Sprint("s-", i), Body: []byte(`{}`)}
		must(t, b.StoreDenials(t.Context(), []events.StoredDenial{record}))
	}
	s.log = allOf(t, b)
	copyStore(t, b.embedded.dir, s.dir)
	must(t, b.Close())
	return s
}

// has checks that a store is served with all that was in it.
func (s smallStore) has(t *testing.T, b *Bus) {
	t.Helper()
	holds(t, b, len(s.log), len(s.blobs), s.denials)
	sameMessages(t, allOf(t, b), s.log)
	for digest, content := range s.blobs {
		if got, err := b.Blob(t.Context(), digest); err != nil || !bytes.Equal(got, content) {
			t.Errorf("the text %s is %d bytes, %v", digest, len(got), err)
		}
	}
}

// storeKinds are the stores that a start may find.
var storeKinds = map[string]func(t *testing.T, s smallStore, image string){
	"killed": func(*testing.T, smallStore, string) {},
	"stopped": func(t *testing.T, s smallStore, image string) {
		t.Helper()
		b, err := Open(t.Context(), s.options(t, image))
		must(t, err)
		must(t, b.Close())
	},
	"second names": func(t *testing.T, _ smallStore, image string) {
		t.Helper()
		hides(t, image, BlobStream, "gone")
	},
}

func (s smallStore) options(t *testing.T, image string) Options {
	t.Helper()
	last := uint64(len(s.log))
	return Options{
		Dir:        image,
		Durability: Always,
		Witnessed:  last,
		HeadFile:   last,
		Logger:     slog.New(slog.NewTextHandler(namesOnlyRealPaths{testWriter{t}}, nil)),
		Timeout:    patience,
	}
}

// namesOnlyRealPaths fails a test whose log names a path that means nothing outside the process.
type namesOnlyRealPaths struct{ testWriter }

func (w namesOnlyRealPaths) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("/proc/self/fd")) {
		w.t.Errorf("the log says %s", line)
	}
	return w.testWriter.Write(line)
}

// failing has the nth operation fail, and counts all.
func failing(nth int, why error) (counted func() (operations int, which string), restore func()) {
	var mu sync.Mutex
	operations, which := 0, ""
	restore = disk.Inject(func(operation, path string) error {
		mu.Lock()
		defer mu.Unlock()
		if operations++; operations != nth {
			return nil
		}
		which = operation + " " + path
		return why
	})
	return func() (int, string) {
		mu.Lock()
		defer mu.Unlock()
		return operations, which
	}, restore
}

// chosen gives the operations of so many that fail.
func chosen(operations int) []int {
	all := rand.New(rand.NewPCG(*diskSeed, 0)).Perm(operations) //nolint:gosec // a test that can be repeated
	if *diskFaults > 0 && *diskFaults < operations {
		all = all[:*diskFaults]
	}
	slices.Sort(all)
	return all
}

// setAsides gives what was set aside of a store.
func setAsides(t *testing.T, image string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(image))
	must(t, err)
	for _, entry := range entries {
		if strings.Contains(entry.Name(), ".damaged-") {
			names = append(names, entry.Name())
		}
	}
	return names
}

// Any file operation of a start may fail: whatever comes of that start, the next one has everything.
func TestAStartOnWhichAnOperationFailsLosesNothing(t *testing.T) {
	s := newSmallStore(t)
	for kind, makeStore := range storeKinds {
		model := filepath.Join(t.TempDir(), "model", "store")
		copyStore(t, s.dir, model)
		makeStore(t, s, model)
		try := func(t *testing.T, nth int, why error) int {
			t.Helper()
			image := filepath.Join(t.TempDir(), "store")
			copyStore(t, model, image)
			counted, restore := failing(nth, why)
			b, err := Open(t.Context(), s.options(t, image))
			operations, which := counted()
			restore()
			if err == nil {
				if damage := b.Damage(); damage == nil {
					s.has(t, b)
				} else if unread := (*UnreadError)(nil); !errors.As(damage, &unread) {
					t.Errorf("it is taken for damaged: %v", damage)
				} else {
					must(t, b.AwaitReadable(t.Context(), once()))
				}
				must(t, b.Close())
			} else if strings.Contains(err.Error(), "/proc/self/fd") {
				t.Errorf("it names a path that means nothing to others: %v", err)
			}
			if b, err = Open(t.Context(), s.options(t, image)); err != nil {
				t.Fatalf("%s: the next start: %v", which, err)
			}
			s.has(t, b)
			must(t, b.Close())
			if aside := setAsides(t, image); len(aside) > 0 {
				t.Errorf("set aside: %v", aside)
			}
			if _, err := os.Lstat(filepath.Join(image, spareName)); err == nil {
				t.Error("second names are left")
			}
			if t.Failed() {
				t.Logf("operation %d, %s: %v", nth, which, why)
			}
			return operations
		}
		operations := try(t, 0, nil)
		t.Logf("%s: %d operations", kind, operations)
		for _, n := range chosen(operations * len(failures)) {
			nth, why := n/len(failures)+1, failures[n%len(failures)]
			t.Run(fmt.Sprintf("%s %d %v", kind, nth, why), func(t *testing.T) { try(t, nth, why) })
		}
	}
}

// The same of a running server that is opened again: the next try has everything, without a restart.
func TestAReopenOnWhichAnOperationFailsLosesNothing(t *testing.T) {
	s := newSmallStore(t)
	try := func(t *testing.T, nth int, why error) int {
		t.Helper()
		image := filepath.Join(t.TempDir(), "store")
		copyStore(t, s.dir, image)
		b, err := Open(t.Context(), s.options(t, image))
		must(t, err)
		counted, restore := failing(nth, why)
		_, err = b.reopen(t.Context())
		operations, which := counted()
		restore()
		if err != nil {
			if strings.Contains(err.Error(), "/proc/self/fd") {
				t.Errorf("it names a path that means nothing to others: %v", err)
			}
			_, err = b.reopen(t.Context())
		}
		if err != nil {
			t.Errorf("the next try: %v", err)
		} else {
			s.has(t, b)
		}
		must(t, b.Close())
		if b, err = Open(t.Context(), s.options(t, image)); err != nil {
			t.Fatalf("%s: the next start: %v", which, err)
		}
		s.has(t, b)
		must(t, b.Close())
		if aside := setAsides(t, image); len(aside) > 0 {
			t.Errorf("set aside: %v", aside)
		}
		if t.Failed() {
			t.Logf("operation %d, %s: %v", nth, which, why)
		}
		return operations
	}
	operations := try(t, 0, nil)
	t.Logf("%d operations", operations)
	for _, n := range chosen(operations * len(failures)) {
		nth, why := n/len(failures)+1, failures[n%len(failures)]
		t.Run(fmt.Sprintf("%d %v", nth, why), func(t *testing.T) { try(t, nth, why) })
	}
}
