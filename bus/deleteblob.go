package bus

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"maestro/events"
)

// DeleteBlob deletes the content of a digest for good: nats-server overwrites its bytes in the blocks. It is no error
// if there is none. The content of a write that was interrupted is deleted too, if the write got as far as its
// description.
func (b *Bus) DeleteBlob(ctx context.Context, digest string) error {
	if !events.IsDigest(digest) {
		return fmt.Errorf("delete the blob %q: it is not a digest", digest)
	}
	end, err := b.writing.turn(ctx, digest)
	if err != nil {
		return fmt.Errorf("delete the blob %s: %w", digest, err)
	}
	defer end()
	release, err := b.use()
	if err != nil {
		return err
	}
	defer release()
	if err := errors.Join(b.mayWrite(BlobStream), b.mender.pending()); err != nil {
		return err
	}
	b.durable.forget()
	alive, done := b.whileAlive(context.WithoutCancel(ctx), b.options.Timeout)
	defer done()
	if err := b.watch.rewriting(BlobStream, func() error { return b.eraseBlob(alive, digest) }); err != nil {
		return b.failed(ctx, fmt.Errorf("delete the blob %s: %w", digest, err))
	}
	return nil
}

// eraseBlob erases the parts of a blob, and its description last, so that an interrupted deletion can be repeated.
func (b *Bus) eraseBlob(ctx context.Context, digest string) error {
	info, err := b.blobs.GetInfo(ctx, digest)
	switch {
	case errors.Is(err, jetstream.ErrObjectNotFound):
		return nil
	case err != nil:
		return err
	}
	if err := b.eraseSubject(ctx, "$O."+BlobBucket+".C."+info.NUID); err != nil {
		return err
	}
	name := base64.URLEncoding.EncodeToString([]byte(digest))
	if err := b.eraseSubject(ctx, "$O."+BlobBucket+".M."+name); err != nil {
		return err
	}
	if b.embedded == nil {
		return nil
	}
	return b.syncSide(BlobStream)
}

// eraseSubject overwrites and deletes all messages of a subject.
func (b *Bus) eraseSubject(ctx context.Context, subject string) error {
	next := uint64(1)
	for {
		m, err := b.blobStream.GetMsg(ctx, next, jetstream.WithGetMsgSubject(subject))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		err = b.blobStream.SecureDeleteMsg(ctx, m.Sequence)
		if err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
			return err
		}
		next = m.Sequence + 1
	}
}

// redacted returns the digest of the text that a body says was removed, "" for none.
func redacted(data events.Data) string {
	if r, ok := data.(*events.TextRedacted); ok {
		return r.Text
	}
	return ""
}
