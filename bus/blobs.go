package bus

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"maestro/events"
)

// BlobBucket is the object store of the blobs.
const BlobBucket = "MAESTRO_BLOBS"

// The errors of a lost blob. Package events declares them, for callers that do not import bus.
var (
	// ErrNoBlob: no blob has that digest.
	ErrNoBlob = events.ErrNoBlob
	// ErrBlobDamaged: the blob exists, but its content cannot be read or does not match the digest.
	ErrBlobDamaged = events.ErrBadBlob
)

// Digest returns the digest of a content: "sha256-" and 64 hexadecimal digits.
func Digest(content []byte) string {
	sum := sha256.Sum256(content)
	return events.DigestPrefix + hex.EncodeToString(sum[:])
}

// openBlobs opens the object store, or creates it.
func openBlobs(ctx context.Context, js jetstream.JetStream, replicas int) (jetstream.ObjectStore, error) {
	store, err := js.ObjectStore(ctx, BlobBucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		store, err = js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{
			Bucket:      BlobBucket,
			Description: "Large bodies, named by their digest",
			Storage:     jetstream.FileStorage,
			Replicas:    replicas,
		})
	}
	if err != nil {
		return nil, fmt.Errorf("open the object store %s: %w", BlobBucket, full(err))
	}
	return store, nil
}

// PutBlob stores content and returns its digest. It stores the same content once. The blob is as durable as an append,
// so an event that names the digest may be appended next.
func (b *Bus) PutBlob(ctx context.Context, content []byte) (string, error) {
	return b.putBlob(ctx, content, b.options.Timeout)
}

// putBlob is PutBlob with a time limit that applies to the look-up and to the write separately.
func (b *Bus) putBlob(ctx context.Context, content []byte, patience time.Duration) (string, error) {
	digest := Digest(content)
	if known, err := b.knownBlob(digest); known || err != nil {
		return digest, err
	}
	end, err := b.writing.turn(ctx, digest)
	if err != nil {
		return "", fmt.Errorf("keep the blob %s: %w", digest, err)
	}
	defer end()
	release, err := b.use()
	if err != nil {
		return "", err
	}
	defer release()
	// After a failed write, content that is found may not be on the disk: the store must be reopened first.
	if err := errors.Join(b.mayWrite(BlobStream), b.mender.pending()); err != nil {
		return "", err
	}
	looking, done := b.whileAlive(ctx, patience)
	// A description alone proves nothing: if the content is lost, it is stored again.
	_, err = b.findStored(looking, digest)
	done()
	switch {
	case err == nil:
		b.durable.add(digest)
		return digest, nil
	case errors.Is(err, events.ErrReadOnly) || errors.Is(err, events.ErrUnreadable):
		return digest, err
	case ctx.Err() != nil:
		return "", fmt.Errorf("keep the blob %s: %w", digest, context.Cause(ctx))
	case errors.Is(err, errNotSearched) && b.alive() == nil: // a slow disk; the server was not asked
		return "", fmt.Errorf("keep the blob %s: %w", digest, err)
	}
	// A caller that cancels does not interrupt the write: otherwise nobody could tell whether the content is on the
	// disk.
	ctx = context.WithoutCancel(ctx)
	alive, done := b.whileAlive(ctx, patience)
	defer done()
	store := b.replaceBlob
	if b.embedded != nil && b.texts.newBlob(alive, digest) {
		store = b.publishBlob
	}
	err = store(alive, digest, content)
	if err == nil {
		err = b.syncSide(BlobStream)
	}
	if err != nil {
		return "", b.failed(ctx, fmt.Errorf("keep the blob %s: %w", digest, err))
	}
	if err := b.blobsAreThere(alive); err != nil {
		return digest, err
	}
	b.durable.add(digest)
	return digest, nil
}

// blobsAreThere fails when the newest block lacks what nats-server acknowledged. It runs before an event that names a
// blob is appended.
func (b *Bus) blobsAreThere(ctx context.Context) error {
	if b.embedded == nil {
		return nil
	}
	return b.lookedAt(ctx, b.watch.checkSides(BlobStream)[BlobStream])
}

// knownBlob reports whether a blob was on the disk before, and fails if nothing may be written now.
func (b *Bus) knownBlob(digest string) (bool, error) {
	release, err := b.use()
	if err != nil {
		return false, err
	}
	defer release()
	if b.embedded == nil || !b.durable.has(digest) {
		return false, nil
	}
	return true, errors.Join(b.mayWrite(BlobStream), b.mender.pending())
}

// Blob returns the content with the digest. It fails with events.ErrNoBlob when there is none, and with
// events.ErrBadBlob when the stored content does not match the digest.
func (b *Bus) Blob(ctx context.Context, digest string) ([]byte, error) {
	if !events.IsDigest(digest) {
		return nil, fmt.Errorf("%w: %q is not a digest", events.ErrNoBlob, digest)
	}
	files, release, err := b.useFiles()
	if err != nil {
		return nil, err
	}
	defer release()
	if files != nil {
		return files.Blob(ctx, digest)
	}
	ctx, cancel := context.WithTimeout(ctx, b.options.Timeout)
	defer cancel()
	content, err := b.findBlob(ctx, digest)
	if errors.Is(err, events.ErrNoBlob) || errors.Is(err, events.ErrBadBlob) {
		b.durable.forget()
	}
	return content, err
}

// BlobSize returns the size of the content in bytes, according to its description. It fails as Blob does.
func (b *Bus) BlobSize(ctx context.Context, digest string) (int64, error) {
	files, release, err := b.useFiles()
	if err != nil {
		return 0, err
	}
	defer release()
	if files != nil {
		return files.blobSize(digest)
	}
	ctx, cancel := context.WithTimeout(ctx, b.options.Timeout)
	defer cancel()
	if b.embedded != nil {
		if size, err := b.texts.size(ctx, digest); err == nil || !errors.Is(err, errNotThere) {
			return size, b.readFailed(ctx, err)
		}
	}
	info, err := b.blobs.GetInfo(ctx, digest)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return 0, fmt.Errorf("%w: %s", events.ErrNoBlob, digest)
	}
	if err != nil {
		return 0, fmt.Errorf("read the description of the blob %s: %w", digest, err)
	}
	return int64(min(info.Size, math.MaxInt64)), nil
}

// findBlob reads a blob from the files of an embedded server if they hold it, and otherwise asks the server.
func (b *Bus) findBlob(ctx context.Context, digest string) ([]byte, error) {
	content, err := b.findStored(ctx, digest)
	if b.embedded != nil && errors.Is(err, errNotThere) {
		return b.readBlob(ctx, digest)
	}
	return content, err
}

// findStored reads a blob from the files of an embedded server, and fails with errNotThere if they do not hold it: they
// hold all that the server has acknowledged. A cluster is asked.
func (b *Bus) findStored(ctx context.Context, digest string) ([]byte, error) {
	if b.embedded == nil {
		return b.readBlob(ctx, digest)
	}
	content, err := b.texts.blob(ctx, digest)
	var damage *storeDamage
	switch {
	case errors.As(err, &damage):
		if err := b.embedded.held.here(); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%w: %s: %w", events.ErrBadBlob, digest, b.damaged(damage))
	case err == nil:
		return content, nil
	case errors.Is(err, errNotThere):
		return nil, err
	}
	return nil, b.readFailed(ctx, err)
}

// readBlob reads the chunks one by one. A consumer would wait for a lost chunk; a read of a single message always gets
// a reply.
func (b *Bus) readBlob(ctx context.Context, digest string) ([]byte, error) {
	info, err := b.blobs.GetInfo(ctx, digest)
	switch {
	case errors.Is(err, jetstream.ErrObjectNotFound):
		return nil, fmt.Errorf("%w: %s", events.ErrNoBlob, digest)
	case errors.Is(err, jetstream.ErrBadObjectMeta):
		return nil, fmt.Errorf("%w: the description of %s cannot be read", events.ErrBadBlob, digest)
	case err != nil:
		return nil, fmt.Errorf("read the blob %s: %w", digest, err)
	}
	chunks := "$O." + BlobBucket + ".C." + info.NUID
	var content []byte
	next := uint64(1)
	for n := range info.Chunks {
		m, err := b.blobStream.GetMsg(ctx, next, jetstream.WithGetMsgSubject(chunks))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil, fmt.Errorf("%w: %s has %d of its %d parts", events.ErrBadBlob, digest, n, info.Chunks)
		}
		if err != nil {
			return nil, fmt.Errorf("read the blob %s: %w", digest, err)
		}
		content = append(content, m.Data...)
		next = m.Sequence + 1
	}
	if got := Digest(content); got != digest {
		return nil, fmt.Errorf("%w: the content of %s has the digest %s", events.ErrBadBlob, digest, got)
	}
	return content, nil
}

// Blobs lists the digests of all blobs, in order.
func (b *Bus) Blobs(ctx context.Context) ([]string, error) {
	files, release, err := b.useFiles()
	if err != nil {
		return nil, err
	}
	defer release()
	if files != nil {
		return files.Blobs(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, b.options.Timeout)
	defer cancel()
	infos, err := b.blobs.List(ctx)
	if errors.Is(err, jetstream.ErrNoObjectsFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the blobs: %w", err)
	}
	digests := make([]string, 0, len(infos))
	for _, info := range infos {
		if events.IsDigest(info.Name) {
			digests = append(digests, info.Name)
		}
	}
	slices.Sort(digests)
	return digests, nil
}
