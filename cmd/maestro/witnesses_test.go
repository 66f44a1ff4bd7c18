package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"maestro/bus"
	"maestro/internal/cli"
	"maestro/internal/files"
	"maestro/internal/home"
	"maestro/internal/salvage"
	"maestro/internal/server/witness"
)

// backedUp returns a home whose server is stopped and whose log has two events, with an automatic backup after each
// event.
func backedUp(t *testing.T) (dir, backups string, made []string) {
	t.Helper()
	s := &inside{t: t, home: filepath.Join(t.TempDir(), "home")}
	backups = filepath.Join(t.TempDir(), "backups")
	s.start("--backup-every", "1s", "--backup-dir", backups)
	for _, sequence := range []string{"-1-", "-2-"} {
		s.do("project:create", map[string]any{"name": "P" + sequence})
		made = append(made, s.backups(backups, sequence)...)
	}
	s.stop()
	return s.home, backups, made
}

// forget removes everything outside the log's blocks that records the log's last sequence.
func forget(t *testing.T, dir string) {
	t.Helper()
	err := errors.Join(
		os.Remove(filepath.Join(dir, "head")),
		os.RemoveAll(filepath.Join(dir, "snapshots")),
		os.Remove(filepath.Join(dir, "store", "clean.json")),
	)
	if err != nil {
		t.Fatal(err)
	}
}

// If the head file, the note and the snapshots are lost, the automatic backups show that the log ends too early. The
// restore of an older backup is not such a loss.
func TestBackupsShowLogLength(t *testing.T) {
	dir, backups, made := backedUp(t)
	for what, test := range map[string]struct {
		change   func(dir string) error
		readOnly bool
	}{
		"whole": {func(string) error { return nil }, false},
		"cut": {func(dir string) error {
			block := filepath.Join(dir, "store", "jetstream", "$G", "streams", bus.StreamName, "msgs", "1.blk")
			content, err := os.ReadFile(block)
			if err != nil {
				return err
			}
			first := int64(content[0]) + int64(content[1])<<8 // each record begins with its length
			return os.Truncate(block, first)
		}, true},
		"no store": {func(dir string) error { return os.RemoveAll(filepath.Join(dir, "store")) }, true},
		"restored": {func(dir string) error {
			err := os.RemoveAll(filepath.Join(dir, "store"))
			if got := runHere(t, nil, "restore", made[0], "--home", dir); got.code != 0 {
				err = errors.Join(err, errors.New(got.stderr))
			}
			return err
		}, false},
	} {
		t.Run(what, func(t *testing.T) {
			s := &inside{t: t, home: filepath.Join(t.TempDir(), "home")}
			if err := os.CopyFS(s.home, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			err := errors.Join(
				os.Chmod(s.home, 0o700),
				os.Chmod(filepath.Join(s.home, "admin.token"), 0o600),
				os.Chmod(filepath.Join(s.home, "server.key"), 0o600),
			)
			if err != nil {
				t.Fatal(err)
			}
			forget(t, s.home)
			if err := test.change(s.home); err != nil {
				t.Fatal(err)
			}
			if what != "no store" {
				readsThat(t, s, backups, test.readOnly)
			}
			s.start("--backup-every", "off", "--backup-dir", backups)
			if strings.Contains(s.banner, "READ-ONLY") != test.readOnly {
				t.Errorf("the server starts with %q", s.banner)
			}
		})
	}
}

// A home is replaced by an older copy of itself and continues from there: its log gets longer than the backup's, with
// other events. The next start is read-only, and a salvage names the backup. A backup that is only older is no such
// sign.
func TestBackupsRevealOlderCopyOfHome(t *testing.T) {
	dir, backups, made := backedUp(t)
	older := filepath.Join(t.TempDir(), "older")
	if got := runHere(t, nil, "restore", made[0], "--home", older); got.code != 0 {
		t.Fatal(got.stderr)
	}
	s := &inside{t: t, home: dir}
	if err := errors.Join(os.RemoveAll(filepath.Join(dir, "store")), os.Rename(filepath.Join(older, "store"),
		filepath.Join(dir, "store"))); err != nil {
		t.Fatal(err)
	}
	forget(t, dir)
	s.start("--backup-every", "off", "--backup-dir", t.TempDir())
	for i := range 3 {
		s.do("project:create", map[string]any{"name": fmt.Sprint("fork ", i)})
	}
	s.stop()
	again := &inside{t: t, home: dir}
	again.start("--backup-every", "off", "--backup-dir", backups)
	if said := again.said.String(); !strings.Contains(again.banner, "READ-ONLY") ||
		!strings.Contains(said, "continued from an older copy") || !strings.Contains(said, made[1]) {
		t.Errorf("the server starts with %q: %s", again.banner, said)
	}
	again.stop()
	fresh := filepath.Join(t.TempDir(), "new")
	got := runHere(t, nil, "salvage", "--home", dir, "--new-home", fresh, "--backup-dir", backups)
	if got.code != 8 || !strings.Contains(got.stdout+got.stderr, made[1]) || strings.Contains(got.stdout, made[0]) {
		t.Errorf("the salvage does not name the backup with another chain: %+v", got)
	}
	if err := os.Remove(made[1]); err != nil {
		t.Fatal(err)
	}
	last := &inside{t: t, home: dir}
	last.start("--backup-every", "off", "--backup-dir", backups)
	if strings.Contains(last.banner, "READ-ONLY") {
		t.Errorf("with a backup that is only older, the server starts with %q", last.banner)
	}
}

// A home that a restore or a salvage created has witnesses like any other: the backups made since then reveal an older
// copy of it, whatever the times of its files, and the loss of its log is noticed. Only the backups that existed when
// it was created are no witnesses.
func TestCreatedHomeHasWitnesses(t *testing.T) {
	for how, remade := range map[string]func(t *testing.T, s *inside, made []string){
		"restored": func(t *testing.T, s *inside, made []string) {
			err := errors.Join(os.RemoveAll(filepath.Join(s.home, "store")), forgetIfThere(s.home))
			if got := runHere(t, nil, "restore", made[0], "--home", s.home); got.code != cli.ExitDone || err != nil {
				t.Fatalf("%+v, %v", got, err)
			}
		},
		"salvaged": func(t *testing.T, s *inside, made []string) {
			to := filepath.Join(t.TempDir(), "new")
			got := runHere(t, nil, "salvage", "--home", s.home, "--new-home", to, "--backup-dir", filepath.Dir(made[0]))
			if got.code != cli.ExitDone {
				t.Fatalf("%+v", got)
			}
			s.home = to
		},
	} {
		t.Run(how, func(t *testing.T) {
			dir, place, made := backedUp(t)
			s := &inside{t: t, home: dir}
			remade(t, s, made)
			every := []string{"--backup-every", "1s", "--backup-dir", place}
			s.start(every...)
			s.stop()
			if strings.Contains(s.banner, "READ-ONLY") || strings.Contains(s.said.String(), "head file of this home") {
				t.Fatalf("newly created, the home's server starts with %q and says %s", s.banner, s.said.String())
			}
			older := filepath.Join(t.TempDir(), "home")
			if err := os.CopyFS(older, os.DirFS(s.home)); err != nil {
				t.Fatal(err)
			}
			s.start(every...)
			for _, name := range []string{"P3", "P4"} {
				s.do("project:create", map[string]any{"name": name})
			}
			last := fmt.Sprintf("-%d-", s.sequence)
			s.backups(place, last)
			s.stop()
			err := errors.Join(os.RemoveAll(s.home), os.CopyFS(s.home, os.DirFS(older)), os.Chmod(s.home, 0o700),
				os.Chmod(filepath.Join(s.home, "admin.token"), 0o600),
				os.Chmod(filepath.Join(s.home, "server.key"), 0o600))
			if err != nil {
				t.Fatal(err)
			}
			s.start("--backup-every", "off", "--backup-dir", place)
			if !strings.Contains(s.banner, "READ-ONLY") {
				t.Errorf("as an older copy, the server starts with %q", s.banner)
			}
			s.stop()
			way := "maestro salvage --new-home NEWHOME --backup-dir " + place
			if !strings.Contains(s.said.String(), way) {
				t.Errorf("as an older copy, the server does not say %q: %s", way, s.said.String())
			}
			// Without backups, nothing knows where the log ended, but the home shows that there was one.
			err = errors.Join(forgetIfThere(s.home), os.RemoveAll(filepath.Join(s.home, "store", "jetstream")))
			if err != nil {
				t.Fatal(err)
			}
			s.start("--backup-every", "off", "--backup-dir", t.TempDir())
			s.stop()
			if said := s.said.String(); !strings.Contains(s.banner, "READ-ONLY") ||
				!strings.Contains(said, "the log is gone") {
				t.Errorf("without its log, the server starts with %q and says %s", s.banner, said)
			}
		})
	}
}

func forgetIfThere(dir string) error {
	return errors.Join(
		os.RemoveAll(filepath.Join(dir, "head")),
		os.RemoveAll(filepath.Join(dir, "snapshots")),
		os.RemoveAll(filepath.Join(dir, "store", "clean.json")),
	)
}

// readsThat starts a read-only server. It must learn from the backups whether the log became shorter, report that, and
// leave the home unchanged.
func readsThat(t *testing.T, s *inside, backups string, shorter bool) {
	t.Helper()
	before := picture(t, s.home)
	s.start("--read-only", "--backup-dir", backups)
	if _, err := s.out.ReadString('\n'); err != nil { // how commands find it
		t.Fatal(err)
	}
	status, body := s.ready()
	told := status == http.StatusServiceUnavailable &&
		strings.Contains(body, "the log ends at 1, and 2 was acknowledged")
	if told != shorter {
		t.Errorf("with --read-only, readyz says %d %s", status, body)
	}
	env := map[string]string{"MAESTRO_HOME": s.home, "MAESTRO_API_URL": s.address}
	got := runHere(t, env, "audit", "verify")
	if named := got.code == cli.ExitFailed && strings.Contains(got.stderr, "the automatic backup "); named != shorter {
		t.Errorf("with --read-only, the audit says %+v", got)
	}
	s.stop()
	unchanged(t, before, picture(t, s.home))
}

// The name of a snapshot is no witness, only its content.
func TestNamesOfSnapshotsAreNoWitnesses(t *testing.T) {
	dir := used(t)
	h, err := home.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	if got := witness.Sequence(h); got != 1 {
		t.Fatalf("by the head file, the last sequence is %d", got)
	}
	if err := os.Remove(h.Head()); err != nil {
		t.Fatal(err)
	}
	if got := witness.Sequence(h); got != 1 {
		t.Fatalf("by the snapshot, the last sequence is %d", got)
	}
	content, err := os.ReadFile(filepath.Join(h.Snapshots(), "1.snapshot"))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"9999.snapshot":                 content, // under another name
		"18446744073709551615.snapshot": []byte("junk"),
		"5000.snapshot":                 nil,
	} {
		if err := os.WriteFile(filepath.Join(h.Snapshots(), name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := witness.Sequence(h); got != 1 {
		t.Errorf("with junk beside the snapshot, the last sequence is %d", got)
	}
	s := &inside{t: t, home: dir}
	s.start("--backup-every", "off")
	if strings.Contains(s.banner, "READ-ONLY") {
		t.Errorf("the server starts with %q", s.banner)
	}
}

// No salvage begins while a server holds the home, even a server that has not opened its store, or while another
// salvage creates the same new home.
func TestSalvageLocksItsHomes(t *testing.T) {
	dir := used(t)
	h, err := home.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	lock, err := h.Lock()
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "new")
	got := runHere(t, nil, "salvage", "--home", dir, "--new-home", to)
	if got.code != cli.ExitConflict || !strings.Contains(got.stderr, "A server holds the home") {
		t.Errorf("while a server holds the home: %+v", got)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	running, err := files.NewScratch(to, salvage.ScratchPurpose)
	if err != nil {
		t.Fatal(err)
	}
	got = runHere(t, nil, "salvage", "--home", dir, "--new-home", to)
	if got.code != cli.ExitConflict || !strings.Contains(got.stderr, "wait until that salvage ends") {
		t.Errorf("while another salvages to the same place: %+v", got)
	}
	if err := errors.Join(running.Release(), os.Remove(running.Path)); err != nil {
		t.Fatal(err)
	}
	if got := runHere(t, nil, "salvage", "--home", dir, "--new-home", to); got.code != cli.ExitDone {
		t.Errorf("the first: %+v", got)
	}
	got = runHere(t, nil, "salvage", "--home", dir, "--new-home", to)
	if got.code != cli.ExitConflict || !strings.Contains(got.stderr, "choose another directory") {
		t.Errorf("the second: %+v", got)
	}
}

// An old head file hides no better witness: a newer snapshot of the log, or the automatic backup with the longest log,
// whatever time is in its name. A snapshot of another log is no witness.
func TestFurthestWitnessCounts(t *testing.T) {
	dir, backups, made := backedUp(t)
	h, err := home.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	saw, err := bus.LoadHeadFile(h.Head())
	if err != nil || saw.Sequence != 2 {
		t.Fatalf("the head file has %s, %v", saw, err)
	}
	before := func(h *home.Home) {
		t.Helper()
		if err := os.WriteFile(h.Head(), []byte(`{"sequence":1,"hash":"`+saw.Hash.String()+`"}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before(h)
	if got := witness.Sequence(h); got != 2 {
		t.Errorf("with an old head file and a newer snapshot, the last sequence is %d", got)
	}
	content, err := os.ReadFile(filepath.Join(h.Snapshots(), "2.snapshot"))
	if err != nil {
		t.Fatal(err)
	}
	foreign := strings.Replace(string(content), `"sequence":2`, `"sequence":7`, 1)
	genesis, found := bus.ReadGenesis(h.Store())
	foreign = strings.Replace(foreign, genesis.String(), strings.Repeat("0", 64), 1)
	line, check, _ := strings.Cut(foreign, `,"check":"`) // it has none, as that of an earlier version
	foreign = line + check[len(genesis.String()+`"`):]
	if err := os.WriteFile(filepath.Join(h.Snapshots(), "7.snapshot"), []byte(foreign), 0o600); err != nil || !found {
		t.Fatal(err, found)
	}
	if got := witness.Sequence(h); got != 2 {
		t.Errorf("with a snapshot of another log, the last sequence is %d", got)
	}
	// The first backup has the name of a much later time.
	name := filepath.Base(made[0])
	parts := strings.SplitN(name, "-", 4)
	parts[2] = "20561122T000000Z"
	if err := os.Rename(made[0], filepath.Join(backups, strings.Join(parts, "-"))); err != nil {
		t.Fatal(err)
	}
	// All of the home but its backups is an older copy.
	block := filepath.Join(dir, "store", "jetstream", "$G", "streams", bus.StreamName, "msgs", "1.blk")
	stored, err := os.ReadFile(block)
	if err != nil {
		t.Fatal(err)
	}
	first := int64(stored[0]) + int64(stored[1])<<8 // each record begins with its length
	if err := os.Truncate(block, first); err != nil {
		t.Fatal(err)
	}
	forget(t, dir)
	before(h)
	s := &inside{t: t, home: dir}
	s.start("--backup-every", "off", "--backup-dir", backups)
	if !strings.Contains(s.banner, "READ-ONLY") {
		t.Errorf("the server starts with %q", s.banner)
	}
}

// A salvage creates the new home even if the automatic backups cannot be listed, and says how to name them.
func TestSalvageWithoutListOfBackups(t *testing.T) {
	dir := used(t)
	place := dir + "-backups"
	for what, put := range map[string]func() error{
		"a file": func() error { return os.WriteFile(place, nil, 0o600) },
		"a loop": func() error { return os.Symlink(place, place) },
	} {
		if err := errors.Join(os.RemoveAll(place), put()); err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(t.TempDir(), "new")
		got := runHere(t, nil, "salvage", "--home", dir, "--new-home", to)
		if !strings.Contains(got.stdout+got.stderr, "name them with") {
			t.Errorf("%s: %+v", what, got)
		}
		if _, err := os.Stat(filepath.Join(to, "salvage.json")); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// With the server.key of another home, the automatic backups are listed with their signers, and --signer makes the
// salvage use them.
func TestSalvageWithKeyOfAnotherHome(t *testing.T) {
	dir, backups, made := backedUp(t)
	foreign := filepath.Join(used(t), "server.key")
	key, err := os.ReadFile(foreign)
	if err != nil {
		t.Fatal(err)
	}
	h, err := home.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	own, err := h.BackupSigner()
	err = errors.Join(err, h.Close(), forgetIfThere(dir), os.RemoveAll(filepath.Join(dir, "store", "jetstream")),
		os.WriteFile(filepath.Join(dir, "server.key"), key, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	salvaged := func(args ...string) ran {
		to := filepath.Join(t.TempDir(), "new")
		return runHere(t, nil, append([]string{
			"salvage", "--home", dir, "--new-home", to, "--backup-dir", backups,
		}, args...)...)
	}
	signer := bus.SignerName(own)
	got := salvaged()
	if !strings.Contains(got.stderr, "add --signer "+signer) || !strings.Contains(got.stderr, filepath.Base(made[0])) {
		t.Errorf("without --signer: %+v", got)
	}
	if got = salvaged("--signer", signer); !strings.Contains(got.stderr, "Salvaged 2 events") {
		t.Errorf("with --signer: %+v", got)
	}
}
