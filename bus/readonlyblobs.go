package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"maestro/events"
)

// blobIndex holds the locations of a store's blobs.
type blobIndex struct {
	mu *sync.Mutex
	// metas holds the newest descriptions by digest, chunks the places of the parts by the id in a description.
	metas  map[string]blobMeta
	chunks map[string][]uint64
	stream *scannedStream
}

// blobMeta is the part of the object store's metadata of a blob that is needed here.
type blobMeta struct {
	Name    string `json:"name"`
	NUID    string `json:"nuid"`
	Size    uint64 `json:"size"`
	Chunks  int    `json:"chunks"`
	Deleted bool   `json:"deleted"`

	sequence uint64
}

func newBlobIndex() blobIndex {
	return blobIndex{mu: new(sync.Mutex), metas: map[string]blobMeta{}, chunks: map[string][]uint64{}}
}

// note indexes one message of the object store.
func (x *blobIndex) note(_ int, r blockRecord) {
	subject := string(r.subject)
	if id, isChunk := strings.CutPrefix(subject, blobChunkPrefix); isChunk {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.chunks[id] = append(x.chunks[id], r.sequence)
		return
	}
	var meta blobMeta
	if !strings.HasPrefix(subject, blobMetaPrefix) || json.Unmarshal(r.body, &meta) != nil ||
		!events.IsDigest(meta.Name) {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if meta.sequence = r.sequence; x.metas[meta.Name].sequence < meta.sequence {
		x.metas[meta.Name] = meta
	}
}

// settle orders what the scan found and drops what was deleted.
func (x *blobIndex) settle(stream *scannedStream) {
	x.stream = stream
	gone := func(sequence uint64) bool {
		_, found := stream.at(sequence)
		return !found
	}
	maps.DeleteFunc(x.metas, func(_ string, m blobMeta) bool { return m.Deleted || gone(m.sequence) })
	for id, sequences := range x.chunks {
		slices.Sort(sequences)
		x.chunks[id] = slices.DeleteFunc(slices.Compact(sequences), gone)
	}
}

// adopt finds blobs whose description is lost, by the digest of their content, and returns their digests. An
// interrupted PutBlob also leaves such content, which nothing names.
func (r *ReadOnly) adopt(ctx context.Context) (adopted []string, err error) {
	named := map[string]bool{}
	for _, meta := range r.blobs.metas {
		named[meta.NUID] = true
	}
	for id := range r.blobs.chunks {
		if named[id] {
			continue
		}
		content, err := r.assemble(ctx, id)
		if err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			continue
		}
		digest := Digest(content)
		if _, found := r.blobs.metas[digest]; !found && len(content) > 0 {
			r.blobs.metas[digest] = blobMeta{Name: digest, NUID: id, Size: uint64(len(content))}
			adopted = append(adopted, digest)
		}
	}
	return adopted, nil
}

// Blobs lists the digests of all blobs that have a description, in order, including those that were set aside. Blob can
// still fail for one whose content is damaged.
func (r *ReadOnly) Blobs(context.Context) ([]string, error) {
	digests := slices.Collect(maps.Keys(r.blobs.metas))
	for _, aside := range r.asides {
		digests = slices.AppendSeq(digests, maps.Keys(aside.blobs.metas))
	}
	slices.Sort(digests)
	return slices.Compact(digests), nil
}

// blobSize returns the size of the content in bytes, according to its description.
func (r *ReadOnly) blobSize(digest string) (int64, error) {
	meta, found := r.blobs.metas[digest]
	if !found {
		return 0, fmt.Errorf("%w: %s", ErrNoBlob, digest)
	}
	return int64(min(meta.Size, math.MaxInt64)), nil
}

// Blob returns the content with the digest, verified, or ErrNoBlob. Damaged content gives ErrBlobDamaged.
func (r *ReadOnly) Blob(ctx context.Context, digest string) ([]byte, error) {
	content, err := r.ownBlob(ctx, digest)
	for i := 0; err != nil && ctx.Err() == nil && i < len(r.asides); i++ {
		other, otherErr := r.asides[i].ownBlob(ctx, digest)
		if otherErr == nil {
			return other, nil
		}
		if errors.Is(err, ErrNoBlob) {
			err = otherErr
		}
	}
	return content, err
}

func (r *ReadOnly) ownBlob(ctx context.Context, digest string) ([]byte, error) {
	if !events.IsDigest(digest) {
		return nil, fmt.Errorf("%w: %q is not a digest", ErrNoBlob, digest)
	}
	meta, found := r.blobs.metas[digest]
	if !found {
		return nil, fmt.Errorf("%w: %s", ErrNoBlob, digest)
	}
	content, err := r.assemble(ctx, meta.NUID)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrBlobDamaged, digest, err)
	}
	if got := Digest(content); got != digest {
		return nil, fmt.Errorf("%w: %s: %d of %d bytes can be read, or they are not what they were", ErrBlobDamaged,
			digest, len(content), meta.Size)
	}
	return content, nil
}

// assemble joins the parts of a blob.
func (r *ReadOnly) assemble(ctx context.Context, id string) ([]byte, error) {
	reader, err := r.reader(r.blobs.stream, blobPrefix)
	if err != nil {
		return nil, err
	}
	defer reader.close()
	var content []byte
	for _, sequence := range r.blobs.chunks[id] {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		i, _ := r.blobs.stream.at(sequence)
		chunk, err := reader.read(r.blobs.stream.places[i])
		if err != nil {
			return nil, err
		}
		content = append(content, chunk.body...)
	}
	return content, nil
}

// PutBlob always fails with events.ErrReadOnly.
func (r *ReadOnly) PutBlob(context.Context, []byte) (string, error) { return "", errOpenedReadOnly }

// StoreDenials always fails with events.ErrReadOnly.
func (r *ReadOnly) StoreDenials(context.Context, []events.StoredDenial) error {
	return errOpenedReadOnly
}

// LoadDenials yields the readable recorded refusals in the order in which they were stored, the newest of each slot.
// Those that were set aside and not yet put back come first.
func (r *ReadOnly) LoadDenials(ctx context.Context, yield func(events.StoredDenial) error) error {
	if len(r.asides) == 0 {
		return r.ownDenials(ctx, yield)
	}
	var all []events.StoredDenial
	newest := map[slot]int{}
	for _, files := range append(slices.Clone(r.asides), r) {
		if err := files.ownDenials(ctx, func(d events.StoredDenial) error {
			newest[slot{d.Actor, d.Slot}] = len(all)
			all = append(all, d)
			return nil
		}); err != nil {
			return err
		}
	}
	for i, d := range all {
		if newest[slot{d.Actor, d.Slot}] != i {
			continue
		}
		if err := yield(d); err != nil {
			return err
		}
	}
	return nil
}

func (r *ReadOnly) ownDenials(ctx context.Context, yield func(events.StoredDenial) error) error {
	reader, err := r.reader(r.denied, events.DeniedPrefix)
	if err != nil {
		return err
	}
	defer reader.close()
	type kept struct {
		subject string
		denial  events.StoredDenial
	}
	var all []kept
	newest := map[string]int{}
	for _, p := range r.denied.places {
		if err := ctx.Err(); err != nil {
			return err
		}
		record, err := reader.read(p)
		if err != nil {
			continue // it is one of the faults
		}
		var stored deniedMessage
		if json.Unmarshal(record.body, &stored) != nil {
			continue
		}
		subject := string(record.subject)
		newest[subject] = len(all)
		all = append(
			all, kept{subject, events.StoredDenial{Actor: stored.Actor, Slot: stored.Slot, Body: stored.Denial}},
		)
	}
	for i, k := range all {
		if newest[k.subject] != i {
			continue
		}
		if err := yield(k.denial); err != nil {
			return err
		}
	}
	return nil
}

// DeleteBlob always fails with events.ErrReadOnly.
func (r *ReadOnly) DeleteBlob(context.Context, string) error { return errOpenedReadOnly }
