package bus

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"maestro/events"
	"maestro/internal/disk"
)

// blockSyncer syncs the log's block files. The server writes to the newest alone: a block that has a successor is
// synced once more and never again.
type blockSyncer struct {
	dir string

	mu     sync.Mutex
	newest *os.File // nil: the next sync covers every block
	index  int      // of the newest
	// failed is the error of a failed sync. A second sync would succeed, but the lost data would still not be on the
	// disk. A block that could not be opened is tried again.
	failed error
}

// forget makes the next sync cover every block.
func (s *blockSyncer) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.newest != nil {
		_ = s.newest.Close()
	}
	s.newest, s.failed = nil, nil
}

// sync syncs what was written to the blocks before the call.
func (s *blockSyncer) sync() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return s.failed
	}
	var err error
	if s.newest == nil {
		err = s.syncAll()
	} else {
		err = s.syncNewest()
	}
	if err != nil {
		err = fmt.Errorf("sync the log's blocks: %w", err)
	}
	if !errors.Is(err, events.ErrUnreadable) {
		s.failed = err
	}
	return err
}

// syncAll syncs every block, and the directory. The caller holds mu.
func (s *blockSyncer) syncAll() error {
	blocks, err := blockFiles(s.dir)
	if err != nil {
		return unread(s.dir, err)
	}
	for i, index := range blocks {
		path := filepath.Join(s.dir, blockName(index))
		if i < len(blocks)-1 {
			err = errors.Join(err, syncPath(path))
			continue
		}
		if err != nil { // it matters more than that the newest could not be opened, which can be tried again
			return err
		}
		newest, openErr := openFile(path)
		if openErr != nil {
			return unread(path, openErr)
		}
		s.newest, s.index = newest, index
	}
	if s.newest == nil {
		return syncPath(s.dir)
	}
	if err := s.syncNewest(); err != nil { // the server may have begun another since
		return err
	}
	return syncPath(s.dir)
}

// syncNewest syncs the newest block, and those that the server began since the last sync. The caller holds mu.
func (s *blockSyncer) syncNewest() error {
	for begun := false; ; begun = true {
		next, err := s.next()
		if err != nil {
			return err
		}
		if err := disk.Sync(s.newest); err != nil {
			if next != nil {
				_ = next.Close()
			}
			return err
		}
		if next == nil {
			if begun {
				return syncPath(s.dir)
			}
			return nil
		}
		_ = s.newest.Close()
		s.newest = next
		s.index++
	}
}

// next opens the block after the newest, or returns nil when the server has not begun it. An empty file is not the
// server's: it begins a block with a message.
func (s *blockSyncer) next() (*os.File, error) {
	path := filepath.Join(s.dir, blockName(s.index+1))
	info, err := disk.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, unread(path, err)
	}
	next, err := openFile(path)
	if err != nil {
		return nil, unread(path, err)
	}
	return next, nil
}

// blockIndex parses the name of a block file, "<number>.blk".
func blockIndex(name string) (int, bool) {
	number, isBlock := strings.CutSuffix(name, ".blk")
	if !isBlock {
		return 0, false
	}
	index, err := strconv.Atoi(number)
	return index, err == nil
}
