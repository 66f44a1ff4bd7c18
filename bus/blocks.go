package bus

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"maestro/internal/disk"
)

// blockSyncer makes the stream's block files durable. A block that has a successor is finished, so each is synced
// until then and never again.
type blockSyncer struct {
	dir string

	mu       sync.Mutex
	finished int // blocks up to this one need nothing more
	// failed is why a sync failed. A second one would succeed, and say nothing of what never came to the disk.
	failed error
}

// forget makes the next sync look at every block.
func (s *blockSyncer) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finished, s.failed = 0, nil
}

// sync makes durable what was written to the blocks before it was called.
func (s *blockSyncer) sync() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		s.failed = s.syncBlocks()
	}
	return s.failed
}

// syncBlocks is sync; mu is held.
func (s *blockSyncer) syncBlocks() error {
	dir, err := disk.Open(s.dir)
	if err != nil {
		return fmt.Errorf("sync the log's blocks: %w", err)
	}
	names, err := dir.Readdirnames(-1)
	newest := s.finished
	for _, name := range names {
		index, isBlock := blockIndex(name)
		if !isBlock || index <= s.finished {
			continue
		}
		newest = max(newest, index)
		err = errors.Join(err, syncPath(s.dir+string(os.PathSeparator)+name))
	}
	if err := errors.Join(err, disk.Sync(dir), dir.Close()); err != nil {
		return fmt.Errorf("sync the log's blocks: %w", err)
	}
	s.finished = max(s.finished, newest-1)
	return nil
}

// blockIndex reads the number of a block file, "<number>.blk".
func blockIndex(name string) (int, bool) {
	number, isBlock := strings.CutSuffix(name, ".blk")
	if !isBlock {
		return 0, false
	}
	index, err := strconv.Atoi(number)
	return index, err == nil
}
