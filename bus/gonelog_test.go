package bus

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"maestro/events"
)

// A store that has lost its whole log is read-only as long as anything shows that it had one: no empty log takes its
// place. A new store is none, and neither is one whose first start was killed before it created the log.
func TestStoreWithoutItsLogIsDamaged(t *testing.T) {
	dir, _, blobs, _ := filledStore(t)
	without := func(names ...string) func(image string) error {
		return func(image string) error {
			err := os.RemoveAll(streamPath(image, StreamName))
			for _, name := range names {
				err = errors.Join(err, os.RemoveAll(filepath.Join(image, name)))
			}
			return err
		}
	}
	streams := "jetstream"
	blobsOf, denialsOf := streamPath("", BlobStream), streamPath("", DeniedStream)
	for _, c := range []struct {
		name, used string
		change     func(image string) error
		gone       bool
	}{
		{"with texts", "", without(cleanName, checkedName, denialsOf), true},
		{"with refusals", "", without(cleanName, checkedName, blobsOf), true},
		{"with what was set aside of texts", "", func(image string) error {
			aside := image + asideInfix + "20260102T030405Z-obj_maestro_blobs"
			return errors.Join(without(cleanName, checkedName, denialsOf)(image),
				os.MkdirAll(filepath.Dir(streamPath(aside, BlobStream)), 0o700),
				os.Rename(streamPath(image, BlobStream), streamPath(aside, BlobStream)))
		}, true},
		{"with the daily check", "", func(image string) error {
			return errors.Join(without(cleanName, streams)(image),
				os.WriteFile(filepath.Join(image, checkedName), []byte("{}\n"), 0o600))
		}, true},
		{"in a used home", "/home/version", os.RemoveAll, true},
		{"whose blocks are gone", "/home/version", func(image string) error {
			return errors.Join(without(cleanName, streams)(image),
				os.MkdirAll(filepath.Join(streamPath(image, StreamName), "msgs"), 0o700))
		}, true},
		{"after a start that was killed", "", func(image string) error {
			return errors.Join(without(cleanName, checkedName, streams)(image),
				os.WriteFile(filepath.Join(image, bootName), []byte("1\n"), 0o600))
		}, false},
		{"that is new", "", os.RemoveAll, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			image := storeCopy(t, dir)
			must(t, c.change(image))
			for range 2 { // the first start leaves no empty log behind
				b, err := Open(t.Context(), Options{Dir: image, Used: c.used, Logger: testLogger(t)})
				must(t, err)
				damage := b.Damage()
				if says := damage != nil && strings.Contains(damage.Error(), "the log is gone"); says != c.gone ||
					c.gone && !errors.Is(damage, events.ErrReadOnly) {
					t.Errorf("the damage is %v", damage)
				}
				for digest := range blobs {
					if _, err := b.Blob(t.Context(), digest); c.name == "with texts" && err != nil {
						t.Errorf("a text cannot be read: %v", err)
					}
				}
				must(t, b.Close())
				if r, err := OpenReadOnly(t.Context(), Options{Dir: image}); err == nil {
					if damage := r.Damage(Options{Used: c.used}); (damage != nil) != c.gone {
						t.Errorf("for a reader, the damage is %v", damage)
					}
					must(t, r.Close())
				}
			}
		})
	}
}

// A store whose log is empty is no damaged one, whatever shows that a server has used it.
func TestEmptyLogIsNotGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	for _, used := range []string{"", "/home/version"} {
		b, err := Open(t.Context(), Options{Dir: dir, Used: used, Logger: testLogger(t)})
		must(t, err, b.Damage(), b.Close())
	}
}
