package damage

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"maestro/bus"
	"maestro/commands"
	"maestro/engine"
	"maestro/events"
	"maestro/internal/home"
)

var admin = commands.Actor{
	Kind:   commands.ActorUser,
	Name:   "admin",
	Access: commands.AccessAdmin,
	Authn:  "token",
}

// server is a server on a home, as serve starts it, but without HTTP.
type server struct {
	bus      *bus.Bus
	handler  *engine.Handler
	warnings *counting
	close    func() error
}

// counting counts the warnings and errors that are logged.
type counting struct {
	slog.Handler
	n atomic.Int64
}

func (c *counting) Handle(_ context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		c.n.Add(1)
	}
	return nil
}

func (c *counting) Enabled(context.Context, slog.Level) bool { return true }

// open connects the parts of a server as serve does.
func open(ctx context.Context, dir string) (*server, error) {
	h, err := home.Create(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = h.Close() }()
	warnings := &counting{Handler: slog.DiscardHandler}
	logger := slog.New(warnings)
	seen, err := bus.LoadHeadFile(h.Head())
	if err != nil {
		logger.Warn("the head file cannot be read", "why", err)
	}
	b, err := bus.Open(ctx, bus.Options{
		Dir:        h.Store(),
		Durability: bus.Interval,
		Witnessed:  seen.Sequence,
		HeadFile:   seen.Sequence,
		Logger:     logger,
	})
	if err != nil {
		return nil, err
	}
	pictures, err := bus.OpenSnapshots(h.Snapshots())
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	head := b.HeadFile(h.Head())
	handler, err := engine.Open(ctx, engine.Config{
		Log:           b,
		Blobs:         b,
		Snapshots:     snapshots{pictures},
		Witness:       witness{head, h.Head()},
		Damage:        b.Damage(),
		SnapshotEvery: 100,
		Now:           time.Now,
		After:         time.After,
		Logger:        logger,
	})
	if err != nil {
		return nil, errors.Join(err, head.Close(), b.Close())
	}
	b.OnDamage(handler.StopWrites)
	return &server{
		bus:      b,
		handler:  handler,
		warnings: warnings,
		close: func() error {
			if handler.Health() == nil {
				_ = handler.Snapshot(context.WithoutCancel(ctx))
			}
			handler.Close()
			return errors.Join(head.Close(), b.Close())
		},
	}, nil
}

type snapshots struct{ dir *bus.Snapshots }

func (s snapshots) List(context.Context) ([]uint64, error) { return s.dir.List() }

func (s snapshots) Load(_ context.Context, sequence uint64) (events.Snapshot, error) {
	return s.dir.Load(sequence)
}

func (s snapshots) Save(_ context.Context, snapshot events.Snapshot) error {
	return s.dir.Save(snapshot)
}

func (s snapshots) SaveSegment(_ context.Context, segment []byte) (string, error) {
	return s.dir.SaveSegment(segment)
}

func (s snapshots) LoadSegment(_ context.Context, digest string) ([]byte, error) {
	return s.dir.LoadSegment(digest)
}

type witness struct {
	*bus.HeadFile
	path string
}

func (w witness) Load(context.Context) (events.Head, error) { return bus.LoadHeadFile(w.path) }

func (s *server) do(ctx context.Context, key string, command commands.Command) (engine.Answer, error) {
	return s.handler.Do(ctx, engine.Request{By: admin, Command: command, Key: key})
}

// contents is what can be read of a home.
type contents struct {
	events  map[uint64]events.Hash
	blobs   map[string]bool
	denials map[string]bool
}

func empty() contents {
	return contents{events: map[uint64]events.Hash{}, blobs: map[string]bool{}, denials: map[string]bool{}}
}

// add adds the contents of a stopped store's files.
func (c contents) add(ctx context.Context, store string) error {
	r, err := bus.OpenReadOnly(ctx, bus.Options{Dir: store})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	err = r.Readable(ctx, func(m events.Message) error {
		c.events[m.Sequence] = events.BodyHash(m.Body)
		return nil
	})
	if err != nil {
		return err
	}
	digests, err := r.Blobs(ctx)
	if err != nil {
		return err
	}
	for _, digest := range digests {
		if _, err := r.Blob(ctx, digest); err == nil {
			c.blobs[digest] = true
		}
	}
	return r.LoadDenials(ctx, func(d events.StoredDenial) error {
		c.denials[d.Slot] = true
		return nil
	})
}

// stored returns the contents of a home's store; with aside, also those of the directories that were set aside.
func stored(ctx context.Context, dir string, aside bool) (contents, error) {
	c := empty()
	store := filepath.Join(dir, "store")
	if err := c.add(ctx, store); err != nil || !aside {
		return c, err
	}
	others, err := filepath.Glob(store + ".damaged-*")
	for _, other := range others {
		err = errors.Join(err, c.add(ctx, other))
	}
	return c, err
}

// lacks returns the names of what c has and other lacks.
func (c contents) lacks(other contents) []string {
	var lost []string
	for sequence, hash := range c.events {
		if other.events[sequence] != hash {
			lost = append(lost, fmt.Sprint("event ", sequence))
		}
	}
	for digest := range c.blobs {
		if !other.blobs[digest] {
			lost = append(lost, "long text "+digest)
		}
	}
	for slot := range c.denials {
		if !other.denials[slot] {
			lost = append(lost, "refusal "+slot)
		}
	}
	return lost
}

// lived is a home that was used: a copy after a clean stop, one after kill -9, and a backup.
type lived struct {
	stopped, killed, backup string
	head                    events.Head
	views                   events.Hash
	all                     contents
}

// live creates a home whose log and blobs have several blocks.
func live(t *testing.T) *lived {
	t.Helper()
	top := t.TempDir()
	l := &lived{
		stopped: filepath.Join(top, "stopped"),
		killed:  filepath.Join(top, "killed"),
		backup:  filepath.Join(top, "backup.tar.gz"),
	}
	s, err := open(t.Context(), l.stopped)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.do(t.Context(), "p", &commands.CreateProject{Name: "Project"}); err != nil {
		t.Fatal(err)
	}
	project := ""
	s.handler.View(func(state viewed) {
		for p := range state.Projects() {
			project = p.ID
		}
	})
	for i := range 200 {
		text := strings.Repeat(fmt.Sprintf("%d words ", i), 6_500)[:50_000]
		if i%16 == 0 { // refusals are stored beside the log
			text = strings.Repeat(fmt.Sprintf("%d long ", i), 90_000)
		}
		command := &commands.CreateTask{
			ProjectRef:  commands.ProjectRef{Project: project},
			Title:       fmt.Sprint("Task ", i),
			Description: text,
		}
		if _, err := s.do(t.Context(), fmt.Sprint("t", i), command); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 60 {
		denial := events.StoredDenial{Actor: "/users/u", Slot: fmt.Sprint("s-", i), Body: []byte(`{}`)}
		if err := s.bus.StoreDenials(t.Context(), []events.StoredDenial{denial}); err != nil {
			t.Fatal(err)
		}
	}
	l.head, l.views = s.state(t)
	f, err := os.Create(l.backup)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.bus.Backup(t.Context(), f, bus.BackupOptions{
		Head: l.head, Created: time.Now(), Key: ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)),
	}); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	copyTree(t, l.stopped, l.killed)
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	if l.all, err = stored(t.Context(), l.stopped, false); err != nil {
		t.Fatal(err)
	}
	if n := len(l.all.events); n != 201 || len(l.all.blobs) != 13 || len(l.all.denials) != 60 {
		t.Fatalf("the home has %d events, %d long texts and %d refusals", n, len(l.all.blobs), len(l.all.denials))
	}
	return l
}

// copyTree copies a home with the modification times of its files. It omits what is not a file, such as the link to a
// directory in memory.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, relative)
		if entry.IsDir() {
			return os.MkdirAll(target, 0o700)
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return errors.Join(os.WriteFile(target, content, 0o600), os.Chtimes(target, info.ModTime(), info.ModTime()))
	})
	if err != nil {
		t.Fatal(err)
	}
}
