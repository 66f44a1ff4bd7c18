package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"maestro/internal/disk"
)

// If a server cannot read its log when it starts, /readyz names the file and the reason, and does not mention salvage.
// Once the file can be read, the server accepts writes by itself, at the same address, and prints nothing again.
func TestUnreadableStoreIsOpenedLater(t *testing.T) {
	s := &inside{t: t, home: filepath.Join(t.TempDir(), "home")}
	s.start("--backup-every", "off")
	s.do("project:create", map[string]any{"name": "P"})
	s.stop()
	var mended atomic.Bool
	block := filepath.Join("MAESTRO", "msgs", "1.blk")
	defer disk.Inject(func(operation, path string) error {
		if !mended.Load() && operation == "read" && strings.HasSuffix(path, block) {
			return syscall.EIO
		}
		return nil
	})()
	s.start("--backup-every", "off")
	if !strings.Contains(s.banner, "READ-ONLY") {
		t.Errorf("the server prints %q", s.banner)
	}
	status, said := s.ready()
	for _, want := range []string{block, "input/output error", "by itself"} {
		if status != http.StatusServiceUnavailable || !strings.Contains(said, want) {
			t.Errorf("readyz says %d %s, want %s", status, said, want)
		}
	}
	if log := s.said.String(); strings.Contains(said+log, "salvage") || strings.Contains(said+log, "damaged") {
		t.Errorf("readyz says %s, the log %s", said, log)
	}
	mended.Store(true)
	if !comes(func() bool {
		answer, err := http.Get(s.address + "/readyz")
		if err != nil {
			return false
		}
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	}) {
		t.Fatalf("it accepts no writes: %s", s.said.String())
	}
	s.do("project:create", map[string]any{"name": "Q"})
	s.stop()
	if rest, _ := s.out.ReadString('\n'); rest != "" {
		t.Errorf("the server prints again: %q", rest)
	}
	if found, _ := filepath.Glob(filepath.Join(s.home, "store.damaged-*")); len(found) > 0 {
		t.Errorf("set aside: %v", found)
	}
	if _, err := os.Stat(filepath.Join(s.home, "store", "clean.json")); err != nil {
		t.Errorf("the stop after that was not clean: %v", err)
	}
}
