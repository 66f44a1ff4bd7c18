package home

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"maestro/internal/disk"
	"maestro/internal/files"
)

// KindError says that a home has an entry of the wrong type in the place of a file or a directory. Match it with
// errors.As.
type KindError struct {
	Path string
	// Is says what is there, Want what should be.
	Is, Want string
	// Log says that the log belongs there: without it a server would start an empty one.
	Log bool
	err error
}

func (e *KindError) Error() string {
	return fmt.Sprintf("%s is %s; it must be %s; %s", e.Path, e.Is, e.Want, e.Next())
}

// Next says what to do.
func (e *KindError) Next() string {
	if e.Log {
		return "`maestro salvage --new-home NEWHOME` makes a new home from the backups; or move it away, and " +
			"restore one"
	}
	return "move it away and start again"
}

func (e *KindError) Unwrap() error { return e.err }

const (
	plainFile = "a plain file"
	directory = "a directory"
)

// kinds lists what a server opens in a home, besides the files of sessions. It omits the head file: an unreadable one
// is set aside.
var kinds = []struct{ name, want string }{
	{lockFile, plainFile},
	{versionFile, plainFile},
	{adminTokenFile, plainFile},
	{serverKeyFile, plainFile},
	{serverFile, plainFile},
	{listenedFile, plainFile},
	{usesFile, plainFile},
	{beatsFile, plainFile},
	{webhooksFile, plainFile},
	{restoredFile, plainFile},
	{earlierFile, plainFile},
	{storeDir, directory},
	{filepath.Join(storeDir, "lock"), plainFile},
	{filepath.Join(storeDir, "clean.json"), plainFile},
	{filepath.Join(storeDir, "checked.json"), plainFile},
	{filepath.Join(storeDir, "boot"), plainFile},
	{keyMarkFile, plainFile},
	{unsettled(restoredFile), plainFile},
	{unsettled(earlierFile), plainFile},
	{filepath.Join(storeDir, streamsDir), directory},
	{snapshotsDir, directory},
	{sessionsDir, directory},
}

// CheckKinds fails with *KindError when the home has an entry of the wrong type in the place of a file or a directory.
// A missing entry is not a fault.
func (h *Home) CheckKinds() error {
	for _, kind := range kinds {
		if err := h.checkKind(kind.name, kind.want); err != nil {
			return err
		}
		if kind.want != plainFile || filepath.Dir(kind.name) != "." {
			continue // the log writes its own files
		}
		temporary := filepath.Join(h.dir, temporaryOf(kind.name)) // anything else there is replaced
		if info, err := disk.Lstat(temporary); err == nil && info.IsDir() {
			return &KindError{Path: temporary, Is: directory, Want: plainFile}
		}
	}
	return nil
}

func (h *Home) checkKind(name, want string) error {
	path := filepath.Join(h.dir, name)
	look := disk.Lstat // a link to a file could lead anywhere
	if want == directory {
		look = disk.Stat
	}
	info, err := look(path)
	if err != nil {
		if link, linkErr := disk.Lstat(path); files.Gone(err) && linkErr == nil && link.Mode()&fs.ModeSymlink != 0 {
			return &KindError{Path: path, Is: "a symbolic link to nothing", Want: want}
		}
		return nil //nolint:nilerr // opening it reports the error
	}
	if is := kindOf(info.Mode()); is != want {
		inLog := want == directory && (name == storeDir || filepath.Dir(name) == storeDir)
		return &KindError{
			Path: path,
			Is:   is,
			Want: want,
			Log:  inLog,
		}
	}
	return nil
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return plainFile
	case mode.IsDir():
		return directory
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}

// explained returns the error that an entry is not a file, with what it is.
func (h *Home) explained(name string, err error) error {
	var irregular *files.IrregularError
	var kind *KindError
	if errors.As(err, &irregular) && errors.As(h.checkKind(name, plainFile), &kind) {
		kind.err = err
		return kind
	}
	return err
}
