package service

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"maestro/service/wire"
	"maestro/workers/manifest"
)

// countedBlobs counts the bytes that are read. It does not know sizes; sizedBlobs does.
type countedBlobs struct {
	mu   sync.Mutex
	kept map[string][]byte
	read int
	// hold, if not nil, blocks every read until it is closed; inside counts the readers.
	hold   chan struct{}
	inside int
}

type sizedBlobs struct{ *countedBlobs }

func (b *countedBlobs) PutBlob(_ context.Context, blob []byte) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	digest := fmt.Sprintf("sha256-%x", sha256.Sum256(blob))
	b.kept[digest] = blob
	return digest, nil
}

func (b *countedBlobs) DeleteBlob(_ context.Context, digest string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.kept, digest)
	return nil
}

func (b *countedBlobs) Blob(_ context.Context, digest string) ([]byte, error) {
	b.mu.Lock()
	blob, hold := b.kept[digest], b.hold
	b.read += len(blob)
	b.inside++
	b.mu.Unlock()
	if hold != nil {
		<-hold
	}
	return blob, nil
}

func (b sizedBlobs) BlobSize(_ context.Context, digest string) (int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return int64(len(b.kept[digest])), nil
}

const longDescription = 900_000

// longTasks creates tasks with different long descriptions, and a caller that may get a manifest of them.
func longTasks(w *world, n int) (worker *Caller, project string, tasks []string) {
	project = w.make(w.admin(), "project:create", `{"name":"P"}`)
	for i := range n {
		body := fmt.Sprintf(`{"project":%q,"title":"T","description":"%d%s"}`,
			project, i, strings.Repeat("x", longDescription))
		tasks = append(tasks, w.make(w.admin(), "task:create", body))
	}
	lead := w.do(w.admin(), "session:spawn", fmt.Sprintf(
		`{"project":%q,"role":"orchestrator","taskIds":[%q]}`, project, tasks[0]))
	return w.caller(lead.Token), project, tasks
}

// A manifest that would be too long is refused before its texts are read, or, if their sizes are unknown, as soon as
// they are too long; what was read is charged.
func TestTooLongManifestsAreNotRead(t *testing.T) {
	for _, sized := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			blobs := &countedBlobs{kept: map[string][]byte{}}
			store, most := Blobs(blobs), manifest.MaxSize+longDescription+10
			if sized {
				store, most = sizedBlobs{blobs}, 0
			}
			w := worldWith(t, &memoryLog{}, store)
			lead, project, tasks := longTasks(w, 40)
			for name, call := range map[string]func(c *Caller) error{
				"generate": func(c *Caller) error {
					_, err := w.GenerateManifest(t.Context(), c, &wire.NewManifest{TaskIDs: tasks})
					return err
				},
				"spawn": func(c *Caller) error {
					body := fmt.Sprintf(`{"project":%q,"taskIds":["%s"]}`, project, strings.Join(tasks, `","`))
					_, err := w.try(c, "session:spawn", body, "k")
					return err
				},
			} {
				w.ledger = newLedger(&w.Limits)
				before := blobs.read
				caller := *lead
				a, err := w.Admit(t.Context(), &caller, Demand{Writes: true})
				if err != nil {
					t.Fatal(err)
				}
				left := w.ledger.left(a.credential, useCommands)
				var problem *Problem
				if err := call(&caller); !errors.As(err, &problem) || problem.Code != "INVALID_MANIFEST" {
					t.Errorf("%s: %v", name, err)
				}
				read := blobs.read - before
				if read > most {
					t.Errorf("%s, sizes known %v: %d bytes were read", name, sized, read)
				}
				paid := left - w.ledger.left(a.credential, useCommands)
				if paid < float64(read/bytesPerStep/StepsPerCommand) {
					t.Errorf("%s: %v commands were charged for %d bytes", name, paid, read)
				}
				a.Leave()
			}
		})
	}
}

// Only a few manifests are read at a time, however many callers request one.
func TestFewManifestsAreReadAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		blobs := &countedBlobs{kept: map[string][]byte{}}
		w := worldWith(t, &memoryLog{}, sizedBlobs{blobs})
		_, project, tasks := longTasks(w, 1)
		var leads [8]*Caller
		for i := range leads {
			leads[i], _ = w.leadOf(project, tasks[0])
		}
		blobs.read, blobs.inside, blobs.hold = 0, 0, make(chan struct{})
		var asked sync.WaitGroup
		for _, lead := range leads {
			asked.Go(func() {
				_, err := w.GenerateManifest(t.Context(), lead, &wire.NewManifest{TaskIDs: tasks})
				if err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if blobs.inside != rendered {
			t.Errorf("%d are read at once, want %d", blobs.inside, rendered)
		}
		gone, leave := context.WithCancel(t.Context())
		leave()
		_, err := w.GenerateManifest(gone, w.admin(), &wire.NewManifest{TaskIDs: tasks})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("a caller that left while it waited: %v", err)
		}
		close(blobs.hold)
		asked.Wait()
		if blobs.inside != 8 {
			t.Errorf("%d were read in the end", blobs.inside)
		}
	})
}
