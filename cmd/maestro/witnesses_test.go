package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"maestro/bus"
)

// backedUp gives a home with a stopped server whose log has two events, and the automatic backups of it behind each.
func backedUp(t *testing.T) (dir, backups string, made []string) {
	t.Helper()
	s := &inside{t: t, home: filepath.Join(t.TempDir(), "home")}
	backups = filepath.Join(t.TempDir(), "backups")
	s.start("--backup-every", "1s", "--backup-dir", backups)
	for _, sequence := range []string{"-1-", "-2-"} {
		s.do("project:create", map[string]any{"name": "P" + sequence})
		for found := 0; found == 0; s.ready() {
			files, err := filepath.Glob(filepath.Join(backups, "maestro-*"+sequence+"*.tar.gz"))
			if err != nil {
				t.Fatal(err)
			}
			found, made = len(files), append(made, files...)
		}
	}
	s.stop()
	return s.home, backups, made
}

// forget removes what remembers outside the log's blocks how far the log was.
func forget(t *testing.T, dir string) {
	t.Helper()
	err := errors.Join(
		os.Remove(filepath.Join(dir, "head")),
		os.RemoveAll(filepath.Join(dir, "snapshots")),
		os.Remove(filepath.Join(dir, "store", "clean.json")),
	)
	if err != nil {
		t.Fatal(err)
	}
}

// When head file, note and snapshots are lost, the automatic backups tell that the log ends too early. A restore of an
// older backup is no such loss.
func TestBackupsTellHowFarTheLogWas(t *testing.T) {
	dir, backups, made := backedUp(t)
	for what, test := range map[string]struct {
		change   func(dir string) error
		readOnly bool
	}{
		"whole": {func(string) error { return nil }, false},
		"cut": {func(dir string) error {
			block := filepath.Join(dir, "store", "jetstream", "$G", "streams", bus.StreamName, "msgs", "1.blk")
			content, err := os.ReadFile(block)
			if err != nil {
				return err
			}
			first := int64(content[0]) + int64(content[1])<<8 // each record begins with its length
			return os.Truncate(block, first)
		}, true},
		"no store": {func(dir string) error { return os.RemoveAll(filepath.Join(dir, "store")) }, true},
		"restored": {func(dir string) error {
			err := os.RemoveAll(filepath.Join(dir, "store"))
			if got := runHere(t, nil, "restore", made[0], "--home", dir); got.code != 0 {
				err = errors.Join(err, errors.New(got.stderr))
			}
			return err
		}, false},
	} {
		t.Run(what, func(t *testing.T) {
			s := &inside{t: t, home: filepath.Join(t.TempDir(), "home")}
			if err := os.CopyFS(s.home, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			err := errors.Join(
				os.Chmod(s.home, 0o700),
				os.Chmod(filepath.Join(s.home, "admin.token"), 0o600),
				os.Chmod(filepath.Join(s.home, "server.key"), 0o600),
			)
			if err != nil {
				t.Fatal(err)
			}
			forget(t, s.home)
			if err := test.change(s.home); err != nil {
				t.Fatal(err)
			}
			s.start("--backup-every", "off", "--backup-dir", backups)
			if strings.Contains(s.banner, "READ-ONLY") != test.readOnly {
				t.Errorf("the server starts with %q", s.banner)
			}
		})
	}
}
