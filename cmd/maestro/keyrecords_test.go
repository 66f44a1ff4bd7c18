package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"maestro/internal/cli"
)

// A home starts although one of the records of its key is damaged; the start names the record and writes it again, and
// a salvage does not blame the key.
func TestDamagedKeyRecordIsMended(t *testing.T) {
	dir := used(t)
	mark := filepath.Join(dir, "store", "key.id")
	content, err := os.ReadFile(mark)
	if err != nil {
		t.Fatal(err)
	}
	own := strings.TrimSpace(string(content))
	for _, path := range []string{mark, filepath.Join(dir, "version")} {
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		damaged := strings.Replace(string(before), own, "g"+own[1:], 1)
		if err := os.WriteFile(path, []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(t.TempDir(), "new")
		got := runHere(t, nil, "salvage", "--home", dir, "--new-home", to)
		if got.code != cli.ExitDone || strings.Contains(got.stdout+got.stderr, "--new-key") {
			t.Errorf("with a damaged %s, the salvage says %+v", path, got)
		}
		for _, home := range []string{to, dir} {
			s := &inside{t: t, home: home}
			s.start("--backup-every", "off")
			said := s.said.String()
			if strings.Contains(s.banner, "READ-ONLY") || strings.Contains(said, path) != (home == dir) {
				t.Errorf("with a damaged %s, the server of %s starts with %q: %s", path, home, s.banner, said)
			}
			s.stop()
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
			t.Errorf("%s is %q afterwards, %v", path, after, err)
		}
	}
}
