package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"

	"maestro/api/client"
	"maestro/api/export"
	"maestro/bus"
	"maestro/commands"
	"maestro/events"
	"maestro/internal/cli"
	"maestro/internal/home"
	"maestro/internal/salvage"
)

// picture returns everything visible of a tree: modes, sizes, modification times, contents. It omits the names in
// without.
func picture(t *testing.T, dir string, without ...string) map[string]string {
	t.Helper()
	seen := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		for _, left := range without {
			if name == left || strings.HasPrefix(name, left+"/") {
				return nil
			}
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		sum := ""
		if info.Mode().IsRegular() {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			sum = fmt.Sprintf("%x", sha256.Sum256(content))
		}
		seen[name] = fmt.Sprintf("%s %d %s %s", info.Mode(), info.Size(), info.ModTime(), sum)
		if len(without) > 0 && info.IsDir() { // the omitted names change it
			seen[name] = info.Mode().String()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

func unchanged(t *testing.T, before, after map[string]string) {
	t.Helper()
	if maps.Equal(before, after) {
		return
	}
	for name := range after {
		if before[name] != after[name] {
			t.Errorf("%s was %q and is %q", name, before[name], after[name])
		}
	}
	for name := range before {
		if _, there := after[name]; !there {
			t.Errorf("%s is gone", name)
		}
	}
}

// used returns a home in which a server created a project and was stopped.
func used(t *testing.T) string {
	t.Helper()
	s := &inside{t: t, home: filepath.Join(t.TempDir(), "home")}
	s.start()
	s.do("project:create", map[string]any{"name": "P"})
	s.stop()
	return s.home
}

// A home that a newer maestro wrote is left as it is, byte for byte.
func TestHomeOfANewerMaestro(t *testing.T) {
	dir := used(t)
	file := filepath.Join(dir, "version")
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var wrote home.Version
	if err := json.Unmarshal(content, &wrote); err != nil || wrote.Maestro == "" || wrote.Key == "" || wrote.Rules < 3 {
		t.Errorf("the home says that it was written by %+v, %v", wrote, err)
	}
	for what, newer := range map[string]home.Version{
		"rules 99": {
			Maestro:  "v9",
			Home:     wrote.Home,
			Rules:    99,
			Snapshot: wrote.Snapshot,
		},
		"home format 99": {
			Maestro:  "v9",
			Home:     99,
			Rules:    wrote.Rules,
			Snapshot: wrote.Snapshot,
		},
		"snapshot format 99": {
			Maestro:  "v9",
			Home:     wrote.Home,
			Rules:    wrote.Rules,
			Snapshot: 99,
		},
	} {
		content, err := json.Marshal(newer)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		before := picture(t, dir)
		got := runHere(t, map[string]string{"MAESTRO_HOME": dir}, "serve", "--no-runner", "--listen", "127.0.0.1:0")
		if got.code != cli.ExitConflict {
			t.Errorf("%s: %+v", what, got)
		}
		for _, said := range []string{what, "v9", "--read-only"} {
			if !strings.Contains(got.stderr, said) {
				t.Errorf("%s: nothing of %q: %s", what, said, got.stderr)
			}
		}
		salvagesNewer(t, dir, what, "install maestro v9 or newer")
		unchanged(t, before, picture(t, dir))
	}
}

// newerEvent appends an event as a newer version would.
func newerEvent(t *testing.T, dir string, change func(body string) string) {
	t.Helper()
	log, err := bus.Open(t.Context(), bus.Options{Dir: filepath.Join(dir, "store")})
	if err != nil {
		t.Fatal(err)
	}
	head, err := log.Sync(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var last events.Message
	if err := log.Read(t.Context(), head, head, func(m events.Message) error { last = m; return nil }); err != nil {
		t.Fatal(err)
	}
	event, err := events.Decode(last.Body)
	if err != nil {
		t.Fatal(err)
	}
	event.PrevHash = events.Next(event.PrevHash, events.BodyHash(last.Body))
	event.ID = uuid.New()
	event.Data = &events.ProjectCreated{ProjectID: "proj_newer", Name: "Newer"}
	body, err := event.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	body = []byte(change(string(body)))
	subject := strings.ReplaceAll(last.Subject, event.Project, "proj_newer")
	message := events.Message{Sequence: head + 1, Subject: subject, Body: body}
	if err := log.Append(t.Context(), head, []events.Message{message}); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}

// The server does not write to a log whose newest event has newer rules or an unknown type, whatever version the home
// names.
func TestLogOfANewerMaestro(t *testing.T) {
	for what, change := range map[string]func(string) string{
		"rules 99": func(body string) string {
			return strings.Replace(body, `"rules":"`+commands.RulesVersion+`"`, `"rules":"99"`, 1)
		},
		"maestro.project.admired.v1": func(body string) string {
			return strings.ReplaceAll(body, "maestro.project.created.v1", "maestro.project.admired.v1")
		},
	} {
		dir := used(t)
		newerEvent(t, dir, change)
		before := picture(t, dir, "store", "lock")
		got := runHere(t, map[string]string{"MAESTRO_HOME": dir}, "serve", "--no-runner", "--listen", "127.0.0.1:0")
		if got.code != cli.ExitConflict || !strings.Contains(got.stderr, what) ||
			!strings.Contains(got.stderr, "newer maestro") {
			t.Errorf("%s: %+v", what, got)
		}
		unchanged(t, before, picture(t, dir, "store", "lock"))
		refusesNewer(t, dir)
		salvagesNewer(t, dir, what, "install the version that wrote it")
	}
}

// salvagesNewer salvages a home on which no server of this version starts. The salvage says so, names what it does not
// know, and says what to install.
func salvagesNewer(t *testing.T, dir, what, install string) {
	t.Helper()
	to := filepath.Join(t.TempDir(), "new")
	got := runHere(t, nil, "salvage", "--home", dir, "--new-home", to)
	var report salvage.Report
	content, err := os.ReadFile(filepath.Join(to, "salvage.json"))
	if err == nil {
		err = json.Unmarshal(content, &report)
	}
	if err != nil || got.code != cli.ExitPartial {
		t.Fatalf("%s: %+v, %v", what, got, err)
	}
	if !strings.Contains(got.stderr, report.Newer) || !strings.HasSuffix(got.stderr, "next: "+report.Install+"\n") {
		t.Errorf("%s: the report is %q, %q; said is %s", what, report.Newer, report.Install, got.stderr)
	}
	if !strings.Contains(report.Newer, what) || !strings.HasPrefix(report.Install, install) {
		t.Errorf("%s: the report is %q, %q", what, report.Newer, report.Install)
	}
	readsAll := strings.Contains(report.Newer, "cannot serve the new home")
	if strings.Contains(report.Install, "MAESTRO_HOME="+to) != readsAll ||
		strings.Contains(report.Install, "run its salvage") == readsAll ||
		readsAll == (strings.HasPrefix(what, "home format") || strings.HasPrefix(what, "maestro.")) {
		t.Errorf("%s: the report is %q, %q", what, report.Newer, report.Install)
	}
	if strings.HasPrefix(what, "maestro.") {
		return // the new log ends before the first event that this version does not know
	}
	again := runHere(t, map[string]string{"MAESTRO_HOME": to}, "serve", "--no-runner", "--listen", "127.0.0.1:0")
	if again.code != cli.ExitConflict || !strings.Contains(again.stderr, what) {
		t.Errorf("%s: a server on the new home: %+v", what, again)
	}
}

// refusesNewer restores an export of a log with newer events. No flag makes it create a home on which no server starts.
func refusesNewer(t *testing.T, dir string) {
	t.Helper()
	file := exportOf(t, dir, func(*events.Message) {})
	to := filepath.Join(t.TempDir(), "new")
	got := runHere(t, nil, "restore", file, "--home", to, "--accept-faults")
	if _, err := os.Stat(to); got.code == cli.ExitDone || !strings.Contains(got.stderr, "use a newer maestro") ||
		!errors.Is(err, fs.ErrNotExist) {
		t.Errorf("restored: %+v, %v", got, err)
	}
}

// exportOf returns an export of a home's log, with an edit of its messages.
func exportOf(t *testing.T, dir string, edit func(m *events.Message)) string {
	t.Helper()
	var lines []byte
	log, err := bus.OpenReadOnly(t.Context(), bus.Options{Dir: filepath.Join(dir, "store")})
	if err != nil {
		t.Fatal(err)
	}
	var hash events.Hash
	err = log.Readable(t.Context(), func(m events.Message) error {
		hash = events.Next(hash, events.BodyHash(m.Body))
		edit(&m)
		lines = export.Append(lines, m, hash)
		return nil
	})
	file := filepath.Join(t.TempDir(), "export.ndjson")
	if err = errors.Join(err, log.Close(), os.WriteFile(file, lines, 0o600)); err != nil {
		t.Fatal(err)
	}
	return file
}

// An export with an event whose subject no stream accepts is refused, and the error names the event.
func TestRestoreNamesEventOfBadSubject(t *testing.T) {
	dir := used(t)
	for _, subject := range []string{"", "maestro.ev.a b", "elsewhere"} {
		file := exportOf(t, dir, func(m *events.Message) { m.Subject = subject })
		got := runHere(t, nil, "restore", file, "--home", filepath.Join(t.TempDir(), "new"), "--accept-faults")
		if got.code == cli.ExitDone || !strings.Contains(got.stderr, "event 1") {
			t.Errorf("%q: %+v", subject, got)
		}
	}
}

// removeWhileWritten deletes a directory that a server writes to: what it adds meanwhile is deleted too.
func removeWhileWritten(dir string) error {
	for {
		if err := os.RemoveAll(dir); !errors.Is(err, syscall.ENOTEMPTY) {
			return err
		}
	}
}

// A home that is moved, deleted or replaced under a running server stops its writes, and nothing appears in its
// old place.
func TestHomeThatIsNotWhereItWas(t *testing.T) {
	elsewhere := t.TempDir()
	for _, test := range []struct {
		what   string
		change func(dir string) error
		// left is the path that must not exist any more, or must not change; "" if the home itself is still the same.
		left string
	}{
		{"moved", func(dir string) error { return os.Rename(dir, dir+".moved") }, "."},
		{"deleted", removeWhileWritten, "."},
		{
			"store moved", func(dir string) error { return os.Rename(filepath.Join(dir, "store"), dir+".store") },
			"store",
		},
		{"lock deleted", func(dir string) error { return os.Remove(filepath.Join(dir, "lock")) }, ""},
		{"replaced", func(dir string) error { return replace(dir, dir+".moved") }, "."},
		{"linked elsewhere", func(dir string) error {
			return errors.Join(os.Rename(dir, dir+".moved"), os.Symlink(elsewhere, dir))
		}, "."},
	} {
		t.Run(test.what, func(t *testing.T) {
			s := &inside{t: t, home: filepath.Join(t.TempDir(), "home"), mayFail: true}
			s.start()
			s.do("project:create", map[string]any{"name": "P"})
			if err := test.change(s.home); err != nil {
				t.Fatal(err)
			}
			before := pictureIfThere(t, s.home, test.left)
			ready := s.unready()
			if !strings.Contains(ready, "moved") || !strings.Contains(ready, "MAESTRO_HOME") {
				t.Errorf("readyz says %s", ready)
			}
			var refused *client.Error
			_, err := s.client.Do(t.Context(), "project:create", map[string]any{"name": "Q"}, client.Options{})
			if !errors.As(err, &refused) || refused.Status != 503 || !strings.Contains(refused.Why, "moved") {
				t.Errorf("a write came to %v", err)
			}
			_, err = s.client.Verify(t.Context(), "")
			if errors.As(err, &refused); refused.Status != 503 || refused.Message != "The log cannot be audited" ||
				!strings.Contains(refused.Why, "moved") || !strings.Contains(refused.Next, "MAESTRO_HOME") {
				t.Errorf("an audit came to %+v, %v", refused, err)
			}
			s.stop()
			if said := s.said.String(); !strings.Contains(said, "audit verify --from-head 1:") ||
				strings.Contains(said, "a finished block was changed") {
				t.Errorf("it does not say what was acknowledged: %s", said)
			}
			unchanged(t, before, pictureIfThere(t, s.home, test.left))
		})
	}
}

// A server whose store's files are moved away while it runs stops writing, and exits with an error.
func TestStoreTakenFromUnderTheServer(t *testing.T) {
	log := filepath.Join("jetstream", "$G", "streams", bus.StreamName, "msgs")
	for _, part := range []string{"jetstream", log, filepath.Join(log, "1.blk")} {
		t.Run(filepath.Base(part), func(t *testing.T) {
			s := &inside{t: t, home: filepath.Join(t.TempDir(), "home"), mayFail: true}
			s.start()
			s.do("project:create", map[string]any{"name": "P"})
			path := filepath.Join(s.home, "store", part)
			if err := os.Rename(path, filepath.Join(s.home, "away")); err != nil {
				t.Fatal(err)
			}
			ready := s.unready()
			if !strings.Contains(ready, path) || !strings.Contains(ready, "put it back") {
				t.Errorf("readyz says %s", ready)
			}
			s.stop()
			if s.ended == nil || !strings.Contains(s.ended.Error(), path) {
				t.Errorf("the server ended with %v", s.ended)
			}
		})
	}
}

// Events that are acknowledged while a copy replaces the store, or a file in it, are missing from the store. The next
// start knows that from the head file.
func TestStoreReplacedUnderTheServer(t *testing.T) {
	log := filepath.Join("store", "jetstream", "$G", "streams", bus.StreamName, "msgs")
	for _, part := range []string{"store", filepath.Join("store", "jetstream"), log, filepath.Join(log, "1.blk")} {
		for _, durability := range []string{"always", "interval"} {
			t.Run(filepath.Base(part)+" "+durability, func(t *testing.T) {
				s := &inside{t: t, home: filepath.Join(t.TempDir(), "home"), mayFail: true}
				s.start("--durability", durability)
				s.do("project:create", map[string]any{"name": "P"})
				path := filepath.Join(s.home, part)
				if err := replaceByCopy(path, filepath.Join(s.home, "away")); err != nil {
					t.Fatal(err)
				}
				acked := 0
				for ; ; acked++ {
					_, err := s.client.Do(t.Context(), "project:create", map[string]any{"name": "Q"}, client.Options{})
					if err != nil {
						break
					}
				}
				s.stop()
				s.start()
				if acked > 0 && !strings.Contains(s.banner, "READ-ONLY") {
					t.Errorf("%d writes are lost, and the server starts with %q", acked, s.banner)
				}
			})
		}
	}
}

// replaceByCopy moves a directory or a file away and puts a copy in its place.
func replaceByCopy(path, away string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return replace(path, away)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(away, content, info.Mode()), os.Rename(away, path))
}

// pictureIfThere returns the picture of a part of a home, an empty one if that does not exist.
func pictureIfThere(t *testing.T, dir, part string) map[string]string {
	t.Helper()
	path := filepath.Join(dir, part)
	if _, err := os.Stat(path); part == "" || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return picture(t, path)
}

// replace moves a home away and puts a copy in its place, as when somebody restores a copy of the disk.
func replace(dir, away string) error {
	if err := os.Rename(dir, away); err != nil {
		return err
	}
	for {
		err := os.CopyFS(dir, os.DirFS(away))
		if err == nil {
			return os.Chmod(dir, 0o700)
		}
		// The server renames its temporary head file over the old one, so the copy may not find it.
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
}
