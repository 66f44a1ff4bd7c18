package bus

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A start removes the unfinished files that a killed start left in the store and beside it, and nothing else.
func TestStartRemovesLeftoversOfKilledStart(t *testing.T) {
	t.Parallel()
	image := filepath.Join(t.TempDir(), "store")
	must(t, mustOpen(t, image, Always).Close())
	random := strings.Repeat("A7", 13)
	aside := image + asideInfix + "20260102T030405Z-"
	notes := filepath.Join(streamPath(image, StreamName), ".notes-"+random[1:])
	left := map[string]bool{ // whether it stays
		filepath.Join(image, ".probe-123"):                                false,
		filepath.Join(image, ".model-123", "jetstream", "1.blk"):          false,
		filepath.Join(image, ".clean.json-"+random):                       false,
		filepath.Join(streamPath(image, StreamName), ".meta.inf-"+random): false,
		aside + "copying/jetstream/1.blk":                                 false,
		aside + "other-2/damage.json":                                     false,
		aside + "obj_maestro_blobs/damage.json":                           false,
		aside + "other/index.db/something":                                true,
		aside + "tail/damage.json":                                        true,
		streamPath(aside+"maestro_denied", DeniedStream) + "/msgs/1.blk":  true,
		notes: true,
	}
	for path := range left {
		must(t, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600))
	}
	must(t, mustOpen(t, image, Always).Close())
	for path, stays := range left {
		if _, err := os.Lstat(path); (err == nil) != stays {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, what := range []string{"copying", "other-2", "obj_maestro_blobs"} {
		if _, err := os.Lstat(aside + what); err == nil {
			t.Errorf("%s is still there", aside+what)
		}
	}
}

// Snapshots that a killed server wrote only in part are removed.
func TestHalfASnapshotIsRemoved(t *testing.T) {
	dir := t.TempDir()
	half, whole := filepath.Join(dir, ".7.snapshot-"+strings.Repeat("A7", 13)), filepath.Join(dir, "7.snapshot")
	must(t, os.WriteFile(half, nil, 0o600), os.WriteFile(whole, nil, 0o600))
	_, err := OpenSnapshots(dir)
	must(t, err)
	if _, err := os.Lstat(half); err == nil {
		t.Error("an unfinished snapshot is left")
	}
	if _, err := os.Lstat(whole); err != nil {
		t.Error(err)
	}
}

// A copy beside the store gets its name only when it is complete.
func TestCopyBesideStoreIsCompleteOrAbsent(t *testing.T) {
	t.Parallel()
	b := mustOpen(t, filepath.Join(t.TempDir(), "store"), Always)
	broken := errors.New("the disk broke")
	for _, fails := range []error{nil, broken, nil} {
		before, err := Tails(b.embedded.dir)
		must(t, err)
		_, err = b.embedded.copyAside(tailAside, nil, func(dir string) error {
			during, err := Tails(b.embedded.dir)
			if err != nil || len(during) != len(before) {
				t.Errorf("during the copy there are %v, %v", during, err)
			}
			return errors.Join(os.WriteFile(filepath.Join(dir, "1.blk"), nil, 0o600), fails)
		})
		after, listErr := Tails(b.embedded.dir)
		if !errors.Is(err, fails) || listErr != nil || (len(after) > len(before)) != (fails == nil) {
			t.Errorf("after %v there are %v, %v, %v", fails, after, err, listErr)
		}
	}
	if half, err := asides(b.embedded.dir, copyingAside); err != nil || len(half) > 0 {
		t.Errorf("left: %v, %v", half, err)
	}
}
