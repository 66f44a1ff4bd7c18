package bus

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"maestro/internal/disk"
	"maestro/internal/files"
)

// asideInfix separates the name of a store's directory from the timestamp in the name of a directory set aside from it.
const asideInfix = ".damaged-"

// faultsName is the file in a copy that describes the damage.
const faultsName = "damage.json"

// damageNote is the content of damage.json.
type damageNote struct {
	// Sum is a digest that distinguishes one damage from another.
	Sum    string  `json:"sum"`
	Faults []Fault `json:"faults"`
}

func noteOf(faults []Fault) (damageNote, error) {
	content, err := json.Marshal(faults)
	if err != nil {
		return damageNote{}, err
	}
	sum := sha256.Sum256(content)
	return damageNote{Sum: hex.EncodeToString(sum[:]), Faults: faults}, nil
}

func writeFaults(dir string, faults []Fault) error {
	note, err := noteOf(faults)
	if err != nil {
		return err
	}
	content, err := json.MarshalIndent(note, "", "  ")
	if err != nil {
		return err
	}
	return writeAtomically(filepath.Join(dir, faultsName), content, []byte("\n"))
}

// newAside creates an empty directory beside the store.
func (e *embedded) newAside(what string) (string, error) {
	for n := 1; ; n++ {
		path := e.asidePath(what, n)
		err := disk.Mkdir(path, 0o700)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("make room for what is damaged: %w", full(err))
		}
		return path, syncPath(filepath.Dir(path))
	}
}

func (e *embedded) asidePath(what string, n int) string {
	path := e.dir + asideInfix + time.Now().UTC().Format("20060102T150405Z")
	if what != "" {
		path += "-" + strings.ToLower(what)
	}
	if n > 1 {
		path = fmt.Sprintf("%s-%d", path, n)
	}
	return path
}

// copyAside creates a directory beside the store and lets fill copy a part of the store into it: completely and
// durably, or not at all. The directory has a temporary name until it is complete. The next start removes what a killed
// server leaves of it.
func (e *embedded) copyAside(what string, faults []Fault, fill func(dir string) error) (string, error) {
	making, err := e.newAside(copyingAside)
	if err != nil {
		return "", err
	}
	if err = fill(making); err == nil {
		err = errors.Join(writeFaults(making, faults), syncTree(making))
	}
	for n := 1; err == nil; n++ {
		path := e.asidePath(what, n)
		if _, taken := disk.Lstat(path); taken == nil {
			continue
		}
		if err = disk.Rename(making, path); err == nil {
			return path, syncPath(filepath.Dir(path))
		}
	}
	return "", errors.Join(full(err), disk.RemoveAll(making))
}

// setAsideBlocks copies the blocks of the log from a torn record on.
func (e *embedded) setAsideBlocks(log *scannedStream, torn Fault) (string, error) {
	index, _ := blockIndex(filepath.Base(torn.File))
	aside, err := e.copyAside(tailAside, log.faults, func(dir string) error {
		for i := range log.blocks {
			if log.blocks[i].index < index {
				continue
			}
			file := filepath.Join(filepath.Dir(torn.File), blockName(log.blocks[i].index))
			if err := copyFile(filepath.Join(e.dir, file), filepath.Join(dir, file)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("set the torn end of the log aside: %w", err)
	}
	return aside, nil
}

// copyDamaged copies a damaged store to a directory beside it. It returns "" if there is a copy of the same damage
// already or too little room: the copy takes at most half of the free room.
func (e *embedded) copyDamaged(faults []Fault) (string, error) {
	note, err := noteOf(faults)
	if err != nil {
		return "", err
	}
	copies, err := filepath.Glob(globEscape(e.dir) + asideInfix + "*")
	if err != nil {
		return "", err
	}
	for _, dir := range copies {
		var other damageNote
		content, err := readFile(filepath.Join(dir, faultsName), maxNotes)
		if err == nil && json.Unmarshal(content, &other) == nil && other.Sum == note.Sum {
			return dir, nil
		}
	}
	size, err := files.TreeSize(e.dir)
	if err != nil {
		return "", err
	}
	if free, ok := freeBytes(e.dir); ok && free/2 < size {
		e.logger.Warn("there is too little room for a copy of the damaged store", "needed", size, "free", free)
		return "", nil
	}
	copied, err := e.copyAside("", faults, func(dir string) error {
		return disk.WalkDir(e.dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() || entry.Name() == lockName {
				return ignoreMissing(err)
			}
			relative, err := filepath.Rel(e.dir, path)
			if err != nil {
				return err
			}
			return copyFile(path, filepath.Join(dir, relative))
		})
	})
	if err != nil {
		return "", fmt.Errorf("copy the damaged store: %w", err)
	}
	return copied, nil
}

// copyingAside names a copy that is not complete yet.
const copyingAside = "copying"

// otherAside names a directory that holds what was found in the place of one of the store's files.
const otherAside = "other"

// globEscape escapes a path so that it matches only itself.
func globEscape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

func copyFile(from, to string) error {
	in, err := disk.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	if err := disk.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	return files.Copy(in, to)
}
