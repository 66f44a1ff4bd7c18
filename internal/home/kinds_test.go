package home

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A server checks the kind of each file and directory of a home before it uses them.
func TestCheckKinds(t *testing.T) {
	for _, kind := range kinds {
		h := made(t)
		if err := h.CheckKinds(); err != nil {
			t.Fatalf("a new home: %v", err)
		}
		path := filepath.Join(h.Dir(), kind.name)
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		is := directory
		if kind.want == directory {
			is = plainFile
			err = errors.Join(err, os.WriteFile(path, nil, 0o600))
		} else {
			err = errors.Join(err, os.Mkdir(path, 0o700))
		}
		if err != nil {
			t.Fatal(err)
		}
		var wrong *KindError
		if err := h.CheckKinds(); !errors.As(err, &wrong) ||
			wrong.Path != path || wrong.Is != is || wrong.Want != kind.want {
			t.Errorf("%s is %s: %v", kind.name, is, err)
		}
	}
	h := made(t)
	if err := os.MkdirAll(filepath.Join(h.Dir(), ".store", "lock.new"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := h.CheckKinds(); err != nil {
		t.Errorf("a directory in which no file can be written gives %v", err)
	}
	if err := os.Mkdir(filepath.Join(h.Dir(), ".server.json.new"), 0o700); err != nil {
		t.Fatal(err)
	}
	var wrong *KindError
	if err := h.CheckKinds(); !errors.As(err, &wrong) {
		t.Errorf("a directory in which a file can be written gives %v", err)
	}
}
