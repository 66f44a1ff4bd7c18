package cli

import (
	"bytes"
	"strings"
	"testing"

	"maestro/service/wire"
)

// Who answers a question has read it: the inbox shows the whole text, on a terminal too.
func TestTheInboxShowsWholeQuestions(t *testing.T) {
	question := strings.TrimSpace(strings.Repeat("The checkout uses two rounding modes in different services. ", 8)) +
		" Which one is right?"
	var out bytes.Buffer
	a := &Run{Printer: Printer{Stdout: &out, Screen: &Screen{Width: 80}}}
	showInbox(a, []wire.InboxItem{{Kind: "question", SessionID: "sess_1", Message: question, Next: "maestro input answer"}})
	got := strings.Join(strings.Fields(out.String()), " ")
	if !strings.Contains(got, question) {
		t.Errorf("the question is not there:\n%s", out.String())
	}
	for line := range strings.Lines(out.String()) {
		if len(line) > 81 {
			t.Errorf("a line of %d: %s", len(line), line)
		}
	}
}
