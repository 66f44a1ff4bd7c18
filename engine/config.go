package engine

import (
	"context"
	"log/slog"
	"time"

	"maestro/events"
)

// Blobs stores long texts by digest. The Handler stores what is too long for an event there before it decides.
type Blobs interface {
	// PutBlob stores the bytes and returns their digest, "sha256-<64 hex>". Storing the same bytes again is no error.
	PutBlob(ctx context.Context, blob []byte) (digest string, err error)
	// DeleteBlob deletes the bytes of a digest for good. It is no error if there are none.
	DeleteBlob(ctx context.Context, digest string) error
}

// Snapshots stores encoded states. A lost or damaged snapshot costs time, never correctness.
type Snapshots interface {
	// List returns the sequences of the stored snapshots, newest first.
	List(ctx context.Context) ([]uint64, error)
	// Load returns the snapshot at a sequence, or events.ErrNoSnapshot if it is missing or damaged.
	Load(ctx context.Context, sequence uint64) (events.Snapshot, error)
	// Save stores a snapshot, atomically. Its segments are stored before.
	Save(ctx context.Context, snapshot events.Snapshot) error
	// SaveSegment stores a segment under its digest, unless it is there already.
	SaveSegment(ctx context.Context, segment []byte) (digest string, err error)
	// LoadSegment returns the segment with a digest, or events.ErrNoSnapshot if it is missing or damaged.
	LoadSegment(ctx context.Context, digest string) ([]byte, error)
}

// Witness remembers the newest committed head outside the log.
type Witness interface {
	// Load returns the remembered head, or the zero Head if there is none.
	Load(ctx context.Context) (events.Head, error)
	// Record notes a committed head. It must not block.
	Record(head events.Head)
}

// Config configures a Handler. Log, Now and After are required.
type Config struct {
	Log       Log
	Blobs     Blobs
	Snapshots Snapshots
	Witness   Witness
	// Seen is a head that neither the Witness nor the Snapshots remember; zero if there is none.
	Seen Witnessed
	// Damage is damage to the log that was found before it is opened: the log then opens read-only. Nil if there is
	// none.
	Damage error
	// Now is the clock, After its timer.
	Now   func() time.Time
	After func(time.Duration) <-chan time.Time
	// Follow tells the clock the time of the log's newest event, which the clock must not be behind; nil if the clock
	// cannot be told.
	Follow func(newest time.Time)
	// Denials records refusals before they are answered; nil records none.
	Denials *Denials
	// Shared says that other servers write to the same log. No append guards an answer without an event, so the Handler
	// then checks such answers against the log's head before it sends them.
	Shared bool
	// OverlapFrom is how many commands must wait for the writer to decide the next batch while it appends one; 24 if 0.
	OverlapFrom int
	// SnapshotEvery is the number of events between snapshots; 50,000 if 0.
	SnapshotEvery uint64
	// ReadMost is how many steps one read of the state may take; [ReadMost] if 0.
	ReadMost uint64
	// Meter is told what the writer does; nil if nobody measures it.
	Meter  Meter
	Logger *slog.Logger
}
