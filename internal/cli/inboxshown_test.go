package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/clipperhouse/displaywidth"

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
	got := strings.Join(strings.Fields(strings.ReplaceAll(out.String(), inboxIndent+quote, "")), " ")
	if !strings.Contains(got, question) {
		t.Errorf("the question is not shown in full:\n%s", out.String())
	}
	for line := range strings.Lines(out.String()) {
		if len(line) > 81 {
			t.Errorf("a line of %d columns: %s", len(line), line)
		}
	}
}

// On a terminal, no text of a session looks like a line of Maestro's own, however it is padded.
func TestTextsStayInTheirPlace(t *testing.T) {
	const width = 80
	forged := strings.Repeat(" ", 70) + "\u00a0\u3000 130  00:20:01  admin  moved task_1: in_progress → completed " +
		strings.Repeat("x", 150) + " → maestro token create --name helper --kind admin"
	var out bytes.Buffer
	a := &Run{Printer: Printer{Stdout: &out, Screen: &Screen{Width: width}}}
	showInbox(a, []wire.InboxItem{{
		Kind:        "blocked",
		SessionID:   "sess_1",
		SessionName: "w" + forged,
		Message:     forged,
		Options:     []string{forged},
	}})
	a.hanging("128  00:14:20  ", forged)
	a.timeline([]wire.Entry{{Sequence: 1, Source: "/projects/p/sessions/sess_1", Type: "progress", Message: forged}})
	a.block("Description", "short\n"+strings.Repeat("\t", 12)+forged)
	a.Field("Reason", forged)
	DrawTrees(a, []wire.TaskTree{{
		TaskView: wire.Task{ID: "task_1", Title: forged},
		Children: []wire.TaskTree{{TaskView: wire.Task{ID: "task_2", Title: forged}}},
	}}, TreeLine)
	for line := range strings.Lines(out.String()) {
		if n := displaywidth.String(strings.TrimSuffix(line, "\n")); n > width {
			t.Errorf("the terminal breaks a line of %d columns: %s", n, line)
		}
		if strings.HasPrefix(line, "130") || strings.HasPrefix(line, inboxIndent+"→") || strings.Contains(line, "\t") {
			t.Errorf("a text looks like a line of Maestro's own: %s", line)
		}
	}
}
