package home

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"maestro/internal/files"
)

// noted is a file that the home's server writes from time to time, such as the uses of tokens, with its expected
// content. It is safe for concurrent use.
type noted struct {
	home *Home
	name string

	mu sync.Mutex
	// known says that content is what the file must hold; there is no file if it is empty.
	known   bool
	content []byte
	// info describes the file when it was known to have this content.
	info fs.FileInfo
}

// load reads the list, nothing if there is none.
func (n *noted) load() ([]byte, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	content, err := n.home.read(n.name, maxList)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	n.holds(content)
	return content, nil
}

// save replaces the list; an empty list has no file.
func (n *noted) save(content []byte) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.write(content)
}

func (n *noted) write(content []byte) (err error) {
	if len(content) == 0 {
		err = n.home.remove(n.name)
	} else {
		err = n.home.write(n.name, content)
	}
	if err == nil {
		n.holds(content)
	}
	return err
}

// expect says what the file must hold, though it does not.
func (n *noted) expect(content []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.known, n.content, n.info = true, content, nil
}

// replace rewrites the content. It first renames what is in its place.
func (n *noted) replace(aside string) (err error) {
	if len(n.content) == 0 {
		err = n.home.root.Rename(n.name, aside)
	} else {
		err = n.home.replace(n.name, aside, n.content)
	}
	if err == nil {
		n.holds(n.content)
	}
	return err
}

// add appends a line. If the file has changed, it rewrites the whole list.
func (n *noted) add(line string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known && !n.same() {
		return n.write(append(n.content, line...))
	}
	f, err := files.OpenOrCreate(n.home.root, n.name, os.O_WRONLY|os.O_APPEND)
	if err != nil {
		err = files.Explain(filepath.Join(n.home.dir, n.name), files.ToWrite, err)
		return fmt.Errorf("write the home's %s: %w", n.name, err)
	}
	_, err = f.WriteString(line)
	if err = errors.Join(err, f.Close()); err == nil && n.known {
		n.holds(append(n.content, line...))
	}
	return err
}

// holds records the present content of the file.
func (n *noted) holds(content []byte) {
	n.known, n.content, n.info = true, content, nil
	if info, err := n.home.root.Lstat(n.name); err == nil {
		n.info = info
	}
}

// same reports whether the file's size and time are those of the expected content; it does not read the file.
func (n *noted) same() bool {
	info, err := n.home.root.Lstat(n.name)
	if err != nil || n.info == nil {
		return errors.Is(err, fs.ErrNotExist) && n.info == nil
	}
	return os.SameFile(info, n.info) && info.Mode() == n.info.Mode() && info.Size() == n.info.Size() &&
		info.ModTime().Equal(n.info.ModTime())
}
