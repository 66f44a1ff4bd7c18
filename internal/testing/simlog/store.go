package simlog

import (
	"bytes"
	"fmt"
	"slices"
	"sync"

	"maestro/events"
)

// Store is one log: its cache and, as a prefix of it, its disk. It is safe for concurrent use.
type Store struct {
	mu       sync.Mutex
	messages []events.Message // the cache: what a reader may see
	firm     int              // the number of them that are on disk
	full     bool
	late     []*Op
	lost     map[uint64]string // messages that cannot be read, and why
}

// New returns an empty store.
func New() *Store { return &Store{lost: map[uint64]string{}} }

// Firm returns the messages that survive a crash, oldest first. The caller must not change their bodies.
func (s *Store) Firm() []events.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clip(s.messages[:s.firm])
}

// Heads returns the last sequence on disk and the last in the cache.
func (s *Store) Heads() (firm, cached uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return uint64(s.firm), uint64(len(s.messages))
}

// SetFull fills the disk or frees room on it.
func (s *Store) SetFull(full bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.full = full
}

// IsFull reports whether the disk has no room.
func (s *Store) IsFull() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.full
}

// Late returns the number of batches that are still on their way.
func (s *Store) Late() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.late)
}

// Land lets the oldest late batch reach its guard, and reports whether it was stored. A commit of a cluster is on disk;
// that of a single server may still be only in the cache.
func (s *Store) Land(firm bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.late) == 0 {
		return false
	}
	op := s.late[0]
	s.late = s.late[1:]
	if s.full || !s.guard(op.After) {
		return false
	}
	s.store(op.Messages)
	if firm {
		s.firm = len(s.messages)
	}
	return true
}

// Forget drops every late batch.
func (s *Store) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.late = nil
}

// Insert stores a message on disk without a guard, as a foreign writer would.
func (s *Store) Insert(m events.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store([]events.Message{m})
	s.firm = len(s.messages)
}

// Crash keeps what is on disk and the first keep messages after it, and drops late batches.
func (s *Store) Crash(keep int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.firm = min(s.firm+keep, len(s.messages))
	s.messages = slices.Clip(s.messages[:s.firm])
	s.late = nil
}

// Tear puts the first n messages of an append in progress into the cache, as a crash in the middle of it would, if its
// guard matches.
func (s *Store) Tear(op *Op, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.full && s.guard(op.After) {
		s.store(op.Messages[:min(n, len(op.Messages))])
	}
}

// Flip changes one bit of a message's body.
func (s *Store) Flip(sequence uint64, bit int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &s.messages[sequence-1]
	m.Body = bytes.Clone(m.Body)
	bit %= len(m.Body) * 8
	m.Body[bit/8] ^= 1 << (bit % 8)
}

// Replace changes the body of a message, as somebody who owns the disk could.
func (s *Store) Replace(sequence uint64, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages[sequence-1].Body = bytes.Clone(body)
}

// Lose makes a message unreadable, as a wrong checksum would.
func (s *Store) Lose(sequence uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost[sequence] = "its sum does not fit"
}

// Cut removes every message after a sequence.
func (s *Store) Cut(sequence uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages = slices.Clip(s.messages[:sequence])
	s.firm = len(s.messages)
}

// Backup returns a store with the same content.
func (s *Store) Backup() *Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Store{messages: slices.Clone(s.messages), firm: s.firm, lost: map[uint64]string{}}
}

// guard reports whether the head is where an append expects it; s.mu is held.
func (s *Store) guard(after uint64) bool { return after == uint64(len(s.messages)) }

// store puts messages into the cache; s.mu is held.
func (s *Store) store(messages []events.Message) {
	for _, m := range messages {
		m.Sequence = uint64(len(s.messages)) + 1
		m.Body = bytes.Clone(m.Body)
		s.messages = append(s.messages, m)
	}
}

func (s *Store) append(op *Op, outcome Outcome) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case outcome == LostBefore:
		return fmt.Errorf("%w: no acknowledgement came", events.ErrUnknown)
	case outcome == Late:
		s.late = append(s.late, op)
		return fmt.Errorf("%w: no acknowledgement came", events.ErrUnknown)
	case outcome == Full, s.full && outcome != FullCached:
		s.full = true
		return events.ErrFull
	case !s.guard(op.After):
		return events.ErrConflict
	}
	s.store(op.Messages)
	switch outcome {
	case LostAfter:
		s.firm = len(s.messages)
		return fmt.Errorf("%w: no acknowledgement came", events.ErrUnknown)
	case LostCached:
		return fmt.Errorf("%w: no acknowledgement came", events.ErrUnknown)
	case FullCached:
		s.full = true
		return fmt.Errorf("%w: no acknowledgement came", events.ErrUnknown)
	case OK, LostBefore, Late, Full, Dropped, Failed:
	}
	s.firm = len(s.messages)
	return nil
}

func (s *Store) sync(outcome Outcome) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case outcome == Failed:
		return 0, errFailed
	case s.full:
		return 0, events.ErrFull
	case outcome == Dropped:
		s.messages = slices.Clip(s.messages[:s.firm])
	}
	s.firm = len(s.messages)
	return uint64(s.firm), nil
}

// read returns the messages between two sequences that can be read, and the error after them.
func (s *Store) read(from, to uint64, outcome Outcome) ([]events.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var read []events.Message
	for sequence := max(from, 1); sequence <= to; sequence++ {
		if outcome == Failed && len(read) == 1 {
			return read, errFailed
		}
		if why := s.lost[sequence]; why != "" {
			return read, &events.DamageError{Sequence: sequence, Why: why}
		}
		if sequence > uint64(len(s.messages)) {
			return read, &events.DamageError{Sequence: sequence, Why: fmt.Sprintf("it is missing: the log ends at %d",
				len(s.messages))}
		}
		read = append(read, s.messages[sequence-1])
	}
	if outcome == Failed {
		return read, errFailed
	}
	return read, nil
}
