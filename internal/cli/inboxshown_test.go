package cli

import (
	"bytes"
	"strings"
	"testing"

	"maestro/service/wire"
)

// The inbox shows a question in full, on a terminal too, because whoever answers it must have read it.
func TestInboxShowsWholeQuestions(t *testing.T) {
	question := strings.TrimSpace(strings.Repeat("The checkout uses two rounding modes in different services. ", 8)) +
		" Which one is right?"
	var out bytes.Buffer
	a := &Run{Printer: Printer{Stdout: &out, Screen: &Screen{Width: 80}}}
	showInbox(a, []wire.InboxItem{{
		Kind:      "question",
		SessionID: "sess_1",
		Message:   question,
		Next:      []string{"maestro input answer"},
	}})
	got := strings.Join(strings.Fields(out.String()), " ")
	if !strings.Contains(got, question) {
		t.Errorf("the question is not shown in full:\n%s", out.String())
	}
	for line := range strings.Lines(out.String()) {
		if len(line) > 81 {
			t.Errorf("a line of %d columns: %s", len(line), line)
		}
	}
}
