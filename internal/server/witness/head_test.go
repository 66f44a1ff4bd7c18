package witness

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"maestro/bus"
	"maestro/events"
)

// An unreadable head file is set aside. If the home is gone, or the server writes nothing, it stays where it is.
func TestDamagedHeadFileIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "head")
	if err := os.WriteFile(path, []byte("junk"), 0o600); err != nil {
		t.Fatal(err)
	}
	gone := errors.New("gone")
	_, err := Head{Path: path, Here: func() error { return gone }}.Load(t.Context())
	if _, missing := os.Stat(path); !errors.Is(err, gone) || missing != nil {
		t.Errorf("in a home that is gone: %v, %v", err, missing)
	}
	_, err = OldHead{Path: path}.Load(t.Context())
	if _, missing := os.Stat(path); err == nil || missing != nil {
		t.Errorf("in a home that is only read: %v, %v", err, missing)
	}
	_, err = Head{Path: path, Here: func() error { return nil }}.Load(t.Context())
	aside := path + bus.DamagedSuffix
	if kept, readErr := os.ReadFile(aside); err == nil || !strings.Contains(err.Error(), aside) || readErr != nil ||
		string(kept) != "junk" {
		t.Errorf("%v; beside it is %q, %v", err, kept, readErr)
	}
}

// No snapshot is saved before the events that it contains are on the disk.
func TestNoSnapshotBeforeSync(t *testing.T) {
	notFirm := errors.New("not firm")
	err := Snapshots{Firm: func() error { return notFirm }}.Save(context.Background(), events.Snapshot{})
	if !errors.Is(err, notFirm) {
		t.Errorf("got %v", err)
	}
	none := OldSnapshots{bus.ReadSnapshots(filepath.Join(t.TempDir(), "none"))}
	if list, err := none.List(t.Context()); len(list) > 0 || err != nil {
		t.Errorf("without snapshots: %v, %v", list, err)
	}
	if err := none.Save(t.Context(), events.Snapshot{}); !errors.Is(err, os.ErrPermission) {
		t.Errorf("a snapshot was saved: %v", err)
	}
}
