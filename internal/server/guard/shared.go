package guard

import (
	"sync"
	"sync/atomic"
)

// shared runs a check for many callers at once: those that wait while it runs share the next run, which begins after
// all of them have called.
type shared struct {
	// called numbers the calls.
	called atomic.Uint64

	mu sync.Mutex
	// covered is the newest call that came before the last run began, and err what that run returned.
	covered uint64
	err     error
}

func (s *shared) do(check func() error) error {
	call := s.called.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.covered < call {
		s.covered = s.called.Load()
		s.err = check()
	}
	return s.err
}
