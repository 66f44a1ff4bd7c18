package bus

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"maestro/events"
	"maestro/internal/disk"
	"maestro/internal/files"
)

const (
	// segmentsDir is the directory of the segments of snapshots, in that of the snapshots.
	segmentsDir   = "segments"
	segmentSuffix = ".segment"
	// maxSegment is longer than any segment, in bytes.
	maxSegment = 64 << 20
)

func (s *Snapshots) segmentPath(digest string) string {
	return filepath.Join(s.dir, segmentsDir, digest+segmentSuffix)
}

// SaveSegment stores a segment durably under its digest, unless it is there already and intact.
func (s *Snapshots) SaveSegment(segment []byte) (digest string, err error) {
	digest = events.SegmentDigest(segment)
	if _, err := s.LoadSegment(digest); err == nil {
		return digest, nil
	}
	dir := filepath.Join(s.dir, segmentsDir)
	if err := disk.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("create the directory of segments: %w", full(err))
	}
	_ = files.RemoveUnfinished(dir) // what stays only takes room
	if err := writeAtomically(s.segmentPath(digest), segment); err != nil {
		return "", fmt.Errorf("save a segment of the snapshots: %w", err)
	}
	return digest, nil
}

// LoadSegment returns the segment with a digest, or events.ErrNoSnapshot with the reason.
func (s *Snapshots) LoadSegment(digest string) ([]byte, error) {
	f, err := openFile(s.segmentPath(digest))
	if err != nil {
		return nil, fmt.Errorf("%w: segment %s: %w", events.ErrNoSnapshot, digest, err)
	}
	defer func() { _ = f.Close() }()
	segment, err := io.ReadAll(io.LimitReader(f, maxSegment))
	if err != nil {
		return nil, fmt.Errorf("%w: segment %s: %w", events.ErrNoSnapshot, digest, err)
	}
	if events.SegmentDigest(segment) != digest {
		return nil, fmt.Errorf("%w: segment %s is damaged", events.ErrNoSnapshot, digest)
	}
	return segment, nil
}

// pruneSegments removes the segments that no snapshot has, if there are more than the newest has. A snapshot that
// cannot be read may have any.
func (s *Snapshots) pruneSegments() error {
	entries, err := disk.ReadDir(filepath.Join(s.dir, segmentsDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list the segments of the snapshots: %w", err)
	}
	sequences, err := s.List()
	if err != nil {
		return err
	}
	if len(sequences) > 0 {
		if newest, err := s.header(sequences[0]); err != nil || len(entries) <= newest.Segments {
			return nil //nolint:nilerr // the start names it
		}
	}
	used := map[string]bool{}
	for _, sequence := range sequences {
		snapshot, err := s.Read(sequence)
		if err != nil {
			return nil //nolint:nilerr // the start names it
		}
		for _, digest := range snapshot.Segments {
			used[digest] = true
		}
	}
	for _, entry := range entries {
		digest, isSegment := strings.CutSuffix(entry.Name(), segmentSuffix)
		if !isSegment || used[digest] {
			continue
		}
		if err := disk.Remove(s.segmentPath(digest)); ignoreMissing(err) != nil {
			return fmt.Errorf("remove an unused segment: %w", err)
		}
	}
	return nil
}
