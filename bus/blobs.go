package bus

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"maestro/events"
)

// BlobBucket is the object store that keeps large bodies.
const BlobBucket = "MAESTRO_BLOBS"

// The errors of a blob that is lost, as package events names them for those who do not import bus.
var (
	// ErrNoBlob: no blob has that digest.
	ErrNoBlob = events.ErrNoBlob
	// ErrBlobDamaged: the blob is there, and its content cannot be read or is not what its digest says.
	ErrBlobDamaged = events.ErrBadBlob
)

// Digest names a content: "sha256-" and 64 hexadecimal digits.
func Digest(content []byte) string {
	sum := sha256.Sum256(content)
	return events.DigestPrefix + hex.EncodeToString(sum[:])
}

// IsDigest reports whether name has the form that Digest gives.
func IsDigest(name string) bool {
	digits, found := strings.CutPrefix(name, events.DigestPrefix)
	_, err := hex.DecodeString(digits)
	return found && err == nil && len(digits) == hex.EncodedLen(sha256.Size) && strings.ToLower(digits) == digits
}

// blobs opens the object store, or creates it.
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

// PutBlob keeps content and returns its digest. The same content is kept once. It is as durable as an append is, so an
// event that names the digest may be appended next.
func (b *Bus) PutBlob(ctx context.Context, content []byte) (string, error) {
	return b.putBlob(ctx, content, b.options.Timeout)
}

// putBlob is PutBlob, with patience for the look-up and for the writing each.
func (b *Bus) putBlob(ctx context.Context, content []byte, patience time.Duration) (string, error) {
	digest := Digest(content)
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
	// After a write that failed, what is found may not be on the disk: the store has to be opened again first.
	if err := errors.Join(b.mayWrite(BlobStream), b.mender.pending()); err != nil {
		return "", err
	}
	looking, done := b.whileAlive(ctx, patience)
	// A description alone proves nothing: the content may be lost, and is kept anew then.
	_, err = b.findBlob(looking, digest)
	done()
	switch {
	case err == nil || errors.Is(err, events.ErrReadOnly) || errors.Is(err, events.ErrUnreadable):
		return digest, err
	case ctx.Err() != nil:
		return "", fmt.Errorf("keep the blob %s: %w", digest, context.Cause(ctx))
	case errors.Is(err, errNotSearched) && b.alive() == nil: // a slow disk; the server was asked for nothing
		return "", fmt.Errorf("keep the blob %s: %w", digest, err)
	}
	// A caller who leaves does not end the write: nobody could tell then whether the content is on the disk.
	ctx = context.WithoutCancel(ctx)
	alive, done := b.whileAlive(ctx, patience)
	defer done()
	if _, err := b.blobs.Put(alive, jetstream.ObjectMeta{Name: digest}, bytes.NewReader(content)); err != nil {
		if cause := context.Cause(alive); cause != nil {
			err = cause
		}
		return "", b.failed(ctx, fmt.Errorf("keep the blob %s: %w", digest, err))
	}
	return digest, b.blobIsThere(alive, digest)
}

// blobIsThere fails when a blob that nats-server took is not in the newest block: an event that names it may be
// appended next.
func (b *Bus) blobIsThere(ctx context.Context, digest string) error {
	if b.embedded == nil {
		return nil
	}
	stream, err := b.js.Stream(ctx, BlobStream)
	if err != nil {
		return b.failed(ctx, fmt.Errorf("keep the blob %s: %w", digest, err))
	}
	b.watch.acknowledged(BlobStream, stream.CachedInfo().State.LastSeq)
	return b.lookedAt(ctx, b.watch.checkSides(BlobStream)[BlobStream])
}

// Blob returns the content that has the digest. It fails with events.ErrNoBlob when none is kept, and with
// events.ErrBadBlob when what is kept is not that content.
func (b *Bus) Blob(ctx context.Context, digest string) ([]byte, error) {
	if !IsDigest(digest) {
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
	return b.findBlob(ctx, digest)
}

// BlobSize returns how many bytes the content has, as its description says. It fails as Blob does.
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

// findBlob reads a blob from the files of an embedded server as far as it can, and asks the server for the rest.
func (b *Bus) findBlob(ctx context.Context, digest string) ([]byte, error) {
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
	case !errors.Is(err, errNotThere):
		return nil, b.readFailed(ctx, err)
	}
	return b.readBlob(ctx, digest)
}

// readBlob reads the chunks one by one: unlike a consumer, which waits for a chunk that is lost, a read of one message
// always has an answer.
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
		if IsDigest(info.Name) {
			digests = append(digests, info.Name)
		}
	}
	slices.Sort(digests)
	return digests, nil
}
