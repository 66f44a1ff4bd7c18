package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"maestro/service/wire"
)

// Sessions that an expired token left running are shown with what to do about them.
func TestSessionsOfExpiredTokensAreShown(t *testing.T) {
	var out, told bytes.Buffer
	a := &Run{Wall: time.Now, Printer: Printer{Stdout: &out, Stderr: &told}}
	tellSpawned(a, []wire.TokenView{
		{TokenView: wire.NamedToken{Name: "lasting"}},
		{TokenView: wire.NamedToken{Name: "brief"}, Running: []string{"sess_1", "sess_2"}, RunningMore: 3},
	})
	const next = "end one with `maestro session kill <sessionId>`; " +
		"if they are to go on, run `maestro token revoke brief`\n"
	want := "Spawned by brief, which has expired, and still running: sess_1, sess_2 and 3 more; " + next
	if told.String() != want {
		t.Errorf("stderr has %q, expected %q", told.String(), want)
	}
	showStatus(a, wire.ProjectStatus{
		SpawnedByExpired:     []wire.ExpiredSpawner{{SessionID: "sess_1", Token: "brief", ExpiredAt: 1}},
		SpawnedByExpiredMore: 4,
	})
	for _, line := range []string{"sess_1 goes on, and the token that spawned it expired 1970-", next, "and 4 more"} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("the status has no %q: %s", line, out.String())
		}
	}
}
