package salvage

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"maestro/internal/disk"
	"maestro/internal/home"
)

// TestSalvageFillsADirectoryInPlace: a mount point can be neither removed nor renamed, and its parent may be closed. A
// failed salvage leaves it empty, and a killed one can be repeated.
func TestSalvageFillsADirectoryInPlace(t *testing.T) {
	l := shared(t)
	damaged, err := home.Open(l.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = damaged.Close() }()
	parent := t.TempDir()
	to := filepath.Join(parent, "mounted")
	if err := errors.Join(os.Mkdir(to, 0o755), os.Mkdir(filepath.Join(to, "lost+found"), 0o700)); err != nil {
		t.Fatal(err)
	}
	refused := errors.New("injected")
	mounted := func(operation, path string) error {
		if (operation == "rename" || operation == "remove") && path == to || filepath.Dir(path) == parent &&
			(strings.HasPrefix(operation, "mk") || operation == "sync") && path != to {
			return refused
		}
		return nil
	}
	salvaged := func(fail func(operation, path string) error) (*Report, error) {
		defer disk.Inject(fail)()
		return Home(t.Context(), Options{
			Home:   damaged,
			To:     to,
			Signer: l.signer,
			Now:    time.Now(),
		})
	}
	_, err = salvaged(func(operation, path string) error {
		if operation == "rename" && filepath.Base(path) == storeName {
			return refused
		}
		return mounted(operation, path)
	})
	if entries, readErr := os.ReadDir(to); !errors.Is(err, refused) || readErr != nil || len(entries) != 1 {
		t.Errorf("a failure at the last step left %v, %v: %v", entries, readErr, err)
	}
	// The state after a process was killed before its last step.
	left := filepath.Join(to, ".salvage-1")
	if err := errors.Join(os.MkdirAll(filepath.Join(left, storeName), 0o700),
		os.WriteFile(filepath.Join(left, "placing"), []byte("admin.token\nversion\nstore"), 0o600),
		os.WriteFile(filepath.Join(left, "version"), nil, 0o600),
		os.WriteFile(filepath.Join(to, "admin.token"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	half, err := home.Open(to)
	if err != nil || Unfinished(half) != left {
		t.Fatalf("an unfinished home is taken for a complete one: %v", err)
	}
	report, err := salvaged(mounted)
	if err != nil || !report.Whole() || !strings.Contains(strings.Join(report.Notes, "\n"), "removed "+left) {
		t.Fatalf("salvaged again: %+v, %v", report, err)
	}
	if got := Unfinished(half); got != "" || exists(left) || !exists(filepath.Join(to, "lost+found")) {
		t.Errorf("the complete home has %q", got)
	}
	if err := half.Close(); err != nil {
		t.Error(err)
	}
	served(t, report)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
