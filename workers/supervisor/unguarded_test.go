package supervisor

import (
	"errors"
	"log/slog"
	"testing"

	"maestro/commands"
	"maestro/workers/blank"
)

// An agent that nobody guards is ended for a reason that says which call ran, or that its socket ended. Only a call is
// recorded as blocked, and it names its tool.
func TestUnguardedAgentIsEndedForAReason(t *testing.T) {
	for name, test := range map[string]struct {
		happens func(s *supervisor)
		why     string
		blocked []string
	}{
		"a call ran": {
			func(s *supervisor) { s.stopUnguarded("Bash", "login a-secret-of-the-agent") },
			"a tool call ran without a decision: Bash login " + blank.Of("a-secret-of-the-agent").Blank(
				"a-secret-of-the-agent"),
			[]string{"Bash"},
		},
		"its socket ended": {
			func(s *supervisor) { s.socketEnded(errors.New("accept: too many open files")) },
			"its socket ended, so nobody could decide about its tool calls: accept: too many open files", nil,
		},
		"its socket ended after a call ran": {
			func(s *supervisor) {
				s.stopUnguarded("Bash", "ls")
				s.socketEnded(errors.New("closed"))
			},
			"a tool call ran without a decision: Bash ls",
			[]string{"Bash"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &supervisor{over: make(chan struct{})}
			s.secrets.Store(blank.Of("a-secret-of-the-agent"))
			s.records = newRecords(nil, "sess_1", 1, s.blank, slog.New(slog.DiscardHandler))
			test.happens(s)
			if got := s.endedBy(); got != test.why {
				t.Errorf("it is ended because %q, want %q", got, test.why)
			}
			var blocked []string
			for _, waiting := range s.records.waiting {
				blocked = append(blocked, waiting.body.(*commands.BlockCommand).Tool)
			}
			if len(blocked) != len(test.blocked) || len(blocked) > 0 && blocked[0] != test.blocked[0] {
				t.Errorf("recorded as blocked: %q, want %q", blocked, test.blocked)
			}
		})
	}
}
