package bus

import (
	"os"
	"path/filepath"
	"testing"
)

// A stop says so when the store is no longer where this server used it, although all its files are there.
func TestStopAfterStoreWasMoved(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	b := mustOpen(t, dir, Always)
	must(t, b.Append(t.Context(), 0, several(2)))
	must(t, b.lost())
	must(t, os.Rename(dir, dir+".moved"))
	if err := b.lost(); err == nil {
		t.Error("a store that was moved counts as being in its place")
	}
	must(t, os.Rename(dir+".moved", dir))
}
