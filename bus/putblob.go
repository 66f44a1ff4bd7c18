package bus

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// blobChunk is the size of a part, that of JetStream's object store.
const blobChunk = 128 << 10

// publishBlob stores content in the form of JetStream's object store, and returns when the embedded server has
// acknowledged it. The object store's own Put asks for an earlier version first and creates a subscription for each
// call; here nothing has the digest as its name.
func (b *Bus) publishBlob(ctx context.Context, digest string, content []byte) error {
	id := rand.Text()
	var acks []jetstream.PubAckFuture
	publish := func(m *nats.Msg) error {
		ack, err := b.js.PublishMsgAsync(m)
		acks = append(acks, ack)
		return err
	}
	chunks := uint32(0)
	for rest := content; len(rest) > 0; chunks++ {
		n := min(len(rest), blobChunk)
		if err := publish(&nats.Msg{Subject: "$O." + BlobBucket + ".C." + id, Data: rest[:n]}); err != nil {
			return err
		}
		rest = rest[n:]
	}
	sum := sha256.Sum256(content)
	info, err := json.Marshal(jetstream.ObjectInfo{
		ObjectMeta: jetstream.ObjectMeta{
			Name: digest,
			Opts: &jetstream.ObjectMetaOptions{ChunkSize: blobChunk},
		},
		Bucket: BlobBucket,
		NUID:   id,
		Size:   uint64(len(content)),
		Chunks: chunks,
		Digest: "SHA-256=" + base64.URLEncoding.EncodeToString(sum[:]),
	})
	if err != nil {
		return fmt.Errorf("describe a blob: %w", err)
	}
	description := &nats.Msg{
		Subject: "$O." + BlobBucket + ".M." + base64.URLEncoding.EncodeToString([]byte(digest)),
		Header:  nats.Header{jetstream.MsgRollup: {jetstream.MsgRollupSubject}},
		Data:    info,
	}
	if err := publish(description); err != nil {
		return err
	}
	for _, ack := range acks {
		select {
		case stored := <-ack.Ok():
			b.watch.acknowledged(BlobStream, stored.Sequence)
		case err := <-ack.Err():
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// replaceBlob stores content under the name of an earlier version, whose parts it removes.
func (b *Bus) replaceBlob(ctx context.Context, digest string, content []byte) error {
	if _, err := b.blobs.Put(ctx, jetstream.ObjectMeta{Name: digest}, bytes.NewReader(content)); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return err
	}
	if b.embedded == nil {
		return nil
	}
	stream, err := b.js.Stream(ctx, BlobStream)
	if err != nil {
		return err
	}
	b.watch.acknowledged(BlobStream, stream.CachedInfo().State.LastSeq)
	return nil
}

// durableMost is how many digests a durableBlobs remembers.
const durableMost = 4096

// durableBlobs remembers digests whose content was on the disk since the store was opened, so that a content that many
// callers store at once, such as the manifest of every worker of a queue, is written and looked for once.
type durableBlobs struct {
	mu     sync.Mutex
	known  map[string]bool
	oldest []string
}

func (d *durableBlobs) add(digest string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known[digest] {
		return
	}
	if len(d.oldest) == durableMost {
		delete(d.known, d.oldest[0])
		d.oldest = d.oldest[1:]
	}
	if d.known == nil {
		d.known = map[string]bool{}
	}
	d.known[digest] = true
	d.oldest = append(d.oldest, digest)
}

func (d *durableBlobs) has(digest string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.known[digest]
}

// forget is called when the files may have changed.
func (d *durableBlobs) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.known, d.oldest = nil, nil
}

// newBlob reports whether nothing in the blocks has the digest as its name, damaged or not.
func (l *liveBlobs) newBlob(ctx context.Context, digest string) bool {
	leave, err := enter(ctx, l.turn)
	if err != nil {
		return false
	}
	defer leave()
	_, found := l.index.metas[digest]
	return !found
}
