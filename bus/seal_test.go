package bus

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"maestro/events"
)

func TestSealCoversWholeBackup(t *testing.T) {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	digest := Digest([]byte("text"))
	whole := BackupSeal{
		Format:  backupFormat,
		Created: time.Unix(1_700_000_000, 5).UTC(),
		Head:    events.Head{Sequence: 7, Hash: events.Hash{1}},
		Blobs:   []string{digest},
		Lost:    []LostBlob{{3, Digest(nil), "gone"}},
	}
	if err := whole.sign(key); err != nil {
		t.Fatal(err)
	}
	manifest := backupManifest{Format: whole.Format, Created: whole.Created, Head: whole.Head}
	if err := whole.check(manifest, []string{digest}); err != nil {
		t.Fatalf("the unaltered seal: %v", err)
	}
	other := ed25519.NewKeyFromSeed(slices.Repeat([]byte{1}, ed25519.SeedSize))
	public, _ := other.Public().(ed25519.PublicKey)
	for name, alter := range map[string]func(s *BackupSeal, m *backupManifest, blobs *[]string){
		"head": func(s *BackupSeal, m *backupManifest, _ *[]string) {
			s.Head.Hash, m.Head.Hash = events.Hash{2}, events.Hash{2}
		},
		"head, only here": func(_ *BackupSeal, m *backupManifest, _ *[]string) { m.Head.Sequence++ },
		"time": func(s *BackupSeal, m *backupManifest, _ *[]string) {
			s.Created, m.Created = time.Time{}, time.Time{}
		},
		"time, only here": func(_ *BackupSeal, m *backupManifest, _ *[]string) { m.Created = time.Time{} },
		"one text less":   func(_ *BackupSeal, _ *backupManifest, blobs *[]string) { *blobs = nil },
		"text and list": func(s *BackupSeal, _ *backupManifest, blobs *[]string) {
			s.Blobs, *blobs = []string{}, []string{}
		},
		"what is lost":   func(s *BackupSeal, _ *backupManifest, _ *[]string) { s.Lost = nil },
		"the key's name": func(s *BackupSeal, _ *backupManifest, _ *[]string) { s.Key = SignerName(public) },
		"no key":         func(s *BackupSeal, _ *backupManifest, _ *[]string) { s.Key = "" },
		"no signature":   func(s *BackupSeal, _ *backupManifest, _ *[]string) { s.Signature = nil },
		"the signature": func(s *BackupSeal, _ *backupManifest, _ *[]string) {
			s.Signature = ed25519.Sign(other,
				nil)
		},
	} {
		seal, says, blobs := whole, manifest, []string{digest}
		alter(&seal, &says, &blobs)
		if err := seal.check(says, blobs); err == nil {
			t.Errorf("%s: altered, but the seal is still valid", name)
		}
	}
}

func TestLostBlobIsNamedAndRestored(t *testing.T) {
	b := mustOpen(t, t.TempDir(), Interval)
	content := bytes.Repeat([]byte("blob"), 100_000)
	digest, err := b.PutBlob(t.Context(), content)
	if err != nil {
		t.Fatal(err)
	}
	// Its parts are gone, but its description is there.
	if err := b.blobStream.Purge(t.Context(), jetstream.WithPurgeSubject("$O."+BlobBucket+".C.>")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Blob(t.Context(), digest); !errors.Is(err, events.ErrBadBlob) {
		t.Fatalf("a blob without its parts: %v", err)
	}
	if again, err := b.PutBlob(t.Context(), content); err != nil || again != digest {
		t.Fatalf("stored again: %q, %v", again, err)
	}
	if got, err := b.Blob(t.Context(), digest); err != nil || !bytes.Equal(got, content) {
		t.Errorf("after that: %d bytes, %v", len(got), err)
	}
}
