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

// blockSyncer syncs the stream's block files. A block that has a successor is finished: it is synced once more and
// never again.
type blockSyncer struct {
	dir string

	mu       sync.Mutex
	finished int // blocks up to this one need no further sync
	// failed is the error of a failed sync. A second sync would succeed, but the lost data would still not be on the
	// disk.
	failed error
}

// forget makes the next sync cover every block.
func (s *blockSyncer) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finished, s.failed = 0, nil
}

// sync syncs what was written to the blocks before the call.
func (s *blockSyncer) sync() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		s.failed = s.syncBlocks()
	}
	return s.failed
}

// syncBlocks is sync. The caller holds mu.
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

// blockIndex parses the name of a block file, "<number>.blk".
func blockIndex(name string) (int, bool) {
	number, isBlock := strings.CutSuffix(name, ".blk")
	if !isBlock {
		return 0, false
	}
	index, err := strconv.Atoi(number)
	return index, err == nil
}
