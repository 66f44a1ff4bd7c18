package main

import (
	"syscall"
	"testing"

	"maestro/service/wire"
)

// session returns a session with its last run.
func (h *agentsHome) session(id string) wire.Session {
	h.t.Helper()
	x, err := h.admin().Session(h.t.Context(), id)
	if err != nil {
		h.t.Fatal(err)
	}
	return x
}

// TestKillReachesStoppedSupervisors: a supervisor that somebody stopped is continued once its session has ended, and
// then ends its agent.
func TestKillReachesStoppedSupervisors(t *testing.T) {
	t.Parallel()
	h := newAgents(t, scripted)
	session := h.spawn(nil)
	h.until("the agent reports", func() bool { return h.steps(session)["step 3"] > 0 })
	if err := syscall.Kill(h.supervisor(session), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	h.made(h.admin(), "session:kill", map[string]any{"sessionId": session})
	h.until("its run is over", func() bool { return h.session(session).Run.ExitedAt != nil })
	if x := h.session(session); x.Status != "stopped" || x.Run.Reason != "the session has ended" {
		t.Errorf("the session is %s, and its run ended because %q", x.Status, x.Run.Reason)
	}
	h.nothingLeft()
}
