package bus

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"maestro/events"
)

// holdsBytes reports whether a file below dir holds the bytes.
func holdsBytes(t *testing.T, dir string, content []byte) bool {
	t.Helper()
	found := false
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		stored, err := os.ReadFile(path)
		found = found || bytes.Contains(stored, content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// A deleted blob is gone from the disk, and the others stay, also after a restart.
func TestDeletedBlobsAreErased(t *testing.T) {
	dir := t.TempDir()
	b, err := Open(t.Context(), Options{
		Dir:        dir,
		Durability: Always,
		Logger:     testLogger(t),
		Timeout:    patience,
	})
	if err != nil {
		t.Fatal(err)
	}
	mark := []byte("correct horse battery staple")
	secret := bytes.Repeat(append(bytes.Repeat([]byte("x"), 1000), mark...), 400) // several parts
	other := bytes.Repeat([]byte("o"), 3000)
	put := func(content []byte) string {
		t.Helper()
		digest, err := b.PutBlob(t.Context(), content)
		if err != nil {
			t.Fatal(err)
		}
		return digest
	}
	before, digest := put(other), put(secret)
	after := put(append(other, 'p'))
	if !holdsBytes(t, dir, mark) {
		t.Fatal("the text is not in the files before it is deleted")
	}
	for range 2 { // it may be repeated
		if err := b.DeleteBlob(t.Context(), digest); err != nil {
			t.Fatal(err)
		}
	}
	check := func(when string) {
		t.Helper()
		if _, err := b.Blob(t.Context(), digest); !errors.Is(err, events.ErrNoBlob) {
			t.Errorf("%s: the deleted text reads as %v", when, err)
		}
		if holdsBytes(t, dir, mark) {
			t.Errorf("%s: the files still hold the text", when)
		}
		for _, kept := range []string{before, after} {
			if _, err := b.Blob(t.Context(), kept); err != nil {
				t.Errorf("%s: %s: %v", when, kept, err)
			}
		}
		if list, err := b.Blobs(t.Context()); err != nil || len(list) != 2 {
			t.Errorf("%s: %d texts are listed, %v", when, len(list), err)
		}
	}
	check("at once")
	put([]byte("a text stored after a deletion"))
	if err := b.DeleteBlob(t.Context(), Digest([]byte("a text stored after a deletion"))); err != nil {
		t.Fatal(err)
	}
	check("after another")
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b = mustOpen(t, dir, Always)
	if err := b.Damage(); err != nil {
		t.Fatal(err)
	}
	check("after a restart")
	if again := put(secret); again != digest {
		t.Errorf("it is stored again as %s", again)
	}
	if content, err := b.Blob(t.Context(), digest); err != nil || !bytes.Equal(content, secret) {
		t.Errorf("it is stored again and reads as %d bytes, %v", len(content), err)
	}
}
