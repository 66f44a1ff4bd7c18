package salvage

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"maestro/api/export"
	"maestro/bus"
	"maestro/commands"
	"maestro/engine"
	"maestro/events"
	"maestro/internal/home"
)

// lived is a used home: its log has two blocks, long texts and refusals.
type lived struct {
	dir    string
	head   events.Head
	half   events.Head
	files  map[string]string // backups and exports, by name
	texts  int
	signer string
	key    ed25519.PrivateKey // of a small home
}

const (
	tasks = 220
	// wide is the length of texts that stay in their events, and make the log two blocks long; narrow leaves it at one.
	wide   = 50_000
	narrow = 500
)

func openLog(t *testing.T, dir string) (*bus.Bus, *engine.Denials, *engine.Handler, *bus.HeadFile, func()) {
	t.Helper()
	h, err := home.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	b, err := bus.Open(t.Context(), bus.Options{Dir: h.Store(), Durability: bus.Interval, Timeout: 2 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	denials, err := engine.OpenDenials(t.Context(), b, time.Now, nil)
	if err != nil {
		t.Fatal(err)
	}
	head := b.HeadFile(h.Head())
	handler, err := engine.Open(t.Context(), engine.Config{
		Log:     b,
		Blobs:   b,
		Denials: denials,
		Witness: headWitness{head, h.Head()},
		Now:     time.Now,
		After:   time.After,
	})
	if err != nil {
		t.Fatal(err)
	}
	return b, denials, handler, head, func() {
		handler.Close()
		denials.Close()
		if err := errors.Join(head.Close(), b.Close(), h.Close()); err != nil {
			t.Error(err)
		}
	}
}

type headWitness struct {
	*bus.HeadFile
	path string
}

func (w headWitness) Load(context.Context) (events.Head, error) { return bus.LoadHeadFile(w.path) }

var admin = commands.Actor{
	Kind:   commands.ActorUser,
	Name:   "admin",
	Access: commands.AccessAdmin,
	Authn:  "token",
}

func do(t *testing.T, h *engine.Handler, key string, command commands.Command) (engine.Answer, error) {
	t.Helper()
	return h.Do(t.Context(), engine.Request{By: admin, Command: command, Key: key})
}

// keptHome is a home that is created once for all tests that do not change it.
type keptHome struct {
	sync.Once
	top  string
	home *lived
}

// The log of the long home has two blocks. Reading it takes long, so most tests use the short one.
var keptLong, keptShort keptHome

func TestMain(m *testing.M) {
	code := m.Run()
	for _, kept := range []*keptHome{&keptLong, &keptShort} {
		if err := os.RemoveAll(kept.top); err != nil {
			code = 1
		}
	}
	os.Exit(code)
}

// shared returns a home that must not be changed, nor its backups; see lived.copied.
func shared(t *testing.T) *lived {
	t.Helper()
	return keptShort.get(t, narrow)
}

// sharedLong is shared for a log of two blocks.
func sharedLong(t *testing.T) *lived {
	t.Helper()
	return keptLong.get(t, wide)
}

func (kept *keptHome) get(t *testing.T, width int) *lived {
	t.Helper()
	kept.Do(func() {
		top, err := os.MkdirTemp("", "maestro-salvage-*")
		if err != nil {
			t.Fatal(err)
		}
		kept.top, kept.home = top, liveAt(t, top, width)
	})
	if kept.home == nil {
		t.Fatal("the shared home could not be created")
	}
	return kept.home
}

// live creates a home whose server has ended.
func live(t *testing.T) *lived {
	t.Helper()
	return liveAt(t, t.TempDir(), narrow)
}

func liveAt(t *testing.T, top string, width int) *lived {
	t.Helper()
	l := &lived{dir: filepath.Join(top, "home"), files: map[string]string{}}
	h, err := home.Create(l.dir)
	if err != nil {
		t.Fatal(err)
	}
	lock, err := h.Lock()
	if err != nil {
		t.Fatal(err)
	}
	secrets, err := lock.Secrets()
	if err != nil {
		t.Fatal(err)
	}
	key := secrets.BackupKey()
	public, _ := key.Public().(ed25519.PublicKey)
	l.signer = bus.SignerName(public)
	if err := os.MkdirAll(filepath.Join(l.dir, "store.damaged-20260102T030405Z", "jetstream"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(lock.PlaceManifest("sess_1", []byte("{}")), lock.Release(), h.Close()); err != nil {
		t.Fatal(err)
	}
	b, _, handler, _, closeLog := openLog(t, l.dir)
	made, err := do(t, handler, "p", &commands.CreateProject{Name: "P"})
	if err != nil {
		t.Fatal(err)
	}
	project := made.Data.(*events.ProjectCreated).ProjectID
	for i := range tasks {
		description := strings.Repeat("x", width)
		if i%20 == 0 {
			description = strings.Repeat(strconv.Itoa(i)+" long ", events.MaxText/6)
			l.texts++
		}
		_, err := do(t, handler, strconv.Itoa(i), &commands.CreateTask{
			ProjectRef: commands.ProjectRef{Project: project}, Title: "T", Description: description,
		})
		if err != nil {
			t.Fatal(err)
		}
		if i == tasks/2 {
			l.half = l.write(t, b, key, "half")
		}
	}
	var refusal *commands.Refusal
	if _, err := do(t, handler, "no", &commands.DeleteProject{ProjectID: "none"}); !errors.As(err, &refusal) {
		t.Fatalf("not a refusal: %v", err)
	}
	l.head = l.write(t, b, key, "whole")
	closeLog()
	return l
}

// write creates a backup and an export.
func (l *lived) write(t *testing.T, b *bus.Bus, key ed25519.PrivateKey, name string) events.Head {
	t.Helper()
	last, err := b.Sync(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var head events.Head
	var lines []byte
	if err := b.Read(t.Context(), 1, last, func(m events.Message) error {
		head = events.Head{Sequence: m.Sequence, Hash: events.Next(head.Hash, events.BodyHash(m.Body))}
		lines = export.Append(lines, m, head.Hash)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	options := bus.BackupOptions{Head: head, Created: time.Now(), Key: key}
	if _, err := b.Backup(t.Context(), &archive, options); err != nil {
		t.Fatal(err)
	}
	for suffix, content := range map[string][]byte{".tar.gz": archive.Bytes(), ".ndjson": lines} {
		path := filepath.Join(filepath.Dir(l.dir), name+suffix)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		l.files[name+suffix] = path
	}
	return head
}

// copied returns a copy of the home that can be damaged.
func (l *lived) copied(t *testing.T) *lived {
	t.Helper()
	again := *l
	again.dir = filepath.Join(t.TempDir(), "home")
	if err := os.CopyFS(again.dir, os.DirFS(l.dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(again.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return &again
}

func (l *lived) blocks(t *testing.T, stream string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(l.dir, "store", "jetstream", "$G", "streams", stream, "msgs", "*.blk"))
	if err != nil || len(found) == 0 {
		t.Fatalf("%s has no blocks, %v", stream, err)
	}
	slices.Sort(found)
	return found
}

// flip changes a bit in the middle of a file, as a disk would.
func flip(t *testing.T, path string, at func(size int) int) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	content[at(len(content))] ^= 4
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func middle(size int) int { return size / 2 }

func (l *lived) salvage(t *testing.T, change func(*Options)) *Report {
	t.Helper()
	damaged, err := home.Open(l.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = damaged.Close() }()
	before := tree(t, l.dir)
	options := Options{
		Home:   damaged,
		To:     filepath.Join(t.TempDir(), "new"),
		Signer: l.signer,
		Now:    time.Now(),
	}
	if change != nil {
		change(&options)
	}
	report, err := Home(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	if after := tree(t, l.dir); before != after {
		t.Errorf("the damaged home was changed:\n%s\nbefore:\n%s", after, before)
	}
	served(t, report)
	return report
}

// tree returns a fingerprint of all files.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	if err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		fmt.Fprintf(&b, "%s %s\n", path, events.BodyHash(content))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// served opens the new home as a server does, judges its log, and writes to it.
func served(t *testing.T, report *Report) {
	t.Helper()
	b, _, handler, _, closeLog := openLog(t, report.To)
	defer closeLog()
	if err := handler.Health(); err != nil {
		t.Fatalf("the new home is not healthy: %v", err)
	}
	verifier := engine.NewVerifier()
	if report.Head.Sequence > 0 {
		if err := b.Read(t.Context(), 1, report.Head.Sequence, func(m events.Message) error {
			verifier.Event(m)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := verifier.CheckTexts(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	verdict, err := verifier.Verdict()
	if err != nil || verdict.Head != report.Head {
		t.Fatalf("the new log's head is %s, the report's %s, %v", verdict.Head, report.Head, err)
	}
	if report.Whole() && len(verdict.Faults) > 0 {
		t.Errorf("the report says whole, but the audit finds %+v", verdict.Faults)
	}
	if _, err := do(t, handler, "after", &commands.CreateProject{Name: "After"}); err != nil {
		t.Errorf("the new home accepts no writes: %v", err)
	}
}

func TestSalvage(t *testing.T) {
	original := sharedLong(t)
	log, blobs, denied := bus.StreamName, bus.BlobStream, bus.DeniedStream
	if n := len(original.blocks(t, log)); n < 2 {
		t.Fatalf("the log has only %d block", n)
	}
	remove := func(t *testing.T, paths ...string) {
		for _, path := range paths {
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
		}
	}
	stream := func(l *lived, name string) string {
		return filepath.Join(l.dir, "store", "jetstream", "$G", "streams", name)
	}
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, l *lived)
		// alone means that nothing else is needed; half, that a backup of half the log is enough.
		alone, half bool
	}{
		{"nothing", func(*testing.T, *lived) {}, true, true},
		{"descriptions gone", func(t *testing.T, l *lived) {
			for _, name := range []string{log, blobs, denied} {
				for _, file := range []string{"meta.inf", "meta.sum", "msgs/index.db"} {
					remove(t, filepath.Join(stream(l, name), file))
				}
			}
		}, true, true},
		{"refusals harmed", func(t *testing.T, l *lived) { flip(t, l.blocks(t, denied)[0], middle) }, true, true},
		{"refusals gone", func(t *testing.T, l *lived) { remove(t, stream(l, denied)) }, true, true},
		{"a bit early in the log", func(t *testing.T, l *lived) { flip(t, l.blocks(t, log)[0], middle) }, false, true},
		{"a bit late in the log", func(t *testing.T, l *lived) { flip(t, l.blocks(t, log)[1], middle) }, false, false},
		{"the first block gone", func(t *testing.T, l *lived) { remove(t, l.blocks(t, log)[0]) }, false, false},
		{"the last block gone", func(t *testing.T, l *lived) { remove(t, l.blocks(t, log)[1]) }, false, false},
		{"the last block cut", func(t *testing.T, l *lived) {
			if err := os.Truncate(l.blocks(t, log)[1], 1000); err != nil {
				t.Fatal(err)
			}
		}, false, false},
		{"blocks swapped", func(t *testing.T, l *lived) {
			b := l.blocks(t, log)
			if err := errors.Join(os.Rename(b[0], b[0]+".x"), os.Rename(b[1], b[0]), os.Rename(b[0]+".x",
				b[1])); err != nil {
				t.Fatal(err)
			}
		}, true, true},
		{"a text harmed", func(t *testing.T, l *lived) {
			flip(t, l.blocks(t, blobs)[0], func(int) int { return 60_000 })
		}, false, true},
		{"the texts gone", func(t *testing.T, l *lived) { remove(t, stream(l, blobs)) }, false, false},
		{"the log gone", func(t *testing.T, l *lived) { remove(t, stream(l, log)) }, false, false},
		{"the store gone", func(t *testing.T, l *lived) { remove(t, filepath.Join(l.dir, "store")) }, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := original.copied(t)
			c.damage(t, l)
			with := func(files ...string) func(*Options) {
				return func(o *Options) {
					for _, file := range files {
						o.With = append(o.With, l.files[file])
					}
				}
			}
			for _, try := range []struct {
				name   string
				change func(*Options)
				whole  bool
			}{
				{"alone", nil, c.alone},
				{"with an older backup", with("half.tar.gz"), c.half},
				{"with a backup", with("whole.tar.gz"), true},
				{"with an export and an older backup", with("whole.ndjson", "half.tar.gz"), c.half ||
					c.name != "the texts gone"},
				{"with the home's own backups", func(o *Options) {
					o.Backups = []string{l.files["whole.tar.gz"], l.files["half.tar.gz"]}
				}, true},
			} {
				// One damage of each kind is tried with every source; the others alone, and with the source that
				// repairs them.
				thorough := c.name == "a bit early in the log" || c.name == "the last block gone" ||
					c.name == "the texts gone"
				if !thorough && try.name != "alone" && (c.alone || try.name != "with a backup") {
					continue
				}
				report := l.salvage(t, try.change)
				whole := report.Whole()
				if c.name == "the store gone" { // and with it the note of the clean stop
					if known := *report; !known.EndUnknown {
						t.Errorf("%s: nothing shows where the log ended, but the report does not say so", try.name)
					} else {
						known.EndUnknown = false
						whole = known.Whole()
					}
				}
				if whole != try.whole {
					t.Errorf("%s: whole is %t, expected %t: %s", try.name, whole, try.whole, report.Lost())
				}
				if try.whole && (report.Head != l.head || report.Texts != l.texts) {
					t.Errorf(
						"%s: head %s with %d texts, it was %s with %d", try.name, report.Head, report.Texts, l.head,
						l.texts,
					)
				}
				accounted(t, l, report)
			}
		})
	}
}

// accounted checks that every sequence is either in the new log, after the gap, or reported as missing.
func accounted(t *testing.T, l *lived, report *Report) {
	t.Helper()
	missing := uint64(0)
	for _, r := range report.Missing {
		missing += r.To - r.From + 1
	}
	if report.Head.Sequence+report.Behind+missing != l.head.Sequence {
		t.Errorf("%d in the log, %d after it, %d missing, of %d",
			report.Head.Sequence, report.Behind, missing, l.head.Sequence)
	}
	behind := uint64(0)
	if report.BehindFile != "" {
		content, err := os.ReadFile(filepath.Join(report.To, report.BehindFile))
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(content) {
			behind++
			if _, err := export.ReadLine(bytes.TrimSuffix(line, []byte("\n"))); err != nil {
				t.Errorf("line %d: %v", behind, err)
			}
		}
	}
	if behind != report.Behind {
		t.Errorf("the file has %d lines, the report says %d", behind, report.Behind)
	}
	if _, err := os.Stat(filepath.Join(report.To, "store.damaged-20260102T030405Z")); err == nil {
		t.Error("a store that was set aside was copied")
	}
	for _, name := range []string{"server.key", "admin.token", "sessions/sess_1/manifest.json"} {
		old, err1 := os.ReadFile(filepath.Join(l.dir, name))
		now, err2 := os.ReadFile(filepath.Join(report.To, name))
		if err := errors.Join(err1, err2); err != nil || !bytes.Equal(old, now) {
			t.Errorf("%s was not kept: %v", name, err)
		}
	}
}

func TestSalvageBelievesOnlyTheHomesOwnBackups(t *testing.T) {
	l := live(t)
	flip(t, l.blocks(t, bus.StreamName)[0], middle)
	report := l.salvage(t, func(o *Options) {
		o.Backups = []string{l.files["whole.tar.gz"]}
		o.Signer = bus.SignerName(make(ed25519.PublicKey, ed25519.PublicKeySize))
	})
	if report.Whole() || report.Unused[l.files["whole.tar.gz"]] == "" || len(report.Filled) != 0 {
		t.Errorf("a backup that another key signed was used: %+v", report)
	}
	cut, err := os.ReadFile(l.files["whole.tar.gz"])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(l.files["whole.tar.gz"], cut[:len(cut)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	report = l.salvage(t, func(o *Options) { o.Backups = []string{l.files["whole.tar.gz"], l.files["half.tar.gz"]} })
	if !report.Whole() || report.Unused[l.files["whole.tar.gz"]] == "" || report.Filled[l.files["half.tar.gz"]] == 0 {
		t.Errorf("after a cut backup, the next was not used: %+v", report)
	}
}

func TestSalvageLeavesNothingBehindWhenItFails(t *testing.T) {
	l := live(t)
	h, err := home.Open(l.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = h.Close() }()
	parent := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Home(ctx, Options{Home: h, To: filepath.Join(parent, "new"), Now: time.Now()}); err == nil {
		t.Error("an interrupted salvage reports success")
	}
	if left, err := os.ReadDir(parent); err != nil || len(left) > 0 {
		t.Errorf("left %v behind, %v", left, err)
	}
	if err := os.WriteFile(filepath.Join(parent, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Home(t.Context(), Options{Home: h, To: parent, Now: time.Now()}); err == nil {
		t.Error("salvaged into a directory that is not empty")
	}
}

func TestSalvageTakesNoEventOfAnotherLog(t *testing.T) {
	l, stranger := live(t), live(t)
	flip(t, l.blocks(t, bus.StreamName)[0], middle)
	report := l.salvage(t, func(o *Options) {
		o.With = []string{stranger.files["whole.tar.gz"], stranger.files["whole.ndjson"]}
	})
	if report.Whole() || len(report.Filled) != 0 || len(report.Missing) == 0 {
		t.Errorf("events of another log fill the gap: %+v", report)
	}
	accounted(t, l, report)
}
