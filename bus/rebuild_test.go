package bus

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"maestro/events"
	"maestro/internal/testing/race"
)

// interrupted returns a store whose blobs and refusals were set aside to be recreated when the server was killed. One
// bit of the blobs is damaged.
func interrupted(t *testing.T, dir string) (image string, asides map[string]string) {
	t.Helper()
	image = filepath.Join(t.TempDir(), "store")
	copyStore(t, dir, image)
	flip(t, filepath.Join(streamPath(image, BlobStream), "msgs", "1.blk"), func(size int64) int64 { return size / 2 })
	asides = map[string]string{}
	pending := map[string][]string{}
	for _, stream := range sideStreams {
		aside := image + asideInfix + "20260102T030405Z-" + strings.ToLower(stream)
		must(t, os.MkdirAll(filepath.Dir(streamPath(aside, stream)), 0o700),
			os.Rename(streamPath(image, stream), streamPath(aside, stream)))
		asides[stream] = aside
		pending[stream] = []string{filepath.Base(aside)}
	}
	must(t, writeRebuilds(image, pending))
	return image, asides
}

// TestInterruptedRebuildContinues: a reader of the store sees what was set aside, and the next start puts it back, even
// without the list.
func TestInterruptedRebuildContinues(t *testing.T) {
	race.Without(t)
	t.Parallel()
	dir, log, blobs, denials := filledStore(t)
	for name, harm := range map[string]func(list string) error{
		"the list":      func(string) error { return nil },
		"junk":          func(list string) error { return os.WriteFile(list, []byte("junk"), 0o600) },
		"no list":       os.Remove,
		"another kind":  func(list string) error { return errors.Join(os.Remove(list), os.Mkdir(list, 0o700)) },
		"a full folder": func(list string) error { return errors.Join(os.Remove(list), os.MkdirAll(list+"/a", 0o700)) },
	} {
		t.Run(name, func(t *testing.T) {
			image, asides := interrupted(t, dir)
			must(t, harm(filepath.Join(image, rebuildsName)))
			r, err := OpenReadOnly(t.Context(), Options{Dir: image})
			must(t, err)
			whole := 0
			for digest, want := range blobs {
				if got, err := r.Blob(t.Context(), digest); err == nil && bytes.Equal(got, want) {
					whole++
				}
			}
			listed, err := r.Blobs(t.Context())
			if whole != len(blobs)-1 || err != nil || len(listed) < whole {
				t.Errorf("%d of %d texts can be read, %d are listed, %v", whole, len(blobs), len(listed), err)
			}
			if got := denialsOf(t, r.LoadDenials); !sameDenials(got, denials) {
				t.Errorf("%d of %d refusals can be read", len(got), len(denials))
			}
			told := false
			for _, f := range r.Faults() {
				told = told || strings.Contains(f.Why, "was set aside")
			}
			if !told {
				t.Errorf("the faults do not say that the streams were set aside: %v", r.Faults())
			}
			must(t, r.Close())
			b := openWitnessed(t, image, Always, uint64(len(log)))
			must(t, b.Damage())
			for digest, want := range blobs {
				if got, err := b.Blob(t.Context(), digest); err == nil && bytes.Equal(got, want) {
					whole--
				}
			}
			if got := denialsOf(t, b.LoadDenials); whole != 0 || !sameDenials(got, denials) {
				t.Errorf("%d texts were not put back, and %d of %d refusals were", whole, len(got), len(denials))
			}
			for _, aside := range asides {
				if !isRemade(aside) {
					t.Errorf("%s is not marked", aside)
				}
			}
			if _, err := os.Lstat(filepath.Join(image, rebuildsName)); err == nil {
				t.Error("the list is still there")
			}
		})
	}
}

// TestStartAcceptsRestoredBlocks: the note of the last clean stop names blocks that an interrupted start set
// aside. The next start puts them back, and reports only that. A block that is nowhere is reported as missing.
func TestStartAcceptsRestoredBlocks(t *testing.T) {
	t.Parallel()
	dir, log, _, _ := filledStore(t)
	const gone, back = "a block is gone", "is put back"
	for name, c := range map[string]struct {
		change    func(image string, asides map[string]string) error
		says      string
		saysNever string
	}{
		"set aside": {func(string, map[string]string) error { return nil }, back, gone},
		"begun again": {func(image string, _ map[string]string) error {
			return os.MkdirAll(filepath.Join(streamPath(image, BlobStream), "msgs"), 0o700)
		}, back, gone},
		"lost": {func(_ string, asides map[string]string) error {
			return errors.Join(os.RemoveAll(asides[BlobStream]), os.RemoveAll(asides[DeniedStream]))
		}, gone, back},
	} {
		t.Run(name, func(t *testing.T) {
			image, asides := interrupted(t, dir)
			note := &storeNote{Streams: map[string]streamNote{}}
			for _, stream := range sideStreams {
				note.Streams[stream] = streamNote{Blocks: []blockNote{{Index: 1}}}
			}
			must(t, note.save(image), c.change(image, asides))
			var logged bytes.Buffer
			b, err := Open(t.Context(), Options{
				Dir:       image,
				Witnessed: uint64(len(log)),
				Logger:    slog.New(slog.NewTextHandler(&logged, nil)),
				Timeout:   patience,
			})
			must(t, err)
			must(t, b.Close())
			if said := logged.String(); !strings.Contains(said, c.says) || strings.Contains(said, c.saysNever) {
				t.Errorf("the start reports %s", said)
			}
		})
	}
}

// TestMissingSetAsideStreamIsNamed: a reader of the store and a start name it.
func TestMissingSetAsideStreamIsNamed(t *testing.T) {
	t.Parallel()
	dir, log, _, _ := filledStore(t)
	image, asides := interrupted(t, dir)
	must(t, os.RemoveAll(asides[BlobStream]))
	r, err := OpenReadOnly(t.Context(), Options{Dir: image})
	must(t, err)
	told := false
	for _, f := range r.Faults() {
		told = told || strings.Contains(f.Why, filepath.Base(asides[BlobStream]))
	}
	if !told {
		t.Errorf("no fault names the directory: %v", r.Faults())
	}
	must(t, r.Close())
	var logged bytes.Buffer
	b, err := Open(t.Context(), Options{
		Dir:       image,
		Witnessed: uint64(len(log)),
		Logger:    slog.New(slog.NewTextHandler(&logged, nil)),
		Timeout:   patience,
	})
	must(t, err)
	must(t, b.Close())
	if !strings.Contains(logged.String(), "its directory is gone") {
		t.Errorf("the start does not report it: %s", &logged)
	}
}

// TestSetAsideRefusalDoesNotReplaceNewer: the newer refusal stays in its slot.
func TestSetAsideRefusalDoesNotReplaceNewer(t *testing.T) {
	t.Parallel()
	dir, log, _, denials := filledStore(t)
	image, asides := interrupted(t, dir)
	held := image + "-held"
	must(t, os.Rename(asides[DeniedStream], held), os.Remove(filepath.Join(image, rebuildsName)))
	b := openWitnessed(t, image, Always, uint64(len(log)))
	newer := denials[0]
	newer.Body = []byte(`{"newer":true}`)
	must(t, b.StoreDenials(t.Context(), []events.StoredDenial{newer}), b.Close(), os.Rename(held, asides[DeniedStream]))
	b = openWitnessed(t, image, Always, uint64(len(log)))
	got := denialsOf(t, b.LoadDenials)
	if len(got) != len(denials) {
		t.Errorf("%d of %d refusals are left", len(got), len(denials))
	}
	for _, d := range got {
		if d.Actor == newer.Actor && d.Slot == newer.Slot && !bytes.Equal(d.Body, newer.Body) {
			t.Errorf("the slot holds %s", d.Body)
		}
	}
}
