package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// configures replaces the configuration of the agents by that of one, which runs a script. of gets its path.
func (h *agentsHome) configures(name, script string, of func(path string) map[string]any) {
	h.t.Helper()
	path := filepath.Join(filepath.Dir(h.target), name+".sh")
	config, err := json.Marshal(map[string]any{"agents": map[string]any{name: of(path)}})
	if err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(h.home, "agents.json"), config, 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// TestTurnsCountOverAllLaunches: an agent that is reminded gets the turns that are left of the session's, also if its
// CLI counts them itself, and none more.
func TestTurnsCountOverAllLaunches(t *testing.T) {
	t.Parallel()
	// It takes two turns, however many it may take, and ends without a report.
	const claude = `#!/bin/bash
if [[ $1 == --version ]]; then echo "2.1.0 (Claude Code)"; exit; fi
cat >/dev/null
while [[ $# -gt 0 ]]; do
	if [[ $1 == --max-turns ]]; then echo "$2" >>turns.txt; fi
	shift
done
echo '{"type":"system","subtype":"init","session_id":"c1","model":"m"}'
for turn in 1 2; do
	echo '{"type":"assistant","message":{"id":"m'$turn'","model":"m","role":"assistant","content":[],"usage":{}}}'
done
echo '{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"c1"}'
`
	h := newAgents(t, scripted)
	h.configures("claude", claude, func(path string) map[string]any {
		return map[string]any{"path": path, "env": map[string]string{"ANTHROPIC_API_KEY": "sk-of-a-script"}}
	})
	session := h.spawn(map[string]any{"agent": "claude", "maxTurns": 4})
	h.until("its run is over", func() bool {
		x := h.session(session)
		return x.Run != nil && x.Run.ExitedAt != nil
	})
	turns, err := os.ReadFile(filepath.Join(h.target, "turns.txt"))
	if err != nil {
		t.Error(err)
	}
	if got := strings.Fields(string(turns)); strings.Join(got, " ") != "4 2" {
		t.Errorf("its launches may take %q turns", got)
	}
	if x := h.session(session); x.Status != "failed" || x.Run.Reason != "the agent used up its 4 turns" {
		t.Errorf("the session is %s, and its run ended because %q", x.Status, x.Run.Reason)
	}
	h.nothingLeft()
}
