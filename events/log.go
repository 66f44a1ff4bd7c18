package events

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
)

// Message is one event as stored in the log. Its Body is never modified.
type Message struct {
	// Sequence is the position in the log. The first is 1; 0 means not stored yet.
	Sequence uint64
	// Subject is "maestro.ev.<project>.<aggregate>.<id>"; see [Subject].
	Subject string
	// Body is one CloudEvent in structured JSON, byte for byte as it was appended.
	Body []byte
}

// Head is a position in the log and the chain's hash there. The zero Head is the empty log.
type Head struct {
	Sequence uint64 `json:"sequence"`
	Hash     Hash   `json:"hash"`
}

// String returns SEQ:HASH, the form that `audit verify --from-head` takes.
func (h Head) String() string { return fmt.Sprintf("%d:%s", h.Sequence, h.Hash) }

// Snapshot is the encoded state at a position in the log. It speeds up a start and serves as a witness; only the log is
// authoritative.
type Snapshot struct {
	Head
	// Genesis is the chain's hash after sequence 1. It distinguishes one log from another.
	Genesis Hash
	// Format is the version of State's encoding.
	Format int
	// State is what projections.State.Encode returns, without the segments that are stored apart.
	State []byte
	// Segments are the digests of these segments, in their order.
	Segments []string
}

// SegmentDigest returns the digest of a snapshot's segment: 64 hexadecimal digits.
func SegmentDigest(segment []byte) string {
	sum := sha256.Sum256(segment)
	return hex.EncodeToString(sum[:])
}

// The errors that a log returns. Match them with errors.Is.
var (
	// ErrConflict: the head is not where the append expected it; nothing was stored.
	ErrConflict = errors.New("the log's head is not where the append expected it")
	// ErrUnknown: the append was sent and its outcome is not known. The log must be read before the caller gets an
	// answer.
	ErrUnknown = errors.New("the outcome of the append is unknown")
	// ErrFull: the log's disk has no room; nothing can be appended until there is.
	ErrFull = errors.New("the log's disk is full")
	// ErrUnreadable: a part of the store cannot be read at present; nothing is written until it can be.
	ErrUnreadable = errors.New("a part of the store cannot be read now")
	// ErrReadOnly: the log is damaged, or behind a witness, and accepts no writes.
	ErrReadOnly = errors.New("the log is read-only")
	// ErrNoBlob: no long text with that digest is stored.
	ErrNoBlob = errors.New("no such long text")
	// ErrBadBlob: the content stored for a digest does not match it.
	ErrBadBlob = errors.New("the long text is damaged")
	// ErrNoSnapshot: there is no usable snapshot there.
	ErrNoSnapshot = errors.New("no usable snapshot")
)

// DamageError says where the log is damaged: a message is missing or does not fit the chain, or a witness recorded
// another log. errors.Is(err, ErrReadOnly) holds for it.
type DamageError struct {
	// Sequence is the first damaged position.
	Sequence uint64
	// Why says what was found and what was expected.
	Why string
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("the log is damaged at sequence %d: %s; run `maestro salvage`, or restore a backup with "+
		"`maestro restore`", e.Sequence, e.Why)
}

// Is makes a damaged log count as read-only.
func (e *DamageError) Is(target error) bool { return target == ErrReadOnly }

// StoredDenial is the stored record of a refusal. Its key is an actor and a slot; storing another record under the same
// key replaces it.
type StoredDenial struct {
	// Actor is "" except in records of earlier versions, which had slots for each actor.
	Actor string
	// Slot consists of [A-Za-z0-9-].
	Slot string
	// Body is the record, an engine.Denial in JSON.
	Body []byte
}
