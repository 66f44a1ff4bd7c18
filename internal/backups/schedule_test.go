package backups

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"maestro/events"
	"maestro/internal/files"
)

// machine is a machine on which a server runs now and then, in the time of synctest.
type machine struct {
	t    *testing.T
	home string

	mu      sync.Mutex // guards what the server and the test share
	dir     Dir
	head    events.Head
	health  error
	fail    error
	partial bool
	free    uint64
	size    int
	skew    time.Duration // of the wall clock
	made    int
	other   map[string]bool // backups of events that are not in the log
}

const (
	signer  = "ed25519:0123456789abcdef000000000000000000000000000000000000000000000000"
	another = "ed25519:fedcba9876543210000000000000000000000000000000000000000000000000"
)

func (m *machine) lock() (unlock func()) {
	m.mu.Lock()
	return m.mu.Unlock
}

func newMachine(t *testing.T) *machine {
	home := filepath.Join(t.TempDir(), "home")
	return &machine{
		t:    t,
		home: home,
		dir:  At(home, "", signer),
		free: 1 << 40,
		size: 1000,
	}
}

func (m *machine) schedule() *Schedule {
	return New(Config{
		Dir:   m.dir,
		Of:    []string{m.home},
		Every: 24 * time.Hour,
		Keep:  7,
		Head: func() (events.Head, error) {
			defer m.lock()()
			return m.head, m.health
		},
		Write: func(_ context.Context, f *os.File, _ events.Head, _ time.Time) (bool, error) {
			defer m.lock()()
			if _, err := f.Write(make([]byte, m.size)); err != nil {
				return false, err
			}
			if m.fail == nil {
				m.made++
			}
			return m.partial, m.fail
		},
		Check: func(_ context.Context, made Made) error {
			content, err := os.ReadFile(made.Path)
			if err == nil && len(content) < m.size {
				err = errors.New("cut")
			}
			return err
		},
		Holds: func(_ context.Context, made Made) (bool, error) {
			return !m.other[made.Path], nil
		},
		Estimate: func() int64 { return 500 },
		Free: func(string) (uint64, bool) {
			defer m.lock()()
			return m.free, true
		},
		Now:    func() time.Time { return time.Now().Add(m.skew) },
		After:  time.After,
		Logger: slog.New(slog.DiscardHandler),
	})
}

// on runs a server for a while, during which the log grows, and returns the schedule as it was at the end.
func (m *machine) on(d time.Duration) *Schedule {
	s := m.schedule()
	ctx, cancel := context.WithCancel(m.t.Context())
	done := make(chan struct{})
	go func() { defer close(done); s.Run(ctx) }()
	for left := d; left > 0; left -= time.Hour {
		unlock := m.lock()
		m.head.Sequence++
		m.head.Hash[0]++
		unlock()
		time.Sleep(min(left, time.Hour))
		synctest.Wait()
	}
	cancel()
	<-done
	return s
}

func (m *machine) list() []Made {
	m.t.Helper()
	list, err := m.dir.List()
	if err != nil {
		m.t.Fatal(err)
	}
	return list
}

func TestDailyBackup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(t)
		m.on(10*24*time.Hour + 30*time.Minute)
		if m.made != 11 {
			t.Errorf("%d backups in a little over ten days, expected one at once and one a day", m.made)
		}
		list := m.list()
		if len(list) != 7 || time.Since(list[0].Time) > 24*time.Hour ||
			list[0].Time.Sub(list[6].Time) < 6*24*time.Hour {
			t.Errorf("kept: %+v, expected those of the last seven days", list)
		}
		if info, err := os.Stat(m.dir.path); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("the directory has mode %v, %v", info.Mode(), err)
		}
	})
}

func TestBackupsOnAMachineThatRunsTwoHoursADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(t)
		for range 10 {
			m.on(2 * time.Hour)
			time.Sleep(22 * time.Hour)
		}
		if m.made != 10 {
			t.Errorf("%d backups in ten days", m.made)
		}
	})
}

func TestRestartMakesNoBackup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(t)
		for range 20 {
			m.on(30 * time.Minute)
		}
		if m.made != 1 {
			t.Errorf("%d backups in ten hours with a start every half hour", m.made)
		}
	})
}

func TestUnchangedLogNeedsNoBackup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(t)
		s := m.schedule()
		for range 3 { // an empty log
			if _, err := s.once(t.Context()); err != nil || m.made != 0 {
				t.Fatalf("%d backups of an empty log, %v", m.made, err)
			}
			time.Sleep(48 * time.Hour)
		}
		m.head = events.Head{Sequence: 5}
		for range 3 {
			if _, err := s.once(t.Context()); err != nil || m.made != 1 {
				t.Fatalf("%d backups of a log that does not grow, %v", m.made, err)
			}
			time.Sleep(48 * time.Hour)
		}
		m.head.Hash[0] = 1 // another log of the same length
		if _, err := s.once(t.Context()); err != nil || m.made != 2 {
			t.Fatalf("%d backups after the log was replaced, %v", m.made, err)
		}
	})
}

func TestFailedBackupIsReportedAndRetried(t *testing.T) {
	for name, c := range map[string]struct {
		fail, cure func(*machine)
		says       string
	}{
		"write": {
			func(m *machine) { m.fail = errors.New("the disk broke") }, func(m *machine) { m.fail = nil },
			"the disk broke",
		},
		"room": {func(m *machine) { m.free = reserve }, func(m *machine) { m.free = 1 << 40 }, "256 MiB are free"},
		"damaged": {
			func(m *machine) { m.health = events.ErrReadOnly }, func(m *machine) { m.health = nil },
			"read-only",
		},
		"link into the home": {func(m *machine) {
			err := errors.Join(os.MkdirAll(filepath.Join(m.home, "in"), 0o700),
				os.Symlink(filepath.Join(m.home, "in"), m.dir.path))
			if err != nil {
				m.t.Fatal(err)
			}
		}, func(m *machine) {
			if err := os.Remove(m.dir.path); err != nil {
				m.t.Fatal(err)
			}
		}, "start the server with another --backup-dir"},
		"directory": {func(m *machine) {
			if err := os.WriteFile(m.dir.path, nil, 0o600); err != nil {
				m.t.Fatal(err)
			}
		}, func(m *machine) {
			if err := os.Remove(m.dir.path); err != nil {
				m.t.Fatal(err)
			}
		}, "maestro"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMachine(t)
				c.fail(m)
				s := m.schedule()
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() { defer close(done); s.Run(ctx) }()
				unlock := m.lock()
				m.head.Sequence = 1
				unlock()
				time.Sleep(time.Hour)
				synctest.Wait()
				unlock = m.lock()
				if m.made != 0 || s.Problem() == "" || name != "directory" && !strings.Contains(s.Problem(), c.says) {
					t.Errorf("%d made, the problem is %q", m.made, s.Problem())
				}
				if left, err := filepath.Glob(filepath.Join(m.dir.path, "*")); err != nil || len(left) > 0 {
					t.Errorf("left behind: %v, %v", left, err)
				}
				c.cure(m)
				unlock()
				time.Sleep(look)
				synctest.Wait()
				unlock = m.lock()
				if m.made != 1 || s.Problem() != "" {
					t.Errorf("after the correction %d were made, the problem is %q", m.made, s.Problem())
				}
				unlock()
				cancel()
				<-done
			})
		})
	}
}

func TestPartialBackupsDisplaceNoCompleteOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(t)
		m.on(3 * 24 * time.Hour)
		whole := m.made
		m.partial = true
		s := m.on(20 * 24 * time.Hour)
		kept := map[bool]int{}
		for _, made := range m.list() {
			kept[made.Partial]++
		}
		if kept[false] != whole || kept[true] != 7 || !strings.Contains(s.Problem(), "lacks long texts") {
			t.Errorf("%d complete and %d partial backups are kept, of %d and 20; the problem is %q",
				kept[false], kept[true], whole, s.Problem())
		}
	})
}

func TestWrongClockDoesNotStopBackups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(t)
		m.skew = 30 * 365 * 24 * time.Hour
		m.on(time.Hour)
		m.skew = 0
		m.on(49 * time.Hour)
		if m.made != 4 {
			t.Errorf("%d backups: one by the wrong clock, and one at once and after each day since", m.made)
		}
	})
}

// Backups that a wrong clock dated in the future are removed first: they do not displace new ones.
func TestFutureBackupsDisplaceNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(t)
		m.skew = 30 * 365 * 24 * time.Hour
		m.on(9*24*time.Hour + time.Hour)
		m.skew = 0
		for days := range 8 {
			m.on(24 * time.Hour)
			entries, err := os.ReadDir(m.dir.path)
			if err != nil || len(entries) != 7 {
				t.Fatalf("after %d days there are %d files, %v", days+1, len(entries), err)
			}
			right := 0
			for _, made := range m.list() {
				if !made.Time.After(time.Now()) {
					right++
				}
			}
			if right < min(days+1, 7) {
				t.Errorf("after %d days %d backups of the right clock are there", days+1, right)
			}
		}
	})
}

// write puts a file into a directory.
func write(t *testing.T, dir, name string, size int) {
	t.Helper()
	if err := errors.Join(
		os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o600),
	); err != nil {
		t.Fatal(err)
	}
}

func TestDirTouchesOnlyItsOwnFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(t)
		there := map[string]bool{
			"notes.txt": true, "maestro-mine.tar.gz": true,
			".making-mynotes": true, ".making-123": true, ".making-fedcba9876543210-123": true,
			".making-0123456789abcdef-notes": true, ".making-0123456789abcdef-": true,
			".making-0123456789abcdef-123":                                        false,
			"maestro-20010101T000000Z-1-00000000.tar.gz":                          true, // of an earlier version
			"maestro-fedcba9876543210-20010101T000000Z-1-00000000.tar.gz":         true,
			"maestro-0123456789abcdef-20010101T000000Z-1-00000000.tar.gz":         false,
			"maestro-0123456789abcdef-20010101T000000Z-1-00000000.tar.gz.copy":    true,
			"maestro-0123456789abcdef-20010101T000000Z-1-00000000-partial.tar.gz": true, // the only one of its kind
		}
		for name := range there {
			write(t, m.dir.path, name, m.size)
		}
		m.on(20 * 24 * time.Hour)
		for name, there := range there {
			if _, err := os.Stat(filepath.Join(m.dir.path, name)); (err == nil) != there {
				t.Errorf("%s is there: %t", name, err == nil)
			}
		}
		for _, made := range m.list() {
			if info, err := os.Stat(made.Path); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s has mode %v, %v", made.Path, info.Mode(), err)
			}
		}
	})
}

// Two homes may have the same --backup-dir, and a new home may be where a lost one was.
func TestHomesThatShareADirectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lost := newMachine(t)
		lost.on(7*24*time.Hour - time.Hour)
		kept := lost.list()
		fresh := newMachine(t)
		fresh.dir = At("", lost.dir.path, another)
		fresh.on(20 * 24 * time.Hour)
		if fresh.made != 20 || len(fresh.list()) != 7 {
			t.Errorf("the fresh home made %d backups in 20 days and has %d", fresh.made, len(fresh.list()))
		}
		if left := lost.list(); len(kept) != 7 || !slices.Equal(left, kept) {
			t.Errorf("of the lost home's %d backups, these are left: %+v", len(kept), left)
		}
	})
}

// An unreadable backup displaces no good one, delays no new one, and is reported.
func TestDamagedBackupsDisplaceNoGoodOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(t)
		m.on(24 * time.Hour)
		good := m.list()
		for i := range 10 {
			head := events.Head{Sequence: 1000 + uint64(i)}
			write(t, m.dir.path, m.dir.nameOf(head, time.Now().Add(time.Duration(i)*time.Minute), false), m.size-1)
		}
		s := m.on(6*24*time.Hour - time.Hour)
		if m.made != 7 {
			t.Errorf("%d backups in seven days", m.made)
		}
		list := m.list()
		if len(list) != 17 || len(good) != 1 || !slices.Contains(list, good[0]) {
			t.Errorf("%d files are there: %+v; the good one was %+v", len(list), list, good)
		}
		if !strings.Contains(s.Problem(), "damaged or not signed by this home: 10 (") {
			t.Errorf("the problem is %q", s.Problem())
		}
	})
}

// A bad backup is named until it is removed or corrected: whether or not the log contains its head, from soon after
// each start, and while no new backup can be made.
func TestBadBackupIsNamedUntilFixed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(t)
		m.on(6*24*time.Hour + 30*time.Minute)
		list := m.list()
		inLog, elsewhere := list[3].Path, list[5].Path
		m.other = map[string]bool{elsewhere: true}
		resize := func(path string, size int64) {
			t.Helper()
			if err := os.Truncate(path, size); err != nil {
				t.Fatal(err)
			}
		}
		named := func(when string, s *Schedule, want ...string) {
			t.Helper()
			for _, made := range list {
				is := strings.Contains(s.Problem(), made.Path)
				if is != slices.Contains(want, made.Path) {
					t.Errorf("%s: %s is named: %t, in %q", when, made.Path, is, s.Problem())
				}
			}
		}
		resize(inLog, int64(m.size)-1)
		resize(elsewhere, int64(m.size)-1)
		named("soon after a start, before a backup is due", m.on(2*time.Hour), inLog, elsewhere)
		named("after backups that removed old ones", m.on(3*24*time.Hour), inLog, elsewhere)
		m.free = 0
		named("while there is no room", m.on(3*24*time.Hour), inLog, elsewhere)
		m.free = 1 << 40
		resize(inLog, int64(m.size))
		named("after one was put right", m.on(26*time.Hour), elsewhere)
		if err := os.Remove(elsewhere); err != nil {
			t.Fatal(err)
		}
		named("after the other was deleted", m.on(2*time.Hour))

		list = m.list()
		resize(list[2].Path, 0)
		s := m.schedule()
		looks := func() {
			t.Helper()
			for range list {
				if _, err := s.once(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		looks()
		named("while a server runs", s, list[2].Path)
		resize(list[2].Path, int64(m.size))
		looks()
		named("after it was put right while the server runs", s)
	})
}

// After a restore of an older backup, the later events exist only in the backups that were made after it.
func TestBackupsOfLaterEventsAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(t)
		m.on(3*24*time.Hour + 30*time.Minute)
		m.other = map[string]bool{}
		for _, made := range m.list()[:2] {
			m.other[made.Path] = true
		}
		s := m.on(20 * 24 * time.Hour)
		list := m.list()
		if len(list) != 9 || s.Problem() != "" {
			t.Errorf("kept: %+v, with the problem %q; expected the two and seven more", list, s.Problem())
		}
		for path := range m.other {
			if !slices.ContainsFunc(list, func(made Made) bool { return made.Path == path }) {
				t.Errorf("%s was removed", path)
			}
		}
	})
}

// The backup just made stays, even if others have later times that a clock may still reach.
func TestNewestBackupIsKept(t *testing.T) {
	dir := At(t.TempDir(), "", signer)
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	fill := func(f *os.File) (bool, error) { _, err := f.Write([]byte("x")); return false, err }
	if _, err := dir.create(events.Head{Sequence: 9}, now.Add(30*time.Minute), fill); err != nil {
		t.Fatal(err)
	}
	just, err := dir.create(events.Head{Sequence: 10}, now, fill)
	if err != nil {
		t.Fatal(err)
	}
	if err := dir.prune(just, 1, now, func(Made) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if list, err := dir.List(); err != nil || len(list) != 1 || list[0] != just {
		t.Errorf("kept: %+v, %v; just made: %+v", list, err, just)
	}
}

// A salvage reads the backups that may be the home's.
func TestFilesOfAHome(t *testing.T) {
	dir := t.TempDir()
	names := []string{
		"maestro-0123456789abcdef-20010103T000000Z-1-00000000.tar.gz",
		"maestro-fedcba9876543210-20010102T000000Z-1-00000000.tar.gz", "maestro-20010101T000000Z-1-00000000.tar.gz",
	}
	for _, name := range names {
		write(t, dir, name, 1)
	}
	for key, want := range map[string][]string{signer: {names[0], names[2]}, another: names[1:], "": names} {
		files, err := At("", dir, key).Files()
		for i, file := range files {
			files[i] = filepath.Base(file)
		}
		if err != nil || !slices.Equal(files, want) {
			t.Errorf("%q: %v, %v", key, files, err)
		}
	}
}

// A backup whose name cannot be made durable does not stay, and the error says only why.
func TestUndurableBackupIsRemoved(t *testing.T) {
	cause := errors.New("the disk is gone")
	syncDir = func(string) error { return cause }
	t.Cleanup(func() { syncDir = files.SyncDir })
	d := At("", t.TempDir(), "ed25519:"+strings.Repeat("0123456789abcdef", 4))
	_, err := d.create(events.Head{Sequence: 1}, time.Unix(1, 0), func(*os.File) (bool, error) { return false, nil })
	if !errors.Is(err, cause) || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	left, err := os.ReadDir(d.Path())
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
