package home

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"maestro/service/wire"
)

// skillHome makes a home with files below skills/.
func skillHome(t *testing.T, texts map[string]string) *Home {
	t.Helper()
	h, err := Create(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	for name, text := range texts {
		at := filepath.Join(h.dir, skillsDir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func TestSkills(t *testing.T) {
	h := skillHome(t, nil)
	if found, err := h.Skills(); err != nil || len(found) != 0 {
		t.Errorf("without a folder: %v %v", found, err)
	}
	h = skillHome(t, map[string]string{
		"tests/SKILL.md": "---\nname: Test writer\ndescription: >\n  Writes\n  tests\nversion: 2.1\ntype: role\n" +
			"roles: [worker]\nother: {a: 1}\n---\n\n# How\n---\nWrite.\n",
		"roles/SKILL.md":   "---\nroles: [" + strings.Repeat("a,", 11) + "]\n---\n",
		"Bare/SKILL.md":    "\ufeff---\r\ndescription: d\r\n---",
		"broken/SKILL.md":  "---\nname: [\n---\n",
		"none/SKILL.md":    "# No front matter\n",
		"open/SKILL.md":    "---\nname: x\n",
		"long/SKILL.md":    "---\nname: x\n---\n" + strings.Repeat("x", skillBytes),
		"head/SKILL.md":    "---\nname: " + strings.Repeat("x", skillHead) + "\n---\n",
		"bytes/SKILL.md":   "---\nname: \xff\n---\n",
		"empty/README.md":  "nothing",
		"a b/SKILL.md":     "---\nname: x\n---\n",
		"-flag/SKILL.md":   "---\nname: x\n---\n",
		"SKILL.md":         "---\nname: x\n---\n",
		"folder/SKILL.md/": "",
	})
	found, err := h.Skills()
	want := []wire.Skill{
		{
			ID:          "Bare",
			Name:        "Bare",
			Description: "d",
			Type:        "skill",
			Version:     "1.0.0",
		},
		{
			ID:      "long",
			Name:    "x",
			Type:    "skill",
			Version: "1.0.0",
		},
		{
			ID:          "tests",
			Name:        "Test writer",
			Description: "Writes tests",
			Type:        "role",
			Version:     "2.1",
			Roles:       []string{"worker"},
		},
	}
	if err != nil || !reflect.DeepEqual(found, want) {
		t.Errorf("%+v %v", found, err)
	}
	if skill, err := h.Skill("tests"); err != nil || skill.Instructions != "# How\n---\nWrite." {
		t.Errorf("%+v %v", skill, err)
	}
	for id, why := range map[string]string{
		"broken": "is not YAML", "none": "has no front matter", "open": "has no front matter",
		"roles": "has more than 10 roles", "long": "has more than 256 KiB",
		"head": "has more than 16 KiB", "bytes": "is not UTF-8",
	} {
		if _, err := h.Skill(id); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", id, err)
		}
	}
	for _, id := range []string{"nosuch", "empty", "a b", "-flag", "..", ".", "", "tests/../tests", "../skills/tests"} {
		if _, err := h.Skill(id); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: %v", id, err)
		}
	}
}
