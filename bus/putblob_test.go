package bus

import (
	"bytes"
	"fmt"
	"testing"

	"maestro/internal/disk"
)

// The blobs are an object store of JetStream: its own client reads what PutBlob stores, and can replace it.
func TestBlobsAreAnObjectStore(t *testing.T) {
	b := mustOpen(t, t.TempDir(), Interval)
	for _, size := range []int{1, 700, blobChunk, blobChunk + 1, 3*blobChunk + 5} {
		content := bytes.Repeat([]byte{byte(size)}, size)
		digest, err := b.PutBlob(t.Context(), content)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := b.blobs.GetBytes(t.Context(), digest); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%d bytes: %d, %v", size, len(got), err)
		}
		info, err := b.blobs.GetInfo(t.Context(), digest)
		if err != nil || info.Size != uint64(size) { //nolint:gosec // a few
			t.Errorf("%d bytes: described as %+v, %v", size, info, err)
		}
		if err := b.replaceBlob(t.Context(), digest, content); err != nil {
			t.Fatal(err)
		}
		if got, err := b.Blob(t.Context(), digest); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%d bytes, replaced: %d, %v", size, len(got), err)
		}
	}
}

// Content that was stored before is neither written nor read again, unless the store was reopened meanwhile.
func TestKnownBlobsCostNothing(t *testing.T) {
	b := mustOpen(t, t.TempDir(), Always)
	content := []byte("the manifest of every worker of a queue")
	put := func() (syncs, opens int) {
		t.Helper()
		restore := disk.Inject(func(operation, _ string) error {
			switch operation {
			case "sync":
				syncs++
			case "open":
				opens++
			}
			return nil
		})
		defer restore()
		if _, err := b.PutBlob(t.Context(), content); err != nil {
			t.Fatal(err)
		}
		return syncs, opens
	}
	if syncs, _ := put(); syncs == 0 {
		t.Fatal("new content was not synced")
	}
	if syncs, opens := put(); syncs+opens > 0 {
		t.Errorf("known content cost %d syncs and %d opened files", syncs, opens)
	}
	b.doubtful.Store(true)
	if _, err := b.Sync(t.Context()); err != nil { // reopens the store
		t.Fatal(err)
	}
	if _, opens := put(); opens == 0 {
		t.Error("after a reopen, nobody looked whether the content is there")
	}
}

// Only the newest digests are remembered.
func TestDurableBlobsAreBounded(t *testing.T) {
	var d durableBlobs
	for i := range 3 * durableMost {
		d.add(fmt.Sprint(i))
		d.add(fmt.Sprint(i))
	}
	newest := fmt.Sprint(3*durableMost - 1)
	if len(d.known) != durableMost || len(d.oldest) != durableMost || d.has("0") || !d.has(newest) {
		t.Errorf("%d, %d are remembered", len(d.known), len(d.oldest))
	}
}
