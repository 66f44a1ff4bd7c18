package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"maestro/bus"
	"maestro/service/wire"
)

// A server whose home loses a file that the next start needs writes it back, or says in /readyz what is missing.
func TestServerKeepsFilesOfItsHome(t *testing.T) {
	s := &inside{t: t, home: filepath.Join(t.TempDir(), "home")}
	s.start("--backup-every", "off")
	s.do("project:create", map[string]any{"name": "P"})
	names := []string{"server.key", "version", "server.json", "head", filepath.Join("store", "key.id")}
	before := map[string]string{}
	for _, name := range names {
		path := filepath.Join(s.home, name)
		content, err := s.file(path) // the head file comes a little later
		before[name] = string(content)
		if err := errors.Join(err, os.Remove(path)); err != nil {
			t.Fatal(err)
		}
	}
	token := filepath.Join(s.home, "admin.token")
	if err := os.Rename(token, token+".away"); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		path := filepath.Join(s.home, name)
		content, err := s.file(path)
		if info, statErr := os.Lstat(path); err != nil || statErr != nil || string(content) != before[name] ||
			info.Mode() != 0o600 {
			t.Errorf("%s is %v with %q, %v", name, info, content, err)
		}
	}
	if warnings := s.warnings(1); warnings[0].Code != "HOME" || !strings.Contains(warnings[0].Message, token) ||
		!strings.Contains(warnings[0].Next, "restart the server") {
		t.Errorf("readyz warns of %+v", warnings)
	}
	if err := os.Rename(token+".away", token); err != nil {
		t.Fatal(err)
	}
	s.warnings(0)
	s.stop()
	if _, err := os.Lstat(filepath.Join(s.home, "server.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a stopped server says where it listens: %v", err)
	}
	s.start("--backup-every", "off")
	if strings.Contains(s.banner, "READ-ONLY") {
		t.Errorf("it starts with %q", s.banner)
	}
}

// If the backup directory becomes a link into the home while the server runs, the server writes no more backups there,
// and /readyz says what to do.
func TestBackupsDoNotGoIntoTheHomeByALink(t *testing.T) {
	s := &inside{t: t, home: filepath.Join(t.TempDir(), "home")}
	backups, sessions := filepath.Join(t.TempDir(), "backups"), filepath.Join(s.home, "sessions")
	s.start("--backup-every", "1s", "--backup-dir", backups)
	err := errors.Join(os.RemoveAll(backups), os.MkdirAll(sessions, 0o700), os.Symlink(sessions, backups))
	if err != nil {
		t.Fatal(err)
	}
	s.do("project:create", map[string]any{"name": "P"})
	for made := 0; made == 0 && len(s.warned()) == 0; { // wait for a backup or a warning
		entries, err := os.ReadDir(sessions)
		if err != nil {
			t.Fatal(err)
		}
		made = len(entries)
	}
	if warnings := s.warned(); len(warnings) != 1 || warnings[0].Code != "BACKUP" ||
		!strings.Contains(warnings[0].Message, backups+" is inside "+s.home) ||
		!strings.Contains(warnings[0].Message, "start the server with another --backup-dir") {
		t.Errorf("readyz warns of %+v", warnings)
	}
	if entries, err := os.ReadDir(sessions); err != nil || len(entries) > 0 {
		t.Errorf("in the home are %v, %v", entries, err)
	}
}

// A head file that cannot be written is named in /readyz as long as that lasts.
func TestUnwritableHeadFileIsNamed(t *testing.T) {
	s := &inside{t: t, home: filepath.Join(t.TempDir(), "home")}
	s.start("--backup-every", "off")
	head := filepath.Join(s.home, "head")
	s.do("project:create", map[string]any{"name": "P"})
	if _, err := s.file(head); err != nil { // it comes a little later
		t.Fatal(err)
	}
	full := filepath.Join(head+bus.DamagedSuffix, "full") // so that whatever is in its place cannot be moved there
	err := os.MkdirAll(full, 0o700)
	for first := true; err == nil && first || errors.Is(err, os.ErrExist); first = false { // it may come in between
		err = errors.Join(os.Remove(head), os.Mkdir(head, 0o700))
	}
	if err != nil {
		t.Fatal(err)
	}
	s.do("project:create", map[string]any{"name": "Q"})
	warnings := s.warnings(1)
	if warnings[0].Code != "HOME" || !strings.Contains(warnings[0].Message, head+" cannot be written") {
		t.Errorf("readyz warns of %+v", warnings)
	}
	if err := errors.Join(os.Remove(head), os.RemoveAll(head+bus.DamagedSuffix)); err != nil {
		t.Fatal(err)
	}
	s.warnings(0)
}

// A start names the leftovers of a killed salvage that was to create this home, and removes files that its server left
// half written.
func TestStartNamesLeftoversOfKilledSalvage(t *testing.T) {
	s := &inside{t: t, home: used(t)}
	left := filepath.Join(filepath.Dir(s.home), "."+filepath.Base(s.home)+".salvage-1")
	half := filepath.Join(s.home, ".head-"+strings.Repeat("A7", 13))
	if err := errors.Join(os.Mkdir(left, 0o700), os.WriteFile(half, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	s.start("--backup-every", "off")
	if said := s.said.String(); !strings.Contains(said, left) || !strings.Contains(said,
		"if this home is the one that you want") {
		t.Errorf("the start says %s", said)
	}
	if _, err := os.Lstat(half); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("half a head file is left: %v", err)
	}
}

// warnings waits until /readyz has n warnings.
func (s *inside) warnings(n int) (warned []wire.Warning) {
	s.t.Helper()
	if !comes(func() bool { warned = s.warned(); return len(warned) == n }) {
		s.t.Fatalf("after %s, /readyz has not %d warnings: %+v", longestWait, n, warned)
	}
	return warned
}

// file reads a file that the server writes soon.
func (s *inside) file(path string) (content []byte, err error) {
	s.t.Helper()
	comes(func() bool { content, err = os.ReadFile(path); return !errors.Is(err, os.ErrNotExist) })
	return content, err
}

// warned returns the warnings of /readyz.
func (s *inside) warned() []wire.Warning {
	s.t.Helper()
	var said struct{ Warnings []wire.Warning }
	_, body := s.ready()
	if err := json.Unmarshal([]byte(body), &said); err != nil {
		s.t.Fatal(err, body)
	}
	return said.Warnings
}

// backups waits for backups of a sequence, such as "-1-", and returns their paths.
func (s *inside) backups(dir, sequence string) (made []string) {
	s.t.Helper()
	if !comes(func() bool {
		var err error
		if made, err = filepath.Glob(filepath.Join(dir, "maestro-*"+sequence+"*.tar.gz")); err != nil {
			s.t.Fatal(err)
		}
		return len(made) > 0
	}) {
		s.t.Fatalf("no backup of event %s comes: %s", sequence, s.said.String())
	}
	return made
}
