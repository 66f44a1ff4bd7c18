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

// noted is a list that the home's server writes now and then, such as the uses of tokens, with what it holds. Safe for
// concurrent use.
type noted struct {
	home *Home
	name string

	mu sync.Mutex
	// known says that content is what the file must hold; no file if it is empty.
	known   bool
	content []byte
	// info is of the file that was seen to hold that.
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

// save replaces the list; an empty one is no file.
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

// replace writes the content again where something else is, which gets another name.
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

// add appends a line. Where the file is no longer what it was, the whole list is written.
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

// holds records what the file holds now.
func (n *noted) holds(content []byte) {
	n.known, n.content, n.info = true, content, nil
	if info, err := n.home.root.Lstat(n.name); err == nil {
		n.info = info
	}
}

// same reports whether the file looks as it did when it held what it must; it does not read it.
func (n *noted) same() bool {
	info, err := n.home.root.Lstat(n.name)
	if err != nil || n.info == nil {
		return errors.Is(err, fs.ErrNotExist) && n.info == nil
	}
	return os.SameFile(info, n.info) && info.Mode() == n.info.Mode() && info.Size() == n.info.Size() &&
		info.ModTime().Equal(n.info.ModTime())
}
