package bus

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/s2"

	"maestro/events"
	"maestro/internal/disk"
	"maestro/internal/files"
	"maestro/internal/syntax"
)

const (
	snapshotSuffix = ".snapshot"
	// snapshotEvery is the distance of the snapshots that are kept permanently, so that every point of a long log is
	// near one.
	snapshotEvery = 50_000
	// snapshotNewest is how many of the newest are kept in addition.
	snapshotNewest = 2
)

// Snapshots is a directory of encoded states, one file each, written completely or not at all. A damaged snapshot
// counts as missing.
type Snapshots struct{ dir string }

// OpenSnapshots stores snapshots in dir, which it creates. It removes the remains of an interrupted write; nobody else
// may write there.
func OpenSnapshots(dir string) (*Snapshots, error) {
	if err := disk.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the directory of snapshots: %w", full(err))
	}
	_ = files.RemoveUnfinished(dir) // what stays only takes room
	return &Snapshots{dir: dir}, nil
}

// ReadSnapshots reads snapshots in dir and creates nothing. Do not call Save or Prune on the result.
func ReadSnapshots(dir string) *Snapshots { return &Snapshots{dir: dir} }

// snapshotHeader is the first line of the file. The compressed state follows.
type snapshotHeader struct {
	Format   int         `json:"format"`
	Sequence uint64      `json:"sequence"`
	Hash     events.Hash `json:"hash"`
	Genesis  events.Hash `json:"genesis"`
	SHA256   string      `json:"sha256"` // of the compressed content
	Size     int         `json:"size"`   // of the compressed content
	// Segments is how many digests of segments, of 32 bytes each, the content has before the state.
	Segments int `json:"segments,omitempty"`
	// Check is the SHA-256 of the line before this field, which is the last one; "" in files of earlier versions.
	Check string `json:"check,omitempty"`
}

// checkField separates a header from its own checksum.
const checkField = `,"check":"`

// line returns the header as the first line of a file, with its checksum.
func (h snapshotHeader) line() ([]byte, error) {
	h.Check = ""
	content, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	content = content[:len(content)-len("}")]
	sum := sha256.Sum256(content)
	return fmt.Appendf(content, "%s%x\"}\n", checkField, sum), nil
}

// checkHeader fails if a first line is not the one that was written. An earlier version wrote no checksum; what its
// header says is compared with the state and the log.
func checkHeader(line []byte, header snapshotHeader) error {
	content, check, found := bytes.Cut(line, []byte(checkField))
	if !found {
		if own, err := json.Marshal(header); err != nil || !bytes.Equal(own, line) {
			return errors.New("its header is not as it was written")
		}
		return nil
	}
	if sum := sha256.Sum256(content); string(check) != hex.EncodeToString(sum[:])+`"}` {
		return errors.New("its header does not have the sum that it says")
	}
	return nil
}

func (s *Snapshots) path(sequence uint64) string {
	return filepath.Join(s.dir, strconv.FormatUint(sequence, 10)+snapshotSuffix)
}

// List returns the sequences of the snapshots, newest first.
func (s *Snapshots) List() ([]uint64, error) { return ListSnapshots(s.dir) }

// ListSnapshots is List for a directory that is not open.
func ListSnapshots(dir string) ([]uint64, error) {
	entries, err := disk.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list the snapshots: %w", err)
	}
	var sequences []uint64
	for _, entry := range entries {
		number, isSnapshot := strings.CutSuffix(entry.Name(), snapshotSuffix)
		if sequence, err := strconv.ParseUint(number, 10, 64); isSnapshot && err == nil {
			sequences = append(sequences, sequence)
		}
	}
	slices.Sort(sequences)
	slices.Reverse(sequences)
	return sequences, nil
}

// ReadGenesis returns the hash of the log's first event, which the store's snapshots also carry; false if the event
// cannot be read.
func ReadGenesis(dir string) (events.Hash, bool) {
	messages := filepath.Join(streamPath(dir, StreamName), "msgs")
	blocks, err := blockFiles(messages)
	if err != nil || len(blocks) == 0 {
		return events.Hash{}, false
	}
	reader := &placeReader{dir: messages, stream: StreamName, prefix: events.SubjectPrefix}
	defer reader.close()
	first, err := reader.read(place{sequence: 1, block: int32(blocks[0])}) //nolint:gosec // a block's number
	if err != nil {
		return events.Hash{}, false
	}
	return events.Next(events.Hash{}, events.BodyHash(first.body)), true
}

// HashAt returns the hash after an event of the log, in a store that no server has open; false if the event cannot be
// read.
func HashAt(ctx context.Context, dir string, sequence uint64) (hash events.Hash, found bool) {
	if sequence == 0 {
		return hash, false
	}
	log := liveLog{dir: filepath.Join(streamPath(dir, StreamName), "msgs")}
	_, err := log.read(ctx, sequence, sequence, 0, func(m events.Message) error {
		event, err := events.Decode(m.Body)
		if err == nil {
			hash, found = events.Next(event.PrevHash, events.BodyHash(m.Body)), true
		}
		return err
	})
	return hash, found && err == nil
}

// Save stores the snapshot durably.
func (s *Snapshots) Save(snapshot events.Snapshot) error {
	content, err := snapshotContent(snapshot)
	if err != nil {
		return fmt.Errorf("save the snapshot at %d: %w", snapshot.Sequence, err)
	}
	state := s2.Encode(nil, content)
	sum := sha256.Sum256(state)
	header, err := snapshotHeader{
		Format:   snapshot.Format,
		Sequence: snapshot.Sequence,
		Hash:     snapshot.Hash,
		Genesis:  snapshot.Genesis,
		SHA256:   hex.EncodeToString(sum[:]),
		Size:     len(state),
		Segments: len(snapshot.Segments),
	}.line()
	if err != nil {
		return fmt.Errorf("save the snapshot at %d: %w", snapshot.Sequence, err)
	}
	return writeAtomically(s.path(snapshot.Sequence), header, state)
}

// Load returns the snapshot at the sequence, or events.ErrNoSnapshot with the reason.
func (s *Snapshots) Load(sequence uint64) (events.Snapshot, error) {
	snapshot, err := s.Read(sequence)
	if err == nil && snapshot.Sequence != sequence {
		return events.Snapshot{}, fmt.Errorf("%w at %d: the file is damaged: its content is of sequence %d",
			events.ErrNoSnapshot, sequence, snapshot.Sequence)
	}
	return snapshot, err
}

// Read is Load for the file with the name of this sequence, whatever it holds: the snapshot may be of another sequence.
func (s *Snapshots) Read(sequence uint64) (events.Snapshot, error) {
	f, err := openFile(s.path(sequence))
	if err != nil {
		return events.Snapshot{}, fmt.Errorf("%w at %d: %w", events.ErrNoSnapshot, sequence, err)
	}
	defer func() { _ = f.Close() }()
	snapshot, err := readSnapshot(f)
	if err != nil {
		return events.Snapshot{}, fmt.Errorf("%w at %d: the file is damaged: %w", events.ErrNoSnapshot, sequence, err)
	}
	return snapshot, nil
}

// header reads the first line of the file with the name of this sequence.
func (s *Snapshots) header(sequence uint64) (snapshotHeader, error) {
	f, err := openFile(s.path(sequence))
	if err != nil {
		return snapshotHeader{}, err
	}
	defer func() { _ = f.Close() }()
	header, _, err := readSnapshotHeader(f)
	return header, err
}

// maxSnapshotHeader is the longest first line, in bytes.
const maxSnapshotHeader = 4 << 10

// readSnapshotHeader reads the first line. start is where the content begins.
func readSnapshotHeader(f *os.File) (header snapshotHeader, start int64, err error) {
	begin, err := io.ReadAll(io.LimitReader(f, maxSnapshotHeader))
	if err != nil {
		return header, 0, err
	}
	line, _, found := bytes.Cut(begin, []byte("\n"))
	if !found {
		return header, 0, errors.New("it has no header")
	}
	if err := json.Unmarshal(line, &header); err != nil {
		return header, 0, fmt.Errorf("its header cannot be read: %w", syntax.Plain(err))
	}
	if err := checkHeader(line, header); err != nil {
		return header, 0, err
	}
	return header, int64(len(line)) + 1, nil
}

// readSnapshot reads a state only if the file is as long as its header says.
func readSnapshot(f *os.File) (events.Snapshot, error) {
	header, start, err := readSnapshotHeader(f)
	if err != nil {
		return events.Snapshot{}, err
	}
	info, err := f.Stat()
	if err != nil {
		return events.Snapshot{}, err
	}
	if size := info.Size() - start; size != int64(header.Size) || size < 0 {
		return events.Snapshot{}, fmt.Errorf("it holds %d bytes of state, its header says %d", size, header.Size)
	}
	state := make([]byte, header.Size)
	if _, err := f.ReadAt(state, start); err != nil && (header.Size > 0 || !errors.Is(err, io.EOF)) {
		return events.Snapshot{}, err
	}
	if sum := sha256.Sum256(state); hex.EncodeToString(sum[:]) != header.SHA256 {
		return events.Snapshot{}, errors.New("its state does not have the sum that its header says")
	}
	decoded, err := s2.Decode(nil, state)
	if err != nil {
		return events.Snapshot{}, errors.New("its state cannot be decompressed")
	}
	if header.Segments < 0 || header.Segments > len(decoded)/sha256.Size {
		return events.Snapshot{}, errors.New("it lacks the digests of its segments")
	}
	snapshot := events.Snapshot{
		Head:    events.Head{Sequence: header.Sequence, Hash: header.Hash},
		Genesis: header.Genesis,
		Format:  header.Format,
	}
	for range header.Segments {
		snapshot.Segments = append(snapshot.Segments, hex.EncodeToString(decoded[:sha256.Size]))
		decoded = decoded[sha256.Size:]
	}
	snapshot.State = decoded
	return snapshot, nil
}

// snapshotContent returns the digests of a snapshot's segments, and its state.
func snapshotContent(snapshot events.Snapshot) ([]byte, error) {
	content := make([]byte, 0, len(snapshot.Segments)*sha256.Size+len(snapshot.State))
	for _, digest := range snapshot.Segments {
		sum, err := hex.DecodeString(digest)
		if err != nil || len(sum) != sha256.Size {
			return nil, fmt.Errorf("%q is not the digest of a segment", digest)
		}
		content = append(content, sum...)
	}
	return append(content, snapshot.State...), nil
}

// Prune removes the snapshots that are not needed: it keeps the newest two, and the first of every 50,000 sequences.
func (s *Snapshots) Prune() error {
	sequences, err := s.List()
	if err != nil {
		return err
	}
	for i, sequence := range sequences {
		first := i == len(sequences)-1 || sequences[i+1]/snapshotEvery != sequence/snapshotEvery
		if i < snapshotNewest || first {
			continue
		}
		if err := disk.Remove(s.path(sequence)); ignoreMissing(err) != nil {
			return fmt.Errorf("remove the snapshot at %d: %w", sequence, err)
		}
	}
	return s.pruneSegments()
}
