package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Every operation on a path through an open directory, and on a root or a file that was opened by such a path, fails
// with an error that shows the real path.
func TestErrorsNameRealPaths(t *testing.T) {
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dir.Close() }()
	held := fmt.Sprintf("%s%d", heldPrefix, dir.Fd())
	if got, want := Shown("open "+held+"/a: no"), "open "+dir.Name()+"/a: no"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if err := errors.Join(
		os.WriteFile(filepath.Join(dir.Name(), "file"), nil, 0o600), os.Mkdir(filepath.Join(dir.Name(), "full"), 0o700),
		os.WriteFile(filepath.Join(dir.Name(), "full", "file"), nil, 0o600),
	); err != nil {
		t.Fatal(err)
	}
	root, err := OpenRoot(held)
	if err != nil {
		t.Fatal(err)
	}
	byPath, err := Open(held + "/file")
	if err != nil {
		t.Fatal(err)
	}
	byRoot, err := root.Open("file")
	if err != nil {
		t.Fatal(err)
	}
	made, err := CreateTemp(held, "made-")
	if err != nil {
		t.Fatal(err)
	}
	none, file, full := held+"/none/a", held+"/file", held+"/full"
	only := func(_ any, err error) error { return err }
	after := func(f *os.File) error { return errors.Join(f.Close(), f.Close()) }
	for name, err := range map[string]error{
		"Open": only(Open(none)), "CreateTemp": only(CreateTemp(none, "a")), "Stat": only(Stat(none)),
		"Lstat": only(Lstat(none)), "ReadDir": only(ReadDir(none)), "Rename": Rename(none, none),
		"Link": Link(none, none), "Remove": Remove(full), "RemoveAll": RemoveAll(file + "/a/b"),
		"Mkdir": Mkdir(none, 0o700), "MkdirAll": MkdirAll(file+"/a", 0o700), "Truncate": Truncate(none, 0),
		"MkdirTemp": only(MkdirTemp(none, "a")), "ReadFile": only(ReadFile(none)), "Symlink": Symlink("a", none),
		"OpenRoot": only(OpenRoot(none)), "WriteFile": WriteFile(none, nil, 0o600), "Chmod": Chmod(none, 0o600),
		"Chtimes": Chtimes(none, time.Unix(1, 0), time.Unix(1, 0)),
		"WalkDir": WalkDir(none, func(_ string, _ fs.DirEntry, err error) error { return err }),

		"Root.Stat": only(root.Stat("none")), "Root.Lstat": only(root.Lstat("none")),
		"Root.Open": only(root.Open("none")), "Root.ReadDir": only(root.ReadDir("none")),
		"Root.Mkdir": root.Mkdir("file", 0o700), "Root.MkdirAll": root.MkdirAll("file/a", 0o700),
		"Root.Chmod": root.Chmod("none", 0o600), "Root.Rename": root.Rename("none", "other"),
		"Root.Link": root.Link("none", "other"), "Root.Remove": root.Remove("full"),
		"Root.RemoveAll": root.RemoveAll("."),

		"File by path": only(byPath.Write([]byte("a"))), "File by root": only(byRoot.Write([]byte("a"))),
		"File closed twice": after(byRoot), "File made": after(made),
	} {
		if name == "RemoveAll" && err == nil { // nothing is there
			continue
		}
		if err == nil || strings.Contains(err.Error(), heldPrefix) || !strings.Contains(err.Error(), dir.Name()) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := errors.Join(byPath.Close(), root.Close()); err != nil {
		t.Error(err)
	}
}
