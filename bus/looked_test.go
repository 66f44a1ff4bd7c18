package bus

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"maestro/events"
	"maestro/internal/disk"
)

// Nothing is passed to nats-server while the newest block of its stream cannot be examined; the server continues once
// it can be examined.
func TestUnexaminedBlockStopsWrites(t *testing.T) {
	dir, log, blobs, denials := filledStore(t)
	image := storeCopy(t, dir)
	b := openWitnessed(t, image, Always, uint64(len(log)))
	next := events.Message{Subject: "maestro.ev.p.task.1", Body: []byte("next")}
	writes := map[string]func() error{
		StreamName: func() error { return b.Append(t.Context(), uint64(len(log)), []events.Message{next}) },
		BlobStream: func() error {
			_, err := b.PutBlob(t.Context(), []byte("a text that is kept nowhere yet"))
			return err
		},
		DeniedStream: func() error {
			return b.StoreDenials(t.Context(),
				[]events.StoredDenial{{Actor: "/users/u", Slot: "s", Body: []byte(`{}`)}})
		},
	}
	for stream, write := range writes {
		looked := 0
		restore := disk.Inject(func(operation, path string) error {
			if operation == "stat" && strings.HasPrefix(path, streamPath(image, stream)) {
				looked++
				return syscall.EIO
			}
			return nil
		})
		err := write()
		restore()
		var unread *UnreadError
		if !errors.As(err, &unread) || errors.Is(err, events.ErrReadOnly) || looked == 0 {
			t.Errorf("%s: %v after %d checks", stream, err, looked)
		}
	}
	holdsAll(t, b, len(log), len(blobs), len(denials))
	for stream, write := range writes {
		if err := write(); err != nil {
			t.Errorf("%s, once the block can be examined: %v", stream, err)
		}
	}
}
