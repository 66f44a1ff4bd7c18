package home

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"maestro/internal/disk"
	"maestro/internal/files"
	"maestro/service/wire"
)

// The limits of a skill that is added: its files, and their bytes.
const (
	skillFiles = 500
	skillTotal = 16 << 20
)

// SkillError says why a folder is not a skill. Match it with errors.As.
type SkillError struct {
	Message, Next string
	// Exists says that there is a skill with that id, Missing that there is none.
	Exists, Missing bool
}

func (e *SkillError) Error() string { return e.Message }

// AddSkill copies a folder into the home's skills, completely or not at all, and returns the skill. It fails with
// *SkillError if the folder is none. Links are not copied.
func (h *Home) AddSkill(id, folder string, replace bool) (wire.Skill, error) {
	if !skillID().MatchString(id) {
		return wire.Skill{}, &SkillError{
			Message: fmt.Sprintf("'%s' is not an id of a skill: it has letters, digits, - and _", id),
			Next:    "name another one with --id",
		}
	}
	if err := h.root.Mkdir(skillsDir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return wire.Skill{}, fmt.Errorf("make the directory of skills: %w", err)
	}
	place := path.Join(skillsDir, id)
	if _, err := h.root.Lstat(place); err == nil && !replace {
		return wire.Skill{}, &SkillError{
			Message: "There is a skill '" + id + "' already",
			Next:    "name another id with --id, or replace it with --replace",
			Exists:  true,
		}
	}
	// No skill has a name with a dot, so nobody uses the copy before it is complete.
	copied := path.Join(skillsDir, "."+id+".new")
	if err := h.root.RemoveAll(copied); err != nil {
		return wire.Skill{}, fmt.Errorf("remove an earlier copy: %w", err)
	}
	skill, err := h.copySkill(id, folder, copied)
	if err != nil {
		return wire.Skill{}, errors.Join(err, h.root.RemoveAll(copied))
	}
	if err := h.root.RemoveAll(place); err != nil {
		return wire.Skill{}, fmt.Errorf("replace a skill: %w", err)
	}
	if err := h.root.Rename(copied, place); err != nil {
		return wire.Skill{}, fmt.Errorf("add a skill: %w", err)
	}
	return skill, nil
}

// RemoveSkill removes a folder from the home's skills, also one that is no skill any more. It fails with *SkillError if
// there is none. A run that uses the skill keeps what it has.
func (h *Home) RemoveSkill(id string) error {
	place := path.Join(skillsDir, id)
	if info, err := h.root.Lstat(place); !skillID().MatchString(id) || errors.Is(err, fs.ErrNotExist) ||
		err == nil && !info.IsDir() {
		return h.noSkill(id)
	} else if err != nil {
		return fmt.Errorf("remove a skill: %w", err)
	}
	// No skill has a name with a dot, so nobody uses what is left of it meanwhile.
	leaving := path.Join(skillsDir, "."+id+".old")
	if err := h.root.RemoveAll(leaving); err != nil {
		return fmt.Errorf("remove an earlier skill: %w", err)
	}
	if err := h.root.Rename(place, leaving); err != nil {
		return fmt.Errorf("remove a skill: %w", err)
	}
	if err := h.root.RemoveAll(leaving); err != nil {
		return fmt.Errorf("remove a skill: %w", err)
	}
	return nil
}

// noSkill says which skills there are instead of one that is not there.
func (h *Home) noSkill(id string) error {
	missing := &SkillError{
		Message: fmt.Sprintf("There is no skill '%s' in the home %s", id, h.dir),
		Next:    "there are no skills in it; name another home with MAESTRO_HOME",
		Missing: true,
	}
	skills, err := h.Skills()
	if err != nil {
		return err
	}
	var ids []string
	for _, skill := range skills {
		ids = append(ids, skill.ID)
	}
	if len(ids) > 0 {
		missing.Next = "name one of its skills: " + strings.Join(ids, ", ")
	}
	return missing
}

// copySkill copies a folder, and reads the copy as a skill.
func (h *Home) copySkill(id, folder, to string) (skill wire.Skill, err error) {
	from, err := disk.OpenRoot(folder)
	if err != nil {
		return skill, &SkillError{
			Message: "The folder " + folder + " cannot be read: " + files.Bare(err).Error(),
			Next:    "name a folder with a " + skillFile,
		}
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	count, total := 0, int64(0)
	err = fs.WalkDir(from.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := path.Join(to, filepath.ToSlash(name))
		switch {
		case entry.IsDir():
			return h.root.Mkdir(target, 0o700)
		case !entry.Type().IsRegular():
			return nil
		}
		if count++; count > skillFiles {
			return &SkillError{
				Message: fmt.Sprintf("The folder has more than %d files", skillFiles), Next: "leave files out",
			}
		}
		n, err := h.copyFile(from, name, target, skillTotal-total)
		total += n
		return err
	})
	if err != nil {
		return skill, err
	}
	text, err := files.Read(h.root, path.Join(to, skillFile), skillBytes+1)
	if errors.Is(err, fs.ErrNotExist) {
		return skill, &SkillError{
			Message: "The folder " + folder + " has no " + skillFile,
			Next:    "write one: a front matter between two lines ---, and the instructions",
		}
	}
	if err != nil {
		return skill, err
	}
	if skill, err = parseSkill(id, text); err != nil {
		return skill, &SkillError{
			Message: "The folder is not a skill: " + err.Error(), Next: "correct its " + skillFile,
		}
	}
	return skill, nil
}

// copyFile copies one file of at most so many bytes.
func (h *Home) copyFile(from *disk.Root, name, to string, most int64) (n int64, err error) {
	in, err := from.Open(name)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	out, err := files.Create(h.root, to)
	if err != nil {
		return 0, err
	}
	n, err = io.Copy(out, io.LimitReader(in, most+1))
	if err == nil && n > most {
		err = &SkillError{
			Message: fmt.Sprintf("The folder has more than %d MiB", skillTotal>>20), Next: "leave files out",
		}
	}
	return n, errors.Join(err, out.Close())
}

// SkillFiles returns the files of a skill; the caller closes them. It fails with fs.ErrNotExist if there is none.
func (h *Home) SkillFiles(id string) (*disk.Root, error) {
	if _, err := h.Skill(id); err != nil {
		return nil, err
	}
	return disk.OpenRoot(filepath.Join(h.dir, skillsDir, id))
}
