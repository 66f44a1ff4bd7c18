package bus

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"maestro/events"
	"maestro/internal/disk"
	"maestro/internal/testing/race"
)

var (
	diskFaults = flag.Int("disk-faults", 2,
		"how many operations of each kind of start fail, each in a start of its own; 0: all")
	diskSeed = flag.Uint64("disk-seed", 1, "which ones, if not all")
)

// failures are the errors with which a file operation on a working disk may fail.
var failures = []error{syscall.EIO, syscall.EMFILE, syscall.EACCES, syscall.ENOSPC}

// failure is how an operation fails in a sweep.
type failure struct {
	why error
	// lasting means that the operation fails again each time it is tried on the same path.
	lasting bool
}

func (f failure) String() string {
	if f.why == nil {
		return "no failure"
	}
	if f.lasting {
		return f.why.Error() + ", lasting"
	}
	return f.why.Error()
}

// ways are the failures of a sweep.
var ways = []failure{
	{why: syscall.EIO},
	{why: syscall.EMFILE},
	{why: syscall.EACCES},
	{why: syscall.ENOSPC},
	{syscall.EIO, true},
	{syscall.EACCES, true},
}

// smallStore is the store of a killed server, with few and small blocks, and its contents.
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

// newDividedStore is newSmallStore with several blocks in each stream.
func newDividedStore(t *testing.T) smallStore {
	t.Helper()
	s := newSmallStore(t)
	inBlocks(t, s.dir, 3)
	return s
}

// has checks that a bus serves everything that was in the store.
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

// loss is what nats-server does to a block in the start in which an operation fails; if how is "", it does nothing.
type loss struct{ stream, how string }

func (l loss) String() string {
	if l.how == "" {
		return "nothing is lost"
	}
	return l.stream + " " + l.how
}

// losses are the losses of a sweep.
func losses() []loss {
	all := []loss{{}}
	for _, stored := range storedStreams {
		for how := range spoiled {
			all = append(all, loss{stored.name, how})
		}
	}
	slices.SortFunc(all, func(a, b loss) int { return strings.Compare(a.String(), b.String()) })
	return all
}

// begin makes the loss happen in the next start, until end is called.
func (l loss) begin(t *testing.T, image string) (end func()) {
	t.Helper()
	if l.how == "" {
		return func() {}
	}
	newest := newestOf(t, image, l.stream)
	return onceSpared(image, func() { must(t, spoiled[l.how](newest)) })
}

// ways are the failures that a sweep adds to a loss. A full disk is not among them: it has no room for the copy that
// would undo the loss.
func (l loss) ways() []failure {
	if l.how == "" {
		return ways
	}
	return []failure{{why: syscall.EIO}, {syscall.EIO, true}}
}

func (s smallStore) options(t *testing.T, image string) Options {
	t.Helper()
	last := uint64(len(s.log))
	return Options{
		Dir:        image,
		Durability: Always,
		Witnessed:  last,
		HeadFile:   last,
		Logger:     testLogger(t),
		Timeout:    patience,
	}
}

// failing makes the nth operation fail, and counts all operations.
func failing(nth int, how failure) (counted func() (operations int, which string), restore func()) {
	var mu sync.Mutex
	operations, which := 0, ""
	restore = disk.Inject(func(operation, path string) error {
		mu.Lock()
		defer mu.Unlock()
		this := operation + " " + path
		if operations++; operations != nth && (!how.lasting || this != which) {
			return nil
		}
		which = this
		return how.why
	})
	return func() (int, string) {
		mu.Lock()
		defer mu.Unlock()
		return operations, which
	}, restore
}

// chosen returns which of this many operations fail.
func chosen(operations int) []int {
	all := rand.New(rand.NewPCG(*diskSeed, 0)).Perm(operations) //nolint:gosec // a test that can be repeated
	if *diskFaults > 0 && *diskFaults < operations {
		all = all[:*diskFaults]
	}
	slices.Sort(all)
	return all
}

// setAsides returns what was set aside of a store.
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

// eachFails makes one operation after another fail: try runs with the nth failing, and returns how many operations
// there were.
func eachFails(t *testing.T, what string, lost loss, try func(t *testing.T, nth int, how failure) int) {
	t.Helper()
	operations := try(t, 0, failure{})
	t.Logf("%s, %s: %d operations", what, lost, operations)
	hows := lost.ways()
	for _, n := range chosen(operations * len(hows)) {
		nth, how := n/len(hows)+1, hows[n%len(hows)]
		t.Run(fmt.Sprintf("%s, %s, %d %v", what, lost, nth, how), func(t *testing.T) { try(t, nth, how) })
	}
}

// If any file operation of a start fails, and nats-server loses a block in that start, the next start still has
// everything.
func TestStartSurvivesDiskFault(t *testing.T) {
	race.Without(t)
	s := newDividedStore(t)
	for kind, makeStore := range storeKinds {
		model := filepath.Join(t.TempDir(), "model", "store")
		copyStore(t, s.dir, model)
		makeStore(t, s, model)
		for _, lost := range losses() {
			if kind == "second names" && lost.stream == BlobStream {
				continue // its blocks already have only their second names
			}
			eachFails(t, kind, lost, func(t *testing.T, nth int, how failure) int {
				t.Helper()
				return s.start(t, model, lost, nth, how)
			})
		}
	}
}

// start starts a server on a copy of a store while its nth operation fails, and again.
func (s smallStore) start(t *testing.T, model string, lost loss, nth int, how failure) (operations int) {
	t.Helper()
	image := storeCopy(t, model)
	end := lost.begin(t, image)
	counted, restore := failing(nth, how)
	b, err := Open(t.Context(), s.options(t, image))
	operations, which := counted()
	restore()
	end()
	if err == nil {
		if damage := b.Damage(); damage == nil {
			s.has(t, b)
		} else if unread := (*UnreadError)(nil); !errors.As(damage, &unread) {
			t.Errorf("the store is taken for damaged: %v", damage)
		} else {
			must(t, b.AwaitReadable(t.Context(), once()))
		}
		must(t, b.Close())
	} else if !hasSpares(model) {
		s.isRefused(t, image, err)
	}
	s.startsAgain(t, image, fmt.Sprintf("operation %d, %s: %v", nth, which, how))
	return operations
}

// startsAgain checks that the start after a failure has everything, and leaves nothing behind.
func (s smallStore) startsAgain(t *testing.T, image, failed string) {
	t.Helper()
	b, err := Open(t.Context(), s.options(t, image))
	if err != nil {
		t.Fatalf("%s: the next start: %v", failed, err)
	}
	s.has(t, b)
	must(t, b.Close())
	leavesNothing(t, image)
	if t.Failed() {
		t.Log(failed)
	}
}

// isRefused checks a store after a start that was refused: all blocks are in their places, or the error says where they
// are.
func (s smallStore) isRefused(t *testing.T, image string, err error) {
	t.Helper()
	if strings.Contains(err.Error(), "/proc/self/fd") {
		t.Errorf("the error names a path that only this process can use: %v", err)
	}
	if hasSpares(image) && !strings.Contains(err.Error(), spareName) {
		t.Errorf("second names are left, and the error does not say so: %v", err)
	}
}

func hasSpares(image string) bool {
	_, err := os.Lstat(filepath.Join(image, spareName))
	return err == nil
}

func leavesNothing(t *testing.T, image string) {
	t.Helper()
	if aside := setAsides(t, image); len(aside) > 0 {
		t.Errorf("set aside: %v", aside)
	}
	if hasSpares(image) {
		t.Error("second names are left")
	}
}

// The same applies when a running server reopens its store: the next attempt has everything, without a restart.
func TestReopenSurvivesDiskFault(t *testing.T) {
	race.Without(t)
	s := newDividedStore(t)
	for _, lost := range losses() {
		eachFails(t, "reopened", lost, func(t *testing.T, nth int, how failure) int {
			t.Helper()
			image := storeCopy(t, s.dir)
			b, err := Open(t.Context(), s.options(t, image))
			must(t, err)
			end := lost.begin(t, image)
			counted, restore := failing(nth, how)
			_, err = b.reopen(t.Context())
			operations, which := counted()
			restore()
			end()
			if err != nil {
				s.isRefused(t, image, err)
				_, err = b.reopen(t.Context())
			}
			if err != nil {
				t.Errorf("the next attempt: %v", err)
			} else {
				s.has(t, b)
			}
			must(t, b.Close())
			s.startsAgain(t, image, fmt.Sprintf("operation %d, %s: %v", nth, which, how))
			return operations
		})
	}
}

// If any file operation of a running server fails, nothing is taken for damaged or moved, and the server continues.
func TestRunningServerSurvivesDiskFault(t *testing.T) {
	s := newDividedStore(t)
	image := storeCopy(t, s.dir)
	eachFails(t, "running", loss{}, func(t *testing.T, nth int, how failure) int {
		t.Helper()
		b, err := Open(t.Context(), s.options(t, image))
		must(t, err)
		defer func() { must(t, b.Close()) }()
		beside, err := os.Open(filepath.Dir(image))
		must(t, err)
		defer func() { must(t, beside.Close()) }()
		through := fmt.Sprintf("/proc/self/fd/%d", beside.Fd())
		must(t, os.MkdirAll(filepath.Join(filepath.Dir(image), "snapshots"), 0o700))
		var said []error
		counted, restore := failing(nth, how)
		head := b.HeadFile(filepath.Join(through, "head"))
		pictures, err := OpenSnapshots(filepath.Join(through, "snapshots"))
		if said = append(said, err); err == nil {
			_, listErr := pictures.List()
			said = append(said, listErr, pictures.Save(events.Snapshot{Head: events.Head{Sequence: 7}}),
				pictures.Prune())
			_, err = pictures.Load(7)
			said = append(said, err)
		}
		head.Record(events.Head{Sequence: 9})
		here := b.Here()
		said = append(said, b.Read(t.Context(), 1, uint64(len(s.log)), func(events.Message) error { return nil }))
		for digest := range s.blobs {
			_, err := b.Blob(t.Context(), digest)
			said = append(said, err)
		}
		said = append(said, b.recheck(t.Context(), checkedNote{}, time.Now, func() error { return nil }), head.Close())
		operations, which := counted()
		restore()
		for _, err := range append(said, here, b.Damage()) {
			if err != nil && (strings.Contains(err.Error(), "/proc/self/fd") || errors.Is(err, events.ErrReadOnly)) {
				t.Errorf("the server reports %v", err)
			}
		}
		must(t, here, b.Damage(), b.Here())
		b.mender.done.Wait() // what could not be read is read again
		s.has(t, b)
		if t.Failed() {
			t.Logf("operation %d, %s: %v", nth, which, how)
		}
		return operations
	})
}
