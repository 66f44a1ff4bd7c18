package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"maestro/api/export"
	"maestro/bus"
	"maestro/events"
	"maestro/internal/cli"
	"maestro/internal/files"
	"maestro/internal/home"
)

// restoreBlocked restores content into a home in which no note can be written: the result is what a restore leaves if
// it is killed as soon as its log is in place.
func restoreBlocked(t *testing.T, dir string, content []byte, args ...string) ran {
	t.Helper()
	in, out := io.Pipe()
	var blocked []string
	done := make(chan error, 1)
	go func() {
		first, last := 64, len(content)-1
		_, err := out.Write(content[:first]) // they identify the file; then the home is created and checked
		if err == nil {
			_, err = out.Write(content[first:last])
		}
		for _, name := range []string{home.RestoreNote, home.EarlierNote} {
			path := filepath.Join(dir, "."+name+".new")
			blocked = append(blocked, path)
			err = errors.Join(err, os.MkdirAll(filepath.Join(path, "full"), 0o700))
		}
		if err == nil {
			_, err = out.Write(content[last:])
		}
		done <- errors.Join(err, out.Close())
	}()
	var stdout, stderr bytes.Buffer
	env := []string{"HOME=" + t.TempDir()}
	code := run(t.Context(), append([]string{"restore", "-", "--home", dir}, args...), env, in, &stdout, &stderr)
	_ = in.Close()
	if err := <-done; err != nil && !errors.Is(err, io.ErrClosedPipe) {
		t.Fatal(err)
	}
	for _, path := range blocked {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
	return ran{code, stdout.String(), stderr.String()}
}

// As soon as the log of a restore has its final name, the home knows which backups existed before and what was
// accepted, and running the same restore again succeeds.
func TestRestoreKilledAfterItsLog(t *testing.T) {
	dir, _, made := backedUp(t)
	older, err := os.ReadFile(made[0])
	if err != nil {
		t.Fatal(err)
	}
	accepted := "level=WARN msg=\"this home was restored in spite of faults\""
	for what, test := range map[string]struct {
		args   []string
		file   []byte
		rerun  string // the path of file, if it has one
		warns  string
		others []string
	}{
		"an older backup": {
			file:   older,
			rerun:  made[0],
			others: []string{made[1]},
		},
		"accepted faults": {
			file:  asExport(t, made[0]),
			warns: accepted,
			args:  []string{"--accept-faults"},
		},
	} {
		for _, again := range []bool{false, true} {
			t.Run(what, func(t *testing.T) {
				s := &inside{t: t, home: filepath.Join(t.TempDir(), "home")}
				if err := os.Mkdir(s.home, 0o700); err != nil {
					t.Fatal(err)
				}
				for _, name := range []string{"server.key", "admin.token", "version"} {
					copyTo(t, filepath.Join(dir, name), filepath.Join(s.home, name))
				}
				beside := s.home + "-backups"
				if err := os.Mkdir(beside, 0o700); err != nil {
					t.Fatal(err)
				}
				for _, path := range made {
					copyTo(t, path, filepath.Join(beside, filepath.Base(path)))
				}
				restoreBlocked(t, s.home, test.file, test.args...)
				if !bus.HoldsLog(filepath.Join(s.home, "store")) {
					t.Fatal("the restore put no log in place")
				}
				if again {
					file := test.rerun
					if file == "" {
						file = filepath.Join(t.TempDir(), "export")
						if err := os.WriteFile(file, test.file, 0o600); err != nil {
							t.Fatal(err)
						}
					}
					for _, other := range test.others { // only the same log completes it
						got := runHere(t, nil, "restore", other, "--home", s.home)
						if got.code != cli.ExitConflict || !strings.Contains(got.stderr, "is not empty") {
							t.Errorf("another file: %+v", got)
						}
					}
					got := runHere(t, nil, append([]string{"restore", file, "--home", s.home}, test.args...)...)
					if got.code != cli.ExitDone || !strings.Contains(got.stdout, "Restored 1 event") {
						t.Errorf("run again: %+v", got)
					}
				}
				s.start("--backup-every", "off")
				s.stop()
				if strings.Contains(s.banner, "READ-ONLY") {
					t.Errorf("the server starts with %q and says %s", s.banner, s.said.String())
				}
				if !strings.Contains(s.said.String(), test.warns) {
					t.Errorf("the server does not warn: %s", s.said.String())
				}
				for _, name := range []string{home.RestoreNote, home.EarlierNote} {
					_, above := os.Lstat(filepath.Join(s.home, name))
					_, below := os.Lstat(filepath.Join(s.home, "store", name))
					if above != nil || !errors.Is(below, os.ErrNotExist) {
						t.Errorf("%s: in the home: %v, in its store: %v", name, above, below)
					}
				}
				got := runHere(t, nil, append([]string{"restore", made[0], "--home", s.home}, test.args...)...)
				if got.code != cli.ExitConflict {
					t.Errorf("a restore into a home that was served: %+v", got)
				}
			})
		}
	}
}

func copyTo(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err == nil {
		err = errors.Join(files.Copy(in, to), in.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// asExport returns the log of a backup as an export, which a home with a key accepts only with --accept-faults.
func asExport(t *testing.T, backup string) []byte {
	t.Helper()
	in, err := os.Open(backup)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	var lines []byte
	var head events.Head
	_, err = bus.ReadBackup(in, bus.BackupVisitor{Message: func(m events.Message) error {
		head = events.Head{Sequence: m.Sequence, Hash: events.Next(head.Hash, events.BodyHash(m.Body))}
		lines = export.Append(lines, m, head.Hash)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}
