package home

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"maestro/internal/files"
)

// Kept holds the files of a home whose content its running server knows and needs at its next start. It restores files
// that are deleted or changed, except the admin's token: deleting that is how one gets a new one.
type Kept struct {
	lock *Lock

	mu    sync.Mutex
	files []*keptFile
	found []Loss
}

// keptFile is a file whose content does not change while the server runs, or one that the server itself rewrites.
type keptFile struct {
	*noted
	// long says that the file is read only if its size or time has changed.
	long bool
}

// maxKept is the maximum size of a kept file, in bytes.
const maxKept = 16 << 20

// Loss is a file or directory of the home that differs from what the running server knows.
type Loss struct {
	// Path names it, What says what is wrong with it.
	Path, What string
	// Restored says that it was restored.
	Restored bool
	// Next says what to do.
	Next string
}

func (l Loss) String() string { return l.Path + " " + l.What }

// Keep records the home's files in their present state. It omits what is missing or cannot be read. Of those
// that the server rewrites it keeps what the server last loaded or wrote.
func (l *Lock) Keep() *Kept {
	k := &Kept{lock: l}
	for _, name := range []string{
		serverKeyFile, adminTokenFile, versionFile, keyMarkFile, restoredFile, earlierFile,
	} {
		if content, err := l.read(name, maxKept); err == nil {
			file := &noted{home: l.Home, name: name}
			file.holds(content)
			k.files = append(k.files, &keptFile{file, name == restoredFile || name == earlierFile})
		}
	}
	k.files = append(k.files, &keptFile{l.server, false}, &keptFile{l.uses, true}, &keptFile{l.beats, true})
	return k
}

// Found returns what the last Look found and could not repair.
func (k *Kept) Found() []Loss {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.found
}

// Look compares the home with its recorded state, and repairs what it can. It returns what it repaired, and what it
// cannot repair and the last Look did not find.
func (k *Kept) Look() (news []Loss) {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := k.found
	k.found = nil
	for _, f := range k.files {
		if loss, lost := k.lookAt(f); loss.Restored {
			news = append(news, loss)
		} else if lost {
			k.found = append(k.found, loss)
		}
	}
	if loss, lost := k.lookAtSnapshots(); lost {
		news = append(news, loss)
	}
	var problem *Problem
	if err := k.lock.check(); errors.As(err, &problem) { // the next start would refuse the home
		what := "is not as it must be: " + problem.What
		k.found = append(k.found, Loss{Path: k.lock.dir, What: what, Next: problem.Next})
	}
	for _, kind := range kinds {
		var wrong *KindError
		if errors.As(k.lock.checkKind(kind.name, kind.want), &wrong) && !k.keeps(kind.name) {
			k.found = append(k.found, Loss{Path: wrong.Path, What: "is " + wrong.Is + " now", Next: wrong.Next()})
		}
	}
	for _, loss := range k.found {
		if !slices.Contains(before, loss) {
			news = append(news, loss)
		}
	}
	return news
}

func (k *Kept) keeps(name string) bool {
	return slices.ContainsFunc(k.files, func(f *keptFile) bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.name == name && f.known
	})
}

// lookAtSnapshots recreates the directory, so that the next snapshot can be saved.
func (k *Kept) lookAtSnapshots() (loss Loss, lost bool) {
	if _, err := k.lock.root.Lstat(snapshotsDir); !errors.Is(err, fs.ErrNotExist) {
		return loss, false
	}
	if k.lock.root.Mkdir(snapshotsDir, 0o700) != nil {
		return loss, false // saving a snapshot reports the error
	}
	return Loss{
		Path:     filepath.Join(k.lock.dir, snapshotsDir),
		What:     "was deleted while the server was running",
		Restored: true,
		Next:     "nothing: the stop saves a snapshot; after a crash the next start reads the whole log",
	}, true
}

// lookAt compares one file, and restores it. It leaves a file that merely cannot be read now.
func (k *Kept) lookAt(f *keptFile) (loss Loss, lost bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.known || f.long && f.same() {
		return loss, false
	}
	content, err := k.read(f)
	if err == nil && bytes.Equal(content, f.content) || errors.Is(err, fs.ErrNotExist) && len(f.content) == 0 {
		f.holds(f.content)
		return loss, false
	}
	loss = Loss{Path: filepath.Join(k.lock.dir, f.name), What: whatHappened(err)}
	open := false
	if k.differs(f, err) {
		open, err = k.sharedAlone(f, err)
	}
	if !k.differs(f, err) {
		loss.What = "cannot be read now: " + reason(err).Error()
		loss.Next = "nothing if it passes: the file is left as it is, and the server looks again every second"
		return loss, true
	}
	if f.name == adminTokenFile && !open {
		loss.Next = "restart the server: its next start creates a new token, and the old one is then no longer valid"
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			loss.Next = "put the old token back; or delete the file and restart the server, which creates a new one"
		}
		return loss, true
	}
	aside := ""
	if open || errors.Is(err, fs.ErrNotExist) {
		err = f.write(f.content)
	} else {
		aside = k.asideName(f.name)
		err = f.replace(aside)
	}
	if err != nil {
		loss.Next = fmt.Sprintf("make it possible to write to the home: %s", err)
		return loss, true
	}
	loss.Restored = true
	switch {
	case open:
		loss.Next = "others on this machine may have read it"
	case aside != "":
		loss.Next = "what was there is " + filepath.Join(k.lock.dir, aside) + " now: look at it, then delete it"
	}
	switch f.name {
	case adminTokenFile:
		loss.Next += "; to replace the token, delete the file and restart the server"
	case serverKeyFile:
		loss.Next = strings.TrimPrefix(loss.Next+"; to replace the key, stop the server, delete the file, "+
			"and start with --new-key", "; ")
	}
	return loss, true
}

// differs reports whether the result of a read shows that the file has changed: it is gone or of another kind, its mode
// or owner is wrong, or its content differs. Any other error is inconclusive.
func (k *Kept) differs(f *keptFile, err error) bool {
	var problem *Problem
	var kind *KindError
	var irregular *files.IrregularError
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist), errors.As(err, &kind), errors.As(err, &problem):
		return true
	case errors.As(err, &irregular):
		return !irregular.Passing
	case errors.Is(err, fs.ErrPermission):
		info, err := k.lock.root.Lstat(f.name)
		return err == nil && info.Mode().Perm()&0o400 == 0
	}
	return false
}

// sharedAlone reports whether a file that could not be read as a secret is unchanged except for its mode. It returns
// the error of this read, or the one before if this read gives none.
func (k *Kept) sharedAlone(f *keptFile, before error) (bool, error) {
	var problem *Problem
	if !errors.As(before, &problem) {
		return false, before
	}
	content, err := k.lock.read(f.name, maxNote)
	if !k.differs(f, err) {
		return false, err
	}
	return err == nil && bytes.Equal(content, f.content), before
}

// read returns the content of a file; for a secret that is open to others, an error.
func (k *Kept) read(f *keptFile) ([]byte, error) {
	if f.name == serverKeyFile || f.name == adminTokenFile {
		return k.lock.secret(f.name)
	}
	return k.lock.read(f.name, maxList)
}

func whatHappened(err error) string {
	var problem *Problem
	var kind *KindError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "was deleted while the server was running"
	case errors.As(err, &kind):
		return "is " + kind.Is + " now, and was a plain file"
	case errors.As(err, &problem):
		return "is not as it was: " + problem.What
	case err != nil:
		return "is not as it was: " + reason(err).Error()
	}
	return "was changed while the server was running"
}

// changedSuffix is appended to the name of a file that is set aside.
const changedSuffix = ".changed"

// maxAside bounds the number of set-aside versions of one file. The last name is reused.
const maxAside = 9

// asideName returns a name for the file that is in the place of a kept one.
func (k *Kept) asideName(name string) string {
	aside := name + changedSuffix
	for n := 2; n <= maxAside; n++ {
		if _, err := k.lock.root.Lstat(aside); err != nil {
			return aside
		}
		aside = fmt.Sprintf("%s%s-%d", name, changedSuffix, n)
	}
	_ = k.lock.root.Remove(aside) // the last name is reused
	return aside
}
