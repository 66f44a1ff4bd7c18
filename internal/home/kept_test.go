package home

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// served returns a home with the files of a running server.
func served(t *testing.T) (*Lock, Secrets) {
	t.Helper()
	lock := locked(t, made(t))
	secrets, err := lock.Secrets()
	if err != nil {
		t.Fatal(err)
	}
	mark := Fingerprint(secrets.ServerKey)
	err = errors.Join(
		os.MkdirAll(filepath.Join(lock.Store(), "jetstream"), 0o700), os.Mkdir(lock.Snapshots(), 0o700),
		lock.MarkKey(mark), lock.Wrote(Version{Maestro: "v1", Key: mark}),
		lock.Announce(Server{Address: "http://127.0.0.1:1", PID: 1}),
	)
	if err != nil {
		t.Fatal(err)
	}
	return lock, secrets
}

// Files that the next start needs are written back, and whatever was in their place is kept. The admin token is not
// written back, because deleting it is the way to get a new one.
func TestRunningServerRestoresKnownFiles(t *testing.T) {
	for what, change := range map[string]func(path string) error{
		"deleted": os.Remove,
		"changed": func(path string) error { return os.WriteFile(path, []byte("other\n"), 0o600) },
		"a directory": func(path string) error {
			return errors.Join(os.Remove(path), os.MkdirAll(filepath.Join(path, "full"), 0o700))
		},
		"a link to itself": func(path string) error { return errors.Join(os.Remove(path), os.Symlink(path, path)) },
		"open to others":   func(path string) error { return os.Chmod(path, 0o644) },
	} {
		for _, name := range []string{serverKeyFile, versionFile, keyMarkFile, serverFile, adminTokenFile} {
			t.Run(what+" "+name, func(t *testing.T) {
				lock, _ := served(t)
				path := filepath.Join(lock.Dir(), name)
				before, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				kept := lock.Keep()
				if news := kept.Look(); len(news) != 0 {
					t.Fatalf("before anything happened: %v", news)
				}
				if err := change(path); err != nil {
					t.Fatal(err)
				}
				secret := name == serverKeyFile || name == adminTokenFile
				if what == "open to others" && !secret {
					return // they are not secret
				}
				news := kept.Look()
				if len(news) != 1 || news[0].Path != path || news[0].What == "" || news[0].Next == "" && secret {
					t.Fatalf("found %+v", news)
				}
				if again := kept.Look(); len(again) != 0 {
					t.Errorf("found again: %+v", again)
				}
				if name == adminTokenFile && what != "open to others" {
					if news[0].Restored || len(kept.Found()) != 1 {
						t.Errorf("the token is %+v, found %+v", news[0], kept.Found())
					}
					return
				}
				info, err := os.Lstat(path)
				if err != nil || info.Mode() != 0o600 || !news[0].Restored || len(kept.Found()) != 0 {
					t.Errorf("%v, %v, %+v, found %+v", info, err, news[0], kept.Found())
				}
				if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
					t.Errorf("it holds %q, %v", after, err)
				}
				_, err = os.Lstat(path + changedSuffix)
				if aside := err == nil; aside != (what != "deleted" && what != "open to others") {
					t.Errorf("set aside: %t", aside)
				}
				if err := lock.CheckKinds(); err != nil {
					t.Errorf("the next start does not accept it: %v", err)
				}
			})
		}
	}
}

// Files that were set aside are not overwritten, however often a file is changed.
func TestSetAsideFilesAreKept(t *testing.T) {
	lock, _ := served(t)
	kept := lock.Keep()
	path := filepath.Join(lock.Dir(), serverKeyFile)
	for _, content := range []string{"first", "second"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if news := kept.Look(); len(news) != 1 || !news[0].Restored {
			t.Fatalf("%+v", news)
		}
	}
	for aside, want := range map[string]string{changedSuffix: "first", changedSuffix + "-2": "second"} {
		if got, err := os.ReadFile(path + aside); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", aside, got, err)
		}
	}
}

// A missing directory is recreated, and anything else in its place is named.
func TestDirectoriesOfARunningServer(t *testing.T) {
	lock, _ := served(t)
	kept := lock.Keep()
	if err := os.Remove(lock.Snapshots()); err != nil {
		t.Fatal(err)
	}
	news := kept.Look()
	if info, err := os.Stat(lock.Snapshots()); err != nil || !info.IsDir() || len(news) != 1 || !news[0].Restored {
		t.Errorf("%v, %+v", err, news)
	}
	err := errors.Join(os.Remove(lock.Snapshots()), os.WriteFile(lock.Snapshots(), nil, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	news = kept.Look()
	if found := kept.Found(); len(news) != 1 || len(found) != 1 || found[0].Path != lock.Snapshots() ||
		!strings.Contains(found[0].Next, "move it away") {
		t.Errorf("%+v, %+v", news, found)
	}
	if again := kept.Look(); len(again) != 0 || len(kept.Found()) != 1 {
		t.Errorf("%+v, %+v", again, kept.Found())
	}
	if err := os.Chmod(lock.Dir(), 0o755); err != nil {
		t.Fatal(err)
	}
	if news := kept.Look(); len(news) != 1 || !strings.Contains(news[0].Next, "chmod 700 "+lock.Dir()) {
		t.Errorf("open to others: %+v", news)
	}
}

// A home that has lost its version file still knows its key, by the mark beside the log.
func TestForeignKeyWithoutAVersion(t *testing.T) {
	lock, secrets := served(t)
	if err := os.Remove(filepath.Join(lock.Dir(), versionFile)); err != nil {
		t.Fatal(err)
	}
	if again, err := lock.Secrets(); err != nil || string(again.ServerKey) != string(secrets.ServerKey) {
		t.Errorf("its own key: %v", err)
	}
	path := filepath.Join(lock.Dir(), serverKeyFile)
	if err := os.WriteFile(path, []byte(strings.Repeat("ab", secretBytes)), 0o600); err != nil {
		t.Fatal(err)
	}
	var wrong *KeyError
	if _, err := lock.Secrets(); !errors.As(err, &wrong) || !wrong.Another {
		t.Errorf("another key: %v", err)
	}
	if err := lock.CheckKey(); !errors.As(err, &wrong) || !wrong.Another {
		t.Errorf("another key, a salvage: %v", err)
	}
	// If the token is gone too, only the mark shows that there was a key.
	if err := errors.Join(os.Remove(path), os.Remove(filepath.Join(lock.Dir(), adminTokenFile))); err != nil {
		t.Fatal(err)
	}
	if _, err := lock.Secrets(); !errors.As(err, &wrong) || wrong.Another {
		t.Errorf("no key: %v", err)
	}
}

// The notes of a restore and a salvage, and the lists that the server writes, are written back in their last form, and
// nothing else is. A note keeps the time that it states.
func TestNotesAndListsAreKept(t *testing.T) {
	for what, change := range map[string]func(path string) error{
		"deleted": os.Remove,
		"changed": func(path string) error { return os.WriteFile(path, []byte("other\n"), 0o600) },
		"a directory": func(path string) error {
			return errors.Join(os.Remove(path), os.MkdirAll(filepath.Join(path, "full"), 0o700))
		},
		"a link to itself": func(path string) error { return errors.Join(os.Remove(path), os.Symlink(path, path)) },
	} {
		t.Run(what, func(t *testing.T) {
			lock, _ := served(t)
			note := `{"at":"2020-01-02T03:04:05Z"}`
			err := errors.Join(
				os.WriteFile(filepath.Join(lock.Dir(), restoredFile), []byte(note), 0o600),
				os.WriteFile(filepath.Join(lock.Dir(), earlierFile), []byte("{}"), 0o600),
				lock.Uses().Save([]byte("before")), lock.Beats().Keep([]string{"sess_a"}),
			)
			if err != nil {
				t.Fatal(err)
			}
			kept := lock.Keep()
			err = errors.Join(lock.Uses().Save([]byte(`{"t":1}`)), lock.Beats().Add("sess_b"))
			if news := kept.Look(); err != nil || len(news) != 0 {
				t.Fatalf("what the server itself wrote: %v, %v", news, err)
			}
			want := map[string]string{
				restoredFile: note, earlierFile: "{}", usesFile: `{"t":1}`, beatsFile: "sess_a\nsess_b\n",
			}
			for name := range want {
				if err := change(filepath.Join(lock.Dir(), name)); err != nil {
					t.Fatal(err)
				}
			}
			if news := kept.Look(); len(news) != len(want) || len(kept.Found()) != 0 {
				t.Errorf("found %+v, and %+v", news, kept.Found())
			}
			for name, want := range want {
				if got, err := os.ReadFile(filepath.Join(lock.Dir(), name)); err != nil || string(got) != want {
					t.Errorf("%s contains %q, %v; expected %q", name, got, err, want)
				}
				_, err := os.Lstat(filepath.Join(lock.Dir(), name) + changedSuffix)
				if (err == nil) != (what != "deleted") {
					t.Errorf("%s is set aside: %v", name, err)
				}
			}
		})
	}
}

// A server announces another certificate while it runs: that is kept, and not the earlier one, even if it could not be
// written.
func TestLaterAnnouncementIsKept(t *testing.T) {
	lock, _ := served(t)
	kept := lock.Keep()
	path := filepath.Join(lock.Dir(), serverFile)
	later := Server{Address: "https://127.0.0.1:1", PID: 1, Certificate: "later"}
	if err := lock.Announce(later); err != nil {
		t.Fatal(err)
	}
	if news := kept.Look(); len(news) != 0 {
		t.Errorf("what the server itself wrote: %+v", news)
	}
	if err := os.WriteFile(path, []byte("other\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if news := kept.Look(); len(news) != 1 || !news[0].Restored {
		t.Errorf("what somebody else wrote: %+v", news)
	}
	if server, err := lock.Server(); err != nil || server != later {
		t.Errorf("it names %+v, %v", server, err)
	}
	later.Certificate = "latest"
	if err := errors.Join(os.Remove(path), os.MkdirAll(filepath.Join(path, "full"), 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := lock.Announce(later); err == nil {
		t.Fatal("it is written over a directory")
	}
	if news := kept.Look(); len(news) != 1 || !news[0].Restored {
		t.Errorf("after a write that failed: %+v", news)
	}
	if server, err := lock.Server(); err != nil || server != later {
		t.Errorf("it names %+v, %v", server, err)
	}
}

// A lost list is not restarted with the next line. An empty list has no file, and the missing file is not reported.
func TestLostListsAreNotRestarted(t *testing.T) {
	lock, _ := served(t)
	if err := lock.Beats().Keep([]string{"sess_a"}); err != nil {
		t.Fatal(err)
	}
	kept := lock.Keep()
	err := errors.Join(os.Remove(filepath.Join(lock.Dir(), beatsFile)), lock.Beats().Add("sess_b"))
	if beats, loadErr := lock.Beats().Load(); err != nil || loadErr != nil || len(beats) != 2 {
		t.Errorf("%v, %v, %v", beats, err, loadErr)
	}
	if err := lock.Beats().Keep(nil); err != nil {
		t.Fatal(err)
	}
	if news := kept.Look(); len(news) != 0 {
		t.Errorf("found %+v", news)
	}
}
