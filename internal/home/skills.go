package home

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"maestro/internal/files"
	"maestro/internal/lazyregexp"
	"maestro/service/wire"
)

// skillsDir holds a directory for each skill, which the user puts there. A skill is its SKILL.md.
const (
	skillsDir = "skills"
	skillFile = "SKILL.md"
)

const (
	// skillBytes bounds a skill's file, skillHead its front matter.
	skillBytes = 256 << 10
	skillHead  = 16 << 10
	// skillsMost bounds the skills that are listed, skillNames the entries of the directory that are looked at.
	skillsMost = 200
	skillNames = 1000
	// skillRoles bounds the roles of a skill.
	skillRoles = 10
)

// The type and the version of a skill that does not say them.
const (
	plainSkill   = "skill"
	firstVersion = "1.0.0"
)

// skillID is the form of a skill's id: the name of its directory.
var skillID = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// Skills returns the skills that can be used, by id, without their instructions: at most 200.
func (h *Home) Skills() ([]wire.Skill, error) {
	dir, err := files.OpenDir(h.root, skillsDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the skills: %w", err)
	}
	entries, err := dir.ReadDir(skillNames)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err = errors.Join(err, dir.Close()); err != nil {
		return nil, fmt.Errorf("list the skills: %w", err)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	var skills []wire.Skill
	for _, entry := range entries {
		text, err := h.readSkill(entry.Name(), skillHead)
		if err != nil {
			continue
		}
		skill, err := parseSkill(entry.Name(), text)
		if err != nil {
			continue // [Home.Skill] says what is wrong with it
		}
		skill.Instructions = ""
		if skills = append(skills, skill); len(skills) == skillsMost {
			break
		}
	}
	return skills, nil
}

// Skill returns a skill with its instructions. It fails with fs.ErrNotExist if there is none. Any other error says what
// is wrong with it, without paths of this machine.
func (h *Home) Skill(id string) (wire.Skill, error) {
	text, err := h.readSkill(id, skillBytes+1)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return wire.Skill{}, fs.ErrNotExist
	case err != nil:
		return wire.Skill{}, fmt.Errorf("%s cannot be read: %w", skillFile, files.Bare(err))
	case len(text) > skillBytes:
		return wire.Skill{}, fmt.Errorf("%s has more than %d KiB", skillFile, skillBytes>>10)
	}
	return parseSkill(id, text)
}

// readSkill reads the first bytes of a skill's file. It follows no link and waits for no other process.
func (h *Home) readSkill(id string, most int64) ([]byte, error) {
	if !skillID().MatchString(id) {
		return nil, fs.ErrNotExist
	}
	for _, name := range []string{skillsDir, path.Join(skillsDir, id)} {
		if info, err := h.root.Lstat(name); err != nil {
			return nil, err
		} else if !info.IsDir() {
			return nil, fs.ErrNotExist
		}
	}
	f, err := files.Open(h.root, path.Join(skillsDir, id, skillFile), os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, most))
	return text, errors.Join(err, f.Close())
}

// skillFront is the front matter of a skill. Fields of other programs are ignored.
type skillFront struct {
	Name        string   `yaml:"name"`
	Description string   `yaml:"description"`
	Type        string   `yaml:"type"`
	Version     string   `yaml:"version"`
	Roles       []string `yaml:"roles"`
}

// parseSkill reads a skill's file, or its beginning: the front matter between two lines ---, and the instructions.
func parseSkill(id string, text []byte) (wire.Skill, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	rest, begins := bytes.CutPrefix(text, []byte("---\n"))
	front, instructions, ends := bytes.Cut(rest, []byte("\n---\n"))
	if !ends {
		front, ends = bytes.CutSuffix(rest, []byte("\n---"))
		instructions = nil
	}
	switch {
	case !begins || !ends:
		return wire.Skill{}, fmt.Errorf("%s has no front matter between two lines ---", skillFile)
	case len(front) > skillHead:
		return wire.Skill{}, fmt.Errorf("the front matter of %s has more than %d KiB", skillFile, skillHead>>10)
	case !utf8.Valid(front):
		return wire.Skill{}, fmt.Errorf("the front matter of %s is not UTF-8", skillFile)
	}
	said := skillFront{Name: id, Type: plainSkill, Version: firstVersion}
	if err := yaml.Unmarshal(front, &said); err != nil {
		return wire.Skill{}, fmt.Errorf("the front matter of %s is not YAML: %w", skillFile, err)
	}
	if len(said.Roles) > skillRoles {
		return wire.Skill{}, fmt.Errorf("the front matter of %s has more than %d roles", skillFile, skillRoles)
	}
	return wire.Skill{
		ID:           id,
		Name:         strings.TrimSpace(said.Name),
		Description:  strings.TrimSpace(said.Description),
		Type:         said.Type,
		Version:      said.Version,
		Roles:        said.Roles,
		Instructions: strings.TrimSpace(string(instructions)),
	}, nil
}
