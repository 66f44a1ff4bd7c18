package home

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A damaged record of the key is named, and the key is not blamed, while the other record or the rest of this one shows
// that it is right. Only a key that neither record fits is the wrong one; so is that of a home into which the store of
// another was moved.
func TestKeyRecordsAreWeighed(t *testing.T) {
	const own, other = "0123456789abcdef", "fedcba9876543210"
	for _, c := range []struct {
		name, version, mark string
		another             bool
		damaged             []string
	}{
		{"none", "", "", false, nil},
		{"both", own, own, false, nil},
		{"the mark alone", "", own, false, nil},
		{"the version alone", own, "", false, nil},
		{"a flipped mark", own, "0123456789abcdeg", false, []string{keyMarkFile}},
		{"a flipped version", "1123456789abcdef", own, false, []string{versionFile}},
		{"both flipped", "1123456789abcdef", "0123456789abcdeg", false, []string{versionFile, keyMarkFile}},
		{"a flipped mark alone", "", "0123456789abcdee", false, []string{keyMarkFile}},
		{"junk for a mark", own, "junk", false, []string{keyMarkFile}},
		{"junk for a version", "junk", own, false, []string{versionFile}},
		{"another key's version", other, own, false, []string{versionFile}},
		{"another key's mark", own, other, true, nil},
		{"another key", other, other, true, nil},
		{"another key, by the mark", "", other, true, nil},
		{"another key, by the version", other, "", true, nil},
		{"another key, and junk for a mark", other, "junk", true, nil},
		{"only junk", "junk", "junk", true, nil},
	} {
		records := keyRecords{c.version, c.mark}
		if another, damaged := records.areOfAnother(own), records.damaged(own); another != c.another ||
			!slices.Equal(damaged, c.damaged) {
			t.Errorf("%s: another key %t, damaged %q", c.name, another, damaged)
		}
	}
}

// A copy of a home with a damaged record of its key has the right one.
func TestCopyMendsKeyRecords(t *testing.T) {
	for _, name := range []string{versionFile, keyMarkFile} {
		lock, secrets := served(t)
		path, own := filepath.Join(lock.Dir(), name), Fingerprint(secrets.ServerKey)
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		damaged := strings.Replace(string(content), own, own[:5]+"g"+own[6:], 1)
		if err := os.WriteFile(path, []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := lock.Secrets(); err != nil {
			t.Errorf("with a damaged %s, a start fails: %v", name, err)
		}
		if named := lock.DamagedKeyRecords(); !slices.Equal(named, []string{path}) {
			t.Errorf("%s is damaged, and named are %q", name, named)
		}
		to := t.TempDir()
		if err := os.Chmod(to, 0o700); err != nil {
			t.Fatal(err)
		}
		left, err := lock.CopyRest(to)
		if err != nil || len(left) != 1 || left[0].Path != name {
			t.Errorf("of a damaged %s, left are %v, %v", name, left, err)
		}
		copied, err := Open(to)
		if err != nil {
			t.Fatal(err)
		}
		wrote, err := copied.Version()
		if err != nil || wrote.Key != own || wrote.Maestro != "v1" {
			t.Errorf("with a damaged %s, the copy has %+v, %v", name, wrote, err)
		}
		for _, h := range []*Home{copied, lock.Home} {
			if err := h.CheckKey(); err != nil {
				t.Errorf("with a damaged %s: %v", name, err)
			}
		}
		_ = copied.Close()
	}
}
