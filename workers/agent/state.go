package agent

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
)

// state is the directory of one agent below Launch.State. The agent can write to both, and to the directory that holds
// Launch.State, so an earlier run may have left links or directories there: operations never leave that directory, and
// replace what is in the way.
type state struct {
	root *disk.Root
	// dir is the directory's name below the root.
	dir string
}

// openState creates the agent's directory if necessary.
func openState(l *Launch, agent string) (*state, error) {
	if !filepath.IsAbs(l.State) {
		return nil, fmt.Errorf("the state directory %q of an agent is not absolute", l.State)
	}
	above, name := filepath.Split(l.State)
	if err := disk.MkdirAll(above, 0o700); err != nil {
		return nil, err
	}
	root, err := disk.OpenRoot(filepath.Clean(above))
	if err != nil {
		return nil, err
	}
	s := &state{root, path.Join(name, agent)}
	if err := s.mkdir("."); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return s, nil
}

// closing closes the directory, and adds what fails to err.
func (s *state) closing(err *error) { *err = errors.Join(*err, s.root.Close()) }

// path returns the absolute path of a file.
func (s *state) path(name string) string {
	return filepath.Join(s.root.Name(), s.dir, filepath.FromSlash(name))
}

// mkdir creates a directory and those above it. It removes a link or file with the name of one of them.
func (s *state) mkdir(name string) error {
	dir := ""
	for part := range strings.SplitSeq(path.Join(s.dir, name), "/") {
		dir = path.Join(dir, part)
		info, err := s.root.Lstat(dir)
		if err == nil && !info.IsDir() {
			if err := s.root.Remove(dir); err != nil {
				return err
			}
			err = fs.ErrNotExist
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = s.root.Mkdir(dir, 0o700)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// remove removes a file or directory, if it is there.
func (s *state) remove(name string) error {
	return s.root.RemoveAll(path.Join(s.dir, name))
}

// write replaces whatever has the name by a file for this user alone.
func (s *state) write(name string, content []byte) error {
	if err := s.mkdir(path.Dir(name)); err != nil {
		return err
	}
	name = path.Join(s.dir, name)
	if err := s.root.RemoveAll(name); err != nil {
		return err
	}
	return files.WriteCopy(s.root, name+".new", name, content)
}

// The bounds of what is copied for an agent.
const (
	maxLogin      = 1 << 20
	maxSkillFile  = 4 << 20
	maxSkillFiles = 500
)

// copyLogin copies a login that the user's own CLI has stored, unless the agent has a later one: a CLI renews its login
// while it runs. Without such a file it does nothing.
func (s *state) copyLogin(from, name string) error {
	content, changed, err := readLogin(from)
	if content == nil || err != nil {
		return err
	}
	own, err := s.root.Lstat(path.Join(s.dir, name))
	if err == nil && own.Mode().IsRegular() && own.ModTime().Unix() > changed {
		return nil
	}
	return s.write(name, content)
}

// readLogin returns a stored login, and when it was last changed; nil if there is none.
func readLogin(from string) (content []byte, changed int64, err error) {
	if _, err := disk.Stat(from); errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	f, err := files.OpenNamed(from)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	content, err = io.ReadAll(io.LimitReader(f, maxLogin+1))
	if err == nil && len(content) > maxLogin {
		err = fmt.Errorf("the login in %s has more than %d bytes", from, maxLogin)
	}
	return content, info.ModTime().Unix(), err
}

// copySkills replaces the skills of a directory.
func (s *state) copySkills(skills []Skill, dir string) error {
	if err := s.remove(dir); err != nil {
		return err
	}
	for _, skill := range skills {
		if !fs.ValidPath(skill.Name) || strings.Contains(skill.Name, "/") || skill.Name == "." {
			return fmt.Errorf("a skill cannot have the name %q", skill.Name)
		}
		if err := s.copySkill(skill, path.Join(dir, skill.Name)); err != nil {
			return fmt.Errorf("cannot copy the skill %s: %w", skill.Name, err)
		}
	}
	return nil
}

func (s *state) copySkill(skill Skill, to string) error {
	count := 0
	return fs.WalkDir(skill.Files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if count++; count > maxSkillFiles {
			return fmt.Errorf("it has more than %d files", maxSkillFiles)
		}
		if !entry.Type().IsRegular() {
			return fmt.Errorf("%s is not a file", name)
		}
		f, err := skill.Files.Open(name)
		if err != nil {
			return err
		}
		content, err := io.ReadAll(io.LimitReader(f, maxSkillFile+1))
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
		if len(content) > maxSkillFile {
			return fmt.Errorf("%s has more than %d bytes", name, maxSkillFile)
		}
		return s.write(path.Join(to, name), content)
	})
}

// maxNotes bounds the CLAUDE.md that is passed on.
const maxNotes = 64 << 10

// projectNotes returns the text of a file in the target, "" if there is none. It follows no link out of the target.
func projectNotes(target, name string) (string, error) {
	root, err := disk.OpenRoot(target)
	if err != nil {
		return "", err
	}
	content, err := files.Read(root, name, maxNotes)
	var irregular *files.IrregularError
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, &irregular) {
		content, err = nil, nil
	}
	return string(content), errors.Join(err, root.Close())
}
