package home

import (
	"os"
	"path/filepath"
	"testing"
)

func TestHomeHasLogOnceStoreHasStreams(t *testing.T) {
	dir := t.TempDir()
	if HasLog(dir) {
		t.Error("an empty directory has a log")
	}
	for _, below := range Dirs(dir)[1:] {
		if filepath.Dir(below) != dir && filepath.Dir(filepath.Dir(below)) != dir {
			t.Errorf("%s is not in the home", below)
		}
		if err := os.MkdirAll(below, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if !HasLog(dir) {
		t.Error("a home with a store has no log")
	}
}
