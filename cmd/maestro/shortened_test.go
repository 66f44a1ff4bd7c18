package main

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"maestro/api/client"
	"maestro/bus"
	"maestro/internal/cli"
)

// The record of the last clean stop says where the log ended. If it is the only witness, a read-only server and its
// audit still use it.
func TestReadOnlyKnowsWhereTheLogEnded(t *testing.T) {
	s := &inside{t: t, home: filepath.Join(t.TempDir(), "home")}
	create := func(name string) {
		_, err := s.client.Do(t.Context(), "project:create", map[string]any{"name": name}, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
	}
	s.start("--backup-every", "off")
	create("One")
	s.stop()
	block := filepath.Join(s.home, "store", "jetstream", "$G", "streams", bus.StreamName, "msgs", "1.blk")
	earlier, err := os.ReadFile(block)
	if err != nil {
		t.Fatal(err)
	}
	s.start("--backup-every", "off")
	create("Two")
	s.stop()
	// The end of the log, cut at a record, is lost, and so is every witness except the record of the last clean stop.
	err = errors.Join(
		os.Truncate(block, int64(len(earlier))),
		os.Remove(filepath.Join(s.home, "head")),
		os.RemoveAll(filepath.Join(s.home, "snapshots")),
	)
	if err != nil {
		t.Fatal(err)
	}
	s.start("--read-only")
	if _, err := s.out.ReadString('\n'); err != nil { // how commands find it
		t.Fatal(err)
	}
	status, body := s.ready()
	if status != http.StatusServiceUnavailable || !strings.Contains(body, "last clean stop") ||
		!strings.Contains(body, "maestro salvage") {
		t.Errorf("readyz says %d %s", status, body)
	}
	got := runHere(t, map[string]string{"MAESTRO_HOME": s.home, "MAESTRO_API_URL": s.address}, "audit", "verify")
	if got.code != cli.ExitFailed || !strings.Contains(got.stderr, "the last clean stop saw 2") {
		t.Errorf("the audit says %+v", got)
	}
}

// A read-only server reports damage that no snapshot shows like any other server: in /readyz, to readers, and when a
// backup is requested.
func TestReadOnlyNamesDamageBehindASnapshot(t *testing.T) {
	s := &inside{t: t, home: filepath.Join(t.TempDir(), "home")}
	s.start("--backup-every", "off")
	for _, name := range []string{"One", "Two", "Three"} {
		_, err := s.client.Do(t.Context(), "project:create", map[string]any{"name": name}, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
	}
	s.stop() // the stop saves a snapshot
	block := filepath.Join(s.home, "store", "jetstream", "$G", "streams", bus.StreamName, "msgs", "1.blk")
	content, err := os.ReadFile(block)
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)/2] ^= 1
	if err := os.WriteFile(block, content, 0o600); err != nil {
		t.Fatal(err)
	}
	said := map[string][2]string{}
	for _, how := range []string{"--read-only", "--backup-every=off"} {
		s.start(how)
		if how == "--read-only" {
			if _, err := s.out.ReadString('\n'); err != nil { // how commands find it
				t.Fatal(err)
			}
		}
		env := map[string]string{"MAESTRO_HOME": s.home, "MAESTRO_API_URL": s.address}
		status, body := s.ready()
		if status != http.StatusServiceUnavailable || !strings.Contains(body, "maestro salvage") {
			t.Errorf("%s: readyz says %d %s", how, status, body)
		}
		if got := runHere(t, env, "project", "list"); !strings.Contains(got.stderr, "the log is damaged at event 2") {
			t.Errorf("%s: readers are told %q", how, got.stderr)
		}
		backup := runHere(t, env, "backup", filepath.Join(t.TempDir(), "b.tar.gz"))
		if backup.code == cli.ExitDone || !strings.Contains(backup.stderr, "maestro salvage") {
			t.Errorf("%s: backup says %+v", how, backup)
		}
		said[how] = [2]string{body, backup.stderr}
		s.stop()
	}
	if said["--read-only"] != said["--backup-every=off"] {
		t.Errorf("with --read-only it prints\n%s\nelse\n%s", said["--read-only"], said["--backup-every=off"])
	}
}
