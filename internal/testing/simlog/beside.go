package simlog

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"maestro/events"
)

// Snapshots stores encoded states in memory. It implements engine.Snapshots.
type Snapshots struct {
	mu   sync.Mutex
	kept map[uint64]events.Snapshot
	// segments are shared by all copies.
	segments *sync.Map
	damaged  map[uint64]bool
	broken   bool
	saved    func(events.Snapshot)
}

// ErrBroken is the error of a store that was broken.
var ErrBroken = errors.New("it does not answer")

// NewSnapshots returns an empty store of snapshots; saved is called for each one, and may be nil.
func NewSnapshots(saved func(events.Snapshot)) *Snapshots {
	return &Snapshots{
		kept:     map[uint64]events.Snapshot{},
		segments: &sync.Map{},
		damaged:  map[uint64]bool{},
		saved:    saved,
	}
}

// List implements engine.Snapshots.
func (s *Snapshots) List(context.Context) ([]uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken {
		return nil, ErrBroken
	}
	sequences := slices.Sorted(maps.Keys(s.kept))
	slices.Reverse(sequences)
	return sequences, nil
}

// Load implements engine.Snapshots.
func (s *Snapshots) Load(_ context.Context, sequence uint64) (events.Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	snapshot, ok := s.kept[sequence]
	if !ok || s.damaged[sequence] {
		return events.Snapshot{}, fmt.Errorf("%w at %d", events.ErrNoSnapshot, sequence)
	}
	return snapshot, nil
}

// Save implements engine.Snapshots.
func (s *Snapshots) Save(_ context.Context, snapshot events.Snapshot) error {
	s.mu.Lock()
	broken := s.broken
	if !broken {
		s.kept[snapshot.Sequence] = snapshot
	}
	s.mu.Unlock()
	if broken {
		return ErrBroken
	}
	if s.saved != nil {
		s.saved(snapshot)
	}
	return nil
}

// SaveSegment implements engine.Snapshots.
func (s *Snapshots) SaveSegment(_ context.Context, segment []byte) (string, error) {
	digest := events.SegmentDigest(segment)
	s.segments.Store(digest, segment)
	return digest, nil
}

// LoadSegment implements engine.Snapshots.
func (s *Snapshots) LoadSegment(_ context.Context, digest string) ([]byte, error) {
	segment, ok := s.segments.Load(digest)
	if !ok {
		return nil, fmt.Errorf("%w: no segment %s", events.ErrNoSnapshot, digest)
	}
	return segment.([]byte), nil //nolint:forcetypeassert // it holds nothing else
}

// Copy returns a copy of the snapshots that can be damaged independently.
func (s *Snapshots) Copy() *Snapshots {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Snapshots{
		kept:     maps.Clone(s.kept),
		segments: s.segments,
		damaged:  map[uint64]bool{},
		saved:    s.saved,
	}
}

// Keep leaves only the snapshots for which keep reports true.
func (s *Snapshots) Keep(keep func(sequence uint64) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.kept, func(sequence uint64, _ events.Snapshot) bool { return !keep(sequence) })
}

// Damage makes a snapshot fail its checksum.
func (s *Snapshots) Damage(sequence uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.damaged[sequence] = true
}

// Break makes List and Save fail. Their failure must not keep a log from opening.
func (s *Snapshots) Break() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = true
}

// Put stores a snapshot under a sequence without checking it.
func (s *Snapshots) Put(sequence uint64, snapshot events.Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept[sequence] = snapshot
}

// Witness stores a head in memory, and later on disk. It implements engine.Witness.
type Witness struct {
	mu       sync.Mutex
	newest   events.Head
	disk     events.Head
	damaged  bool
	recorded func(events.Head)
}

// NewWitness returns an empty witness; recorded is called for each head, and may be nil.
func NewWitness(recorded func(events.Head)) *Witness { return &Witness{recorded: recorded} }

// Load implements engine.Witness: it returns the head on disk.
func (w *Witness) Load(context.Context) (events.Head, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.damaged {
		return events.Head{}, ErrBroken
	}
	return w.disk, nil
}

// Damage makes the head file unreadable until it is written again.
func (w *Witness) Damage() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.disk, w.damaged = events.Head{}, true
}

// Record implements engine.Witness.
func (w *Witness) Record(head events.Head) {
	w.mu.Lock()
	w.newest = head
	w.mu.Unlock()
	if w.recorded != nil {
		w.recorded(head)
	}
}

// Flush writes the newest head to the disk.
func (w *Witness) Flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.disk, w.damaged = w.newest, false
}

// Crash discards what is not on disk.
func (w *Witness) Crash() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.newest = w.disk
}

// Blobs stores texts in memory. It implements engine.Blobs.
type Blobs struct {
	mu   sync.Mutex
	kept map[string][]byte
}

// NewBlobs returns an empty store of blobs.
func NewBlobs() *Blobs { return &Blobs{kept: map[string][]byte{}} }

// PutBlob implements engine.Blobs.
func (b *Blobs) PutBlob(_ context.Context, blob []byte) (string, error) {
	sum := sha256.Sum256(blob)
	digest := "sha256-" + hex.EncodeToString(sum[:])
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kept[digest] = slices.Clone(blob)
	return digest, nil
}

// DeleteBlob implements engine.Blobs.
func (b *Blobs) DeleteBlob(_ context.Context, digest string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.kept, digest)
	return nil
}

// Blob returns the bytes of a digest, nil if there are none.
func (b *Blobs) Blob(digest string) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.kept[digest]
}
