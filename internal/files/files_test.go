//go:build unix

package files

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"maestro/internal/disk"
)

// place puts one kind of file under a name.
type place func(t *testing.T, dir, name string)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var kinds = map[string]place{
	"a pipe": func(t *testing.T, dir, name string) { must(t, unix.Mkfifo(filepath.Join(dir, name), 0o600)) },
	"a link": func(t *testing.T, dir, name string) { must(t, os.Symlink("target", filepath.Join(dir, name))) },
	"a link to a pipe": func(t *testing.T, dir, name string) {
		must(t, unix.Mkfifo(filepath.Join(dir, name+".pipe"), 0o600))
		must(t, os.Symlink(name+".pipe", filepath.Join(dir, name)))
	},
	"a directory": func(t *testing.T, dir, name string) { must(t, os.Mkdir(filepath.Join(dir, name), 0o700)) },
	"a socket": func(t *testing.T, dir, name string) {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		must(t, err)
		must(t, unix.Bind(fd, &unix.SockaddrUnix{Name: filepath.Join(dir, name)}))
		must(t, unix.Close(fd))
	},
}

// Anything but a regular file is refused at once, and never read or written through.
func TestIrregularFiles(t *testing.T) {
	for kind, put := range kinds {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			root, err := disk.OpenRoot(dir)
			must(t, err)
			t.Cleanup(func() { must(t, root.Close()) })
			must(t, os.WriteFile(filepath.Join(dir, "target"), []byte("secret"), 0o600))
			put(t, dir, "name")
			var irregular *IrregularError
			if content, err := Read(root, "name", 100); !errors.As(err, &irregular) {
				t.Errorf("read %q, %v", content, err)
			}
			if _, err := OpenOrCreate(root, "name", os.O_RDWR); !errors.As(err, &irregular) {
				t.Errorf("opened: %v", err)
			}
			f, err := Create(root, "name")
			must(t, err)
			_, err = f.WriteString("mine")
			must(t, errors.Join(err, f.Close()))
			if content, err := Read(root, "name", 4); err != nil || string(content) != "mine" {
				t.Errorf("read %q, %v", content, err)
			}
			if content, err := os.ReadFile(filepath.Join(dir, "target")); err != nil || string(content) != "secret" {
				t.Errorf("the write followed the link: %q, %v", content, err)
			}
		})
	}
}

func TestLongFiles(t *testing.T) {
	dir := t.TempDir()
	root, err := disk.OpenRoot(dir)
	must(t, err)
	t.Cleanup(func() { must(t, root.Close()) })
	must(t, os.WriteFile(filepath.Join(dir, "long"), nil, 0o600))
	must(t, os.Truncate(filepath.Join(dir, "long"), 1<<40)) // a file with a hole takes no room
	var irregular *IrregularError
	if _, err := Read(root, "long", 1000); !errors.As(err, &irregular) {
		t.Errorf("read: %v", err)
	}
	f, err := OpenOrCreate(root, "new", os.O_RDWR)
	must(t, err)
	must(t, f.Close())
	if _, err := Read(root, "nothing", 1000); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("read: %v", err)
	}
}

func TestTreeSizeAndCopy(t *testing.T) {
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700))
	must(t, os.WriteFile(filepath.Join(dir, "a", "one"), []byte("12345"), 0o600))
	must(t, os.Symlink("one", filepath.Join(dir, "a", "link")))
	from, err := os.Open(filepath.Join(dir, "a", "one"))
	must(t, err)
	t.Cleanup(func() { must(t, from.Close()) })
	to := filepath.Join(dir, "a", "b", "two")
	must(t, Copy(from, to))
	must(t, SyncDir(filepath.Dir(to)))
	if err := Copy(from, to); !errors.Is(err, os.ErrExist) {
		t.Errorf("the file was overwritten: %v", err)
	}
	if size, err := TreeSize(dir); err != nil || size != 10 {
		t.Errorf("%d, %v", size, err)
	}
	if _, err := TreeSize(filepath.Join(dir, "nothing")); err != nil {
		t.Errorf("a missing file has a size: %v", err)
	}
}

// An input is a regular file, or a descriptor that the process was started with: its content, even of a pipe whose
// writer comes later, and nothing once there is no writer.
func TestOpenInput(t *testing.T) {
	dir := t.TempDir()
	for kind, put := range kinds {
		name := filepath.Join(dir, kind)
		put(t, dir, kind)
		if kind == "a link" {
			continue
		}
		f, err := OpenInput(name)
		var irregular *IrregularError
		if !errors.As(err, &irregular) {
			t.Errorf("%s: %v, %v", kind, f, err)
		}
	}
	reader, writer, err := os.Pipe()
	must(t, err)
	for _, dir := range []string{"/dev/fd", "/proc/self/fd"} {
		if _, err := os.Stat(dir); err != nil {
			continue
		}
		in, err := OpenInput(filepath.Join(dir, strconv.Itoa(int(reader.Fd()))))
		must(t, err)
		writing := make(chan error, 1)
		go func() {
			_, err := writer.WriteString("later")
			writing <- err
		}()
		content := make([]byte, 5)
		_, err = io.ReadFull(in, content)
		must(t, errors.Join(err, <-writing, in.Close()))
		if string(content) != "later" {
			t.Errorf("%s: %q", dir, content)
		}
	}
	must(t, writer.Close())
	in, err := OpenInput(filepath.Join("/dev/fd", strconv.Itoa(int(reader.Fd()))))
	must(t, err)
	if content, err := io.ReadAll(in); err != nil || len(content) > 0 {
		t.Errorf("without a writer: %q, %v", content, err)
	}
	must(t, errors.Join(in.Close(), reader.Close()))
	for _, path := range []string{"/dev/fd/x", "/dev/fd/../zero", "/dev/null", "/dev/fd/"} {
		if f, err := OpenInput(path); err == nil {
			t.Errorf("%s is opened as %s", path, f.Name())
		}
	}
}
