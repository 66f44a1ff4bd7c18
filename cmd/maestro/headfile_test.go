package main

import (
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
