package projections

import (
	"encoding/json"
	"fmt"

	"maestro/events"
)

// The types of the entries of runs. No session can write notes of them.
const (
	EntryClaimed   = "session_claimed"
	EntryExited    = "session_exited"
	EntryBlocked   = "session_command_blocked"
	EntryPreflight = "session_preflight_failed"
	EntryStuck     = "session_stuck"
	EntryResumed   = "session_resumed"
)

func describeClaimed(d *events.SessionClaimed) Entry {
	what := fmt.Sprintf("Run %d began, claimed by runner %s", d.Run, d.Runner)
	if d.Host != "" {
		what += " on " + d.Host
	}
	if len(d.Layers) == 0 {
		what += "; nothing confines its agent"
	}
	return Entry{Type: EntryClaimed, SessionID: d.SessionID, What: what}
}

func describeExited(d *events.SessionExited) Entry {
	about, _ := json.Marshal(Exited{ //nolint:errchkjson // numbers and texts can always be written
		Run:      d.Run,
		Code:     d.ExitCode,
		ExitCode: exitCode(d),
		Signal:   d.Signal,
	})
	return Entry{
		Type:      EntryExited,
		SessionID: d.SessionID,
		What:      fmt.Sprintf("Run %d ended: its agent ended%s", d.Run, d.How()),
		Message:   d.Reason,
		Data:      about,
	}
}

// exitCode is the exit code of a run, or what a shell shows for one that a signal ended. One that is not known is no
// success.
func exitCode(d *events.SessionExited) int {
	switch {
	case d.Signal != "":
		return 128
	case d.ExitCode != nil:
		return *d.ExitCode
	}
	return 1
}

func describeBlocked(d *events.SandboxBlocked) Entry {
	what := "Command blocked"
	if d.Killed {
		what = "Agent killed: a command ran without a decision"
	}
	return Entry{
		Type:      EntryBlocked,
		SessionID: d.SessionID,
		What:      what,
		Message:   d.Command + " (" + d.Reason + ")",
	}
}

func describePreflight(d *events.PreflightFailed) Entry {
	return Entry{
		Type:      EntryPreflight,
		SessionID: d.SessionID,
		InputID:   d.InputID,
		What:      "Not launched: check " + d.Check + " failed",
		Message:   d.Question(),
	}
}

func describeStuck(d *events.SessionStuck) Entry {
	what := "Its agent is not stuck any more"
	switch d.Kind {
	case events.StuckSilent:
		what = "Its agent is silent"
	case events.StuckLoop:
		what = "Its agent repeats itself"
	}
	return Entry{
		Type:      EntryStuck,
		SessionID: d.SessionID,
		What:      what,
		Message:   d.Detail,
	}
}
