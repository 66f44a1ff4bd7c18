package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// questions are those that wait for the user.
func (h *agentsHome) questions() []wire.InboxItem {
	h.t.Helper()
	items, err := h.admin().Inbox(h.t.Context(), wire.InboxFilter{Kind: "question"})
	if err != nil {
		h.t.Fatal(err)
	}
	return items
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
	// One that hardly gets the processor once it is continued is killed in the end, with its agent.
	const late = "so the runner killed it"
	if x := h.session(session); x.Status != "stopped" ||
		x.Run.Reason != "the session has ended" && !strings.HasSuffix(x.Run.Reason, late) {
		t.Errorf("the session is %s, and its run ended because %q", x.Status, x.Run.Reason)
	}
	h.nothingLeft()
}

// TestRunThatAsksLeavesItsPlace: while a run waits for the answer to a failed check, another session's agent has its
// place. Once it is answered, it waits until there is one again.
func TestRunThatAsksLeavesItsPlace(t *testing.T) {
	t.Parallel()
	h := newAgents(t, scripted, "--agents", "1")
	missing := filepath.Join(filepath.Dir(h.target), "missing")
	asks := h.spawn(map[string]any{"workingDirectory": missing})
	h.until("its check fails", func() bool { return len(h.questions()) == 1 })
	works := h.spawn(nil)
	h.until("the next agent reports", func() bool { return h.steps(works)["step 3"] > 0 })
	if err := os.Mkdir(missing, 0o700); err != nil {
		t.Fatal(err)
	}
	h.made(h.admin(), "input:answer", map[string]any{"inputId": h.questions()[0].InputID, "answer": "retry"})
	saved := filepath.Join(h.home, "sessions", asks, "run.json")
	h.until("the answered run waits for a place", func() bool {
		content, err := os.ReadFile(saved)
		return err == nil && strings.Contains(string(content), `"place":"line"`)
	})
	for _, dir := range []string{missing, h.target} {
		if n := len(h.steps(asks)); n > 0 {
			t.Errorf("its agent reported %d steps while another one had the only place", n)
		}
		if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, session := range []string{asks, works} {
		h.until("session "+session+" has ended", func() bool { return h.session(session).EndedAt != nil })
		if x := h.session(session); x.Status != "completed" || x.Run.Number != 1 {
			t.Errorf("session %s is %s after run %d: %s", session, x.Status, x.Run.Number, x.EndReason)
		}
	}
	h.nothingLeft()
}

// TestAgentGoesOnAfterItsSession: an agent that does not end once its session is complete is shown, and ended. The
// session stays completed.
func TestAgentGoesOnAfterItsSession(t *testing.T) {
	t.Parallel()
	const stays = `#!/bin/bash
cat >/dev/null
maestro report complete "done"
trap '' TERM
while :; do echo working; read -t 0.2 <> <(:); done
`
	h := newAgents(t, stays, "--silent-after", "3s")
	session := h.spawn(nil)
	h.until("its agent is ended", func() bool {
		x := h.session(session)
		return x.Run != nil && x.Run.ExitedAt != nil
	})
	x := h.session(session)
	if x.Status != "completed" || !strings.Contains(x.Run.Reason, "had not ended 3s later") {
		t.Errorf("the session is %s, and its run ended because %q", x.Status, x.Run.Reason)
	}
	entries, err := h.admin().SessionTimeline(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(entries, func(e wire.Entry) bool {
		return strings.Contains(e.Message, "its session is complete, and it has not ended")
	}) {
		t.Errorf("the timeline does not say that its agent goes on: %+v", entries)
	}
	h.nothingLeft()
}
