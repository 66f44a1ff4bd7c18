package bus

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"maestro/events"
	"maestro/internal/disk"
)

// sideSyncer syncs the block files of a stream beside the log. The server may rewrite or remove any of them, so each
// that changed since the last sync is synced.
type sideSyncer struct {
	dir string

	// asked numbers the calls of sync.
	asked atomic.Uint64

	mu sync.Mutex
	// covered is the newest call that came before the last good sync began. Calls that wait meanwhile share a sync.
	covered uint64
	synced  map[int]fs.FileInfo // the state of each block before its last sync
	// failed is the error of a failed sync; see blockSyncer.
	failed error
}

// forget makes the next sync cover every block.
func (s *sideSyncer) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.synced, s.failed = nil, nil
}

// sync syncs what was written to the blocks before the call.
func (s *sideSyncer) sync() error {
	call := s.asked.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return s.failed
	}
	if s.covered >= call {
		return nil
	}
	covers := s.asked.Load()
	err := s.syncChanged()
	if err == nil {
		s.covered = covers
	} else {
		err = fmt.Errorf("sync the blocks in %s: %w", s.dir, err)
	}
	if !errors.Is(err, events.ErrUnreadable) {
		s.failed = err
	}
	return err
}

// syncChanged is sync. The caller holds mu.
func (s *sideSyncer) syncChanged() error {
	blocks, err := blockFiles(s.dir)
	if err != nil {
		return unread(s.dir, err)
	}
	synced, moved := make(map[int]fs.FileInfo, len(blocks)), len(blocks) != len(s.synced)
	for _, index := range blocks {
		path := filepath.Join(s.dir, blockName(index))
		now, err := disk.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			moved = true
			continue
		}
		if err != nil {
			return unread(path, err)
		}
		before, known := s.synced[index]
		same := known && os.SameFile(before, now)
		moved = moved || !same
		if !same || before.Size() != now.Size() || !before.ModTime().Equal(now.ModTime()) {
			if err := ignoreMissing(syncPath(path)); err != nil {
				return err
			}
		}
		synced[index] = now
	}
	s.synced = synced
	if moved {
		return syncPath(s.dir)
	}
	return nil
}
