package bus

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"maestro/internal/files"
)

// asideInfix comes between a store's directory and the time in the name of what is set aside of it.
const asideInfix = ".damaged-"

// faultsName is the file in a copy that says what was damaged.
const faultsName = "damage.json"

// damageNote is damage.json.
type damageNote struct {
	// Sum tells one damage from another.
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

// newAside makes an empty directory beside the store.
func (e *embedded) newAside(what string) (string, error) {
	name := e.dir + asideInfix + time.Now().UTC().Format("20060102T150405Z")
	if what != "" {
		name += "-" + strings.ToLower(what)
	}
	for n := 1; ; n++ {
		path := name
		if n > 1 {
			path = fmt.Sprintf("%s-%d", name, n)
		}
		err := os.Mkdir(path, 0o700)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("make room for what is damaged: %w", full(err))
		}
		return path, syncPath(filepath.Dir(path))
	}
}

// setAsideBlocks copies the blocks of the log from a torn place on.
func (e *embedded) setAsideBlocks(log *scannedStream, torn Fault) (string, error) {
	aside, err := e.newAside(tailAside)
	if err != nil {
		return "", err
	}
	index, _ := blockIndex(filepath.Base(torn.File))
	for i := range log.blocks {
		if log.blocks[i].index < index {
			continue
		}
		file := filepath.Join(filepath.Dir(torn.File), blockName(log.blocks[i].index))
		if err := copyFile(filepath.Join(e.dir, file), filepath.Join(aside, file)); err != nil {
			return "", fmt.Errorf("set the torn end of the log aside: %w", full(err))
		}
	}
	return aside, errors.Join(writeFaults(aside, log.faults), syncTree(aside))
}

// copyDamaged copies a damaged store to a directory beside it, unless there is a copy of the same damage or too
// little room: then it gives nothing. The copy takes half of the free room at most.
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
	// A name of its own until it is whole: what a server that is killed leaves half copied is removed at the next start.
	aside, err := e.newAside(copyingAside)
	if err != nil {
		return "", err
	}
	err = filepath.WalkDir(e.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || entry.Name() == lockName {
			return ignoreMissing(err)
		}
		relative, err := filepath.Rel(e.dir, path)
		if err != nil {
			return err
		}
		return copyFile(path, filepath.Join(aside, relative))
	})
	if err == nil {
		err = errors.Join(writeFaults(aside, faults), syncTree(aside))
	}
	if err != nil {
		return "", fmt.Errorf("copy the damaged store: %w", full(errors.Join(err, os.RemoveAll(aside))))
	}
	whole, err := e.newAside("")
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(aside))
	}
	if err := errors.Join(os.Remove(whole), os.Rename(aside, whole), syncPath(filepath.Dir(whole))); err != nil {
		return "", fmt.Errorf("copy the damaged store: %w", full(err))
	}
	return whole, nil
}

// copyingAside is what a copy of a damaged store is called that is not whole.
const copyingAside = "copying"

// removeHalfCopies removes the copies of a damaged store that a server left which was killed.
func (e *embedded) removeHalfCopies() {
	left, err := asides(e.dir, copyingAside)
	for _, dir := range left {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	if err != nil {
		e.logger.Warn("half a copy of a damaged store cannot be removed", "why", err)
	}
}

// globEscape makes a path match itself.
func globEscape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	return files.Copy(in, to)
}
