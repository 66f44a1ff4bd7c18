//go:build unix

package home

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// No link leads out of a skill's folder, or out of the home, and no pipe delays an answer.
func TestSkillsFollowNoLinks(t *testing.T) {
	h := skillHome(t, map[string]string{"tests/SKILL.md": "---\nname: x\n---\n", "piped/x": "", "linked/x": ""})
	outside := filepath.Join(t.TempDir(), "outside")
	secret := filepath.Join(outside, skillFile)
	below := func(name string) string { return filepath.Join(h.dir, skillsDir, name) }
	err := errors.Join(
		os.Mkdir(outside, 0o700), os.WriteFile(secret, []byte("---\nname: secret\n---\n"), 0o600),
		os.Symlink(outside, below("folder")), os.Symlink(below("tests"), below("inside")),
		os.Symlink(secret, filepath.Join(below("linked"), skillFile)),
		syscall.Mkfifo(filepath.Join(below("piped"), skillFile), 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}
	if found, err := h.Skills(); err != nil || len(found) != 1 || found[0].ID != "tests" {
		t.Errorf("%+v %v", found, err)
	}
	for _, id := range []string{"folder", "inside", "linked", "piped"} {
		if skill, err := h.Skill(id); err == nil || strings.Contains(err.Error(), h.dir) {
			t.Errorf("%s: %+v %v", id, skill, err)
		}
	}
	if err := errors.Join(os.RemoveAll(below("")), os.Symlink(outside, below(""))); err != nil {
		t.Fatal(err)
	}
	if found, err := h.Skills(); err == nil && len(found) > 0 {
		t.Errorf("through a link in the place of the folder: %+v", found)
	}
}
