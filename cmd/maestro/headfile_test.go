package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"maestro/bus"
	"maestro/internal/cli"
)

// The start and the audit name an unreadable head file and say what to do, even on a server that is read-only because
// of damage or on request.
func TestUnreadableHeadFileIsNamed(t *testing.T) {
	const next = "compare the log with a head that you kept, with `maestro audit verify --from-head SEQ:HASH`"
	for what, test := range map[string]struct {
		damaged bool
		args    []string
	}{
		"served":                {false, []string{"--backup-every", "off"}},
		"damaged":               {true, []string{"--backup-every", "off"}},
		"read-only":             {false, []string{"--read-only"}},
		"damaged and read-only": {true, []string{"--read-only"}},
	} {
		t.Run(what, func(t *testing.T) {
			s := &inside{t: t, home: used(t)}
			head := filepath.Join(s.home, "head")
			if err := os.WriteFile(head, []byte("junk"), 0o600); err != nil {
				t.Fatal(err)
			}
			if test.damaged {
				block := filepath.Join(s.home, "store", "jetstream", "$G", "streams", bus.StreamName, "msgs", "1.blk")
				content, err := os.ReadFile(block)
				if err != nil {
					t.Fatal(err)
				}
				content[len(content)/2] ^= 1
				if err := os.WriteFile(block, content, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s.start(test.args...)
			if test.args[0] == "--read-only" {
				if _, err := s.out.ReadString('\n'); err != nil { // how commands find the server
					t.Fatal(err)
				}
			}
			if said := s.said.String(); !test.damaged && (!strings.Contains(said, head+" is damaged") ||
				!strings.Contains(said, next)) {
				t.Errorf("the start says %s", said)
			}
			env := map[string]string{"MAESTRO_HOME": s.home, "MAESTRO_API_URL": s.address}
			got := runHere(t, env, "audit", "verify")
			if what == "served" { // there is a new head file, and the old one was set aside
				if got.code != cli.ExitDone {
					t.Errorf("the audit says %+v", got)
				}
				return
			}
			if got.code != cli.ExitFailed || !strings.Contains(got.stderr, "the head file "+head+" is damaged") ||
				!strings.Contains(got.stderr, next) {
				t.Errorf("the audit says %+v", got)
			}
		})
	}
}

// A flipped bit in what remembers the log's head, outside the log, is no damage to the log: the server starts and
// writes. A head of another log, in an intact file, is.
func TestFlippedBitInWitnessIsNoDamageToLog(t *testing.T) {
	original := used(t)
	for what, test := range map[string]struct {
		path, before string
		readOnly     bool
		change       func(content []byte, at int) []byte
	}{
		"the head file":                 {"head", `"hash":"`, false, flipped},
		"the head file's sequence":      {"head", `"sequence":`, false, flipped},
		"a snapshot":                    {"snapshots/1.snapshot", `"hash":"`, false, flipped},
		"a snapshot's sequence":         {"snapshots/1.snapshot", `"sequence":`, false, flipped},
		"the note of the clean stop":    {"store/clean.json", `"last":`, false, flipped},
		"an intact head of another log": {"head", `"hash":"`, true, otherHead},
	} {
		t.Run(what, func(t *testing.T) {
			s := &inside{t: t, home: filepath.Join(t.TempDir(), "home")}
			path := filepath.Join(s.home, test.path)
			err := os.CopyFS(s.home, os.DirFS(original))
			for _, private := range []string{s.home, s.home + "/admin.token", s.home + "/server.key"} {
				err = errors.Join(err, os.Chmod(private, 0o700))
			}
			content, readErr := os.ReadFile(path)
			if err := errors.Join(err, readErr); err != nil {
				t.Fatal(err)
			}
			at := bytes.Index(content, []byte(test.before))
			if at < 0 {
				t.Fatalf("%s lacks %s: %s", path, test.before, content)
			}
			if err := os.WriteFile(path, test.change(content, at+len(test.before)), 0o600); err != nil {
				t.Fatal(err)
			}
			s.start("--backup-every", "off")
			if strings.Contains(s.banner, "READ-ONLY") != test.readOnly {
				t.Errorf("the server starts with %q: %s", s.banner, s.said.String())
			}
			if what == "the head file" && !strings.Contains(s.said.String(), "head is damaged") {
				t.Errorf("the server does not name the file: %s", s.said.String())
			}
		})
	}
}

// flipped flips a bit so that a digit becomes another one, a higher one if there is one.
func flipped(content []byte, at int) []byte {
	was := content[at]
	for _, bit := range []byte{1, 2, 4, 8} {
		if now := was ^ bit; bytes.IndexByte([]byte("0123456789abcdef"), now) >= 0 {
			if content[at] = now; now > was {
				return content
			}
		}
	}
	return content
}

// otherHead is an intact head file of another log of one event.
func otherHead([]byte, int) []byte {
	return []byte(`{"sequence":1,"hash":"` + strings.Repeat("a", 64) + `"}` + "\n")
}
