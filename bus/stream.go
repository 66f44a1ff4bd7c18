package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"maestro/events"
)

// StreamName is the stream of the log.
const StreamName = "MAESTRO"

// maxMessage is an event body of 768 KiB and generous headers.
const maxMessage = 768<<10 + 32<<10

func streamConfig(replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:        StreamName,
		Description: "Maestro's log: the only truth",
		Subjects:    []string{events.SubjectPrefix + ">"},
		Storage:     jetstream.FileStorage,
		Retention:   jetstream.LimitsPolicy,
		Discard:     jetstream.DiscardNew,
		Replicas:    replicas,
		MaxMsgs:     -1,
		MaxBytes:    -1,
		// The largest message, headers included.
		MaxMsgSize:         maxMessage,
		MaxMsgsPerSubject:  -1,
		Duplicates:         100 * time.Millisecond, // the minimum: no message carries a Nats-Msg-Id
		DenyDelete:         true,
		DenyPurge:          true,
		AllowDirect:        true,
		AllowAtomicPublish: true,
	}
}

// ensureStream creates the stream if it is missing and mayCreate permits it. Otherwise it checks that the stream can
// keep the log's guarantees.
func ensureStream(ctx context.Context, js jetstream.JetStream, replicas int, mayCreate func() error) error {
	stream, err := js.Stream(ctx, StreamName)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		if err := mayCreate(); err != nil {
			return err
		}
		if _, err := js.CreateStream(ctx, streamConfig(replicas)); err != nil {
			return fmt.Errorf("create the stream %s: %w", StreamName, full(err))
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("look up the stream %s: %w", StreamName, err)
	}
	return checkStream(stream.CachedInfo().Config)
}

// checkStream refuses a stream whose configuration could lose, reorder, alter or unguard events.
func checkStream(c jetstream.StreamConfig) error {
	want := streamConfig(1)
	var wrong []error
	expect := func(holds bool, format string, args ...any) {
		if !holds {
			wrong = append(wrong, fmt.Errorf(format, args...))
		}
	}
	expect(slices.Equal(c.Subjects, want.Subjects), "its subjects are %q, they must be %q", c.Subjects, want.Subjects)
	expect(c.Storage == want.Storage, "its storage is %s, it must be file", c.Storage)
	expect(c.Retention == want.Retention, "its retention is %s, it must be limits", c.Retention)
	expect(c.Discard == want.Discard, "it discards old messages, it must refuse new ones")
	expect(c.MaxMsgs <= 0 && c.MaxBytes <= 0 && c.MaxAge == 0 && c.MaxMsgsPerSubject <= 0,
		"it has a limit of messages, bytes, age or messages per subject; it must have none")
	expect(c.MaxMsgSize <= 0 || c.MaxMsgSize >= want.MaxMsgSize,
		"its largest message is %d bytes, it must be at least %d", c.MaxMsgSize, want.MaxMsgSize)
	expect(c.DenyDelete, "it allows to delete messages")
	expect(c.DenyPurge, "it allows to purge messages")
	expect(c.AllowDirect, "it does not allow direct reads")
	expect(c.AllowAtomicPublish, "it does not allow atomic batches")
	expect(!c.NoAck, "it does not acknowledge")
	expect(!c.Sealed, "it is sealed")
	expect(!c.AllowRollup && !c.AllowMsgTTL && !c.AllowMsgCounter && !c.AllowMsgSchedules,
		"it allows rollups, expiry, counters or schedules")
	expect(c.Mirror == nil && len(c.Sources) == 0, "it copies another stream")
	expect(c.SubjectTransform == nil && c.RePublish == nil, "it transforms or republishes its messages")
	expect(c.PersistMode == jetstream.DefaultPersistMode, "it acknowledges before it has written")
	if len(wrong) > 0 {
		return fmt.Errorf(
			"the stream %s cannot be Maestro's log; correct it with `nats stream edit %s`, or use another account: %w",
			StreamName, StreamName, errors.Join(wrong...))
	}
	return nil
}
