package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAnswerIsInTheNextPrompt: an agent asks, and ends. The answer begins its next run, whose prompt has it, once,
// whether the agent continues its conversation or begins a new one.
func TestAnswerIsInTheNextPrompt(t *testing.T) {
	t.Parallel()
	const asks = `#!/bin/bash
cat >"prompt.$MAESTRO_CONVERSATION"
CONVERSATION
if [ -e asked ]; then
	maestro report complete "released from the branch" 2>said.txt && exit
	exit 9
fi
touch asked
maestro report needs-input "Which branch?" --option main --option stable-7
`
	for name, test := range map[string]struct{ says, conversation, has string }{
		"in the same conversation": {
			`echo '{"type":"session","conversation":"c1"}'`, "c1", "You continue where you stopped.",
		},
		"in a new one": {"", "", "<task id="},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newAgents(t, scripted)
			script := strings.ReplaceAll(asks, "CONVERSATION\n", test.says+"\n")
			h.configures("asking", script, func(path string) map[string]any {
				return map[string]any{"command": []string{path}, "output": "jsonl"}
			})
			session := h.spawn(map[string]any{"agent": "asking"})
			h.until("the agent has asked, and ended", func() bool {
				x := h.session(session)
				return x.Run != nil && x.Run.Waits
			})
			questions := h.questions()
			if len(questions) != 1 {
				t.Fatalf("the inbox has %d questions", len(questions))
			}
			first, err := os.ReadFile(filepath.Join(h.target, "prompt."))
			if err != nil || strings.Contains(string(first), "stable-7") {
				t.Errorf("its first prompt is %s, %v", first, err)
			}
			h.made(h.admin(), "input:answer", map[string]any{"inputId": questions[0].InputID, "answer": "stable-7"})
			h.until("the session has ended", func() bool { return h.session(session).EndedAt != nil })
			if x := h.session(session); x.Status != "completed" || x.Run.Number != 2 {
				said, _ := os.ReadFile(filepath.Join(h.target, "said.txt"))
				t.Errorf("it is %s after run %d: %s\n%s", x.Status, x.Run.Number, x.EndReason, said)
			}
			content, err := os.ReadFile(filepath.Join(h.target, "prompt."+test.conversation))
			if err != nil {
				t.Fatal(err)
			}
			prompt := string(content)
			if !strings.Contains(prompt, test.has) || !strings.Contains(prompt, "You have mail:") ||
				!strings.Contains(prompt, "Which branch?") || strings.Count(prompt, "stable-7") != 1 {
				t.Errorf("the prompt of its second run is %s", prompt)
			}
			if mail, err := h.admin().Mail(t.Context(), session); err != nil || len(mail.Mail) > 0 {
				t.Errorf("its mail is still unread: %+v, %v", mail, err)
			}
			h.nothingLeft()
		})
	}
}
