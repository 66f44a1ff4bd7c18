package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/clipperhouse/displaywidth"

	"maestro/events"
)

var (
	sampleColumns = []string{"ID", "STATUS", "TITLE", "BELOW"}
	samples       = [][]string{
		{"task_1", "completed", "Wire the login form", ""},
		{"task_22", "blocked", "接続を直す", "1 of 2"},
		{"task_3", "todo", "red \x1b[31m and\nmore", "completed"},
	}
)

func printed(screen *Screen, columns []string, rows [][]string) string {
	var out bytes.Buffer
	a := &Run{Printer: Printer{Stdout: &out, Screen: screen}}
	copied := make([][]string, len(rows))
	for i, row := range rows {
		copied[i] = append([]string(nil), row...)
	}
	a.table(columns, copied)
	return out.String()
}

// A column begins at the same place in each line, also after characters that are two places wide.
func TestColumnsAreAligned(t *testing.T) {
	got := printed(nil, sampleColumns, samples)
	want := "task_1   completed  Wire the login form\n" +
		"task_22  blocked    接続を直す           1 of 2\n" +
		"task_3   todo       red �[31m and more   completed\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// On a terminal a table has headers and fits: titles are cut, ids are not.
func TestTablesFitTheTerminal(t *testing.T) {
	rows := append([][]string{{"task_with_a_long_id", "todo", strings.Repeat("長い", 40), "3 of 7"}}, samples...)
	for _, width := range []int{60, 80, 220} {
		got := printed(&Screen{Width: width}, sampleColumns, rows)
		if !strings.HasPrefix(got, "ID  ") || !strings.Contains(got, "STATUS") {
			t.Errorf("%d: no headers:\n%s", width, got)
		}
		if !strings.Contains(got, "task_with_a_long_id") || strings.Contains(got, "…") != (width < 220) {
			t.Errorf("%d: wrongly cut:\n%s", width, got)
		}
		if strings.Contains(got, "\x1b") {
			t.Errorf("%d: a colour, or an escape sequence from a text:\n%q", width, got)
		}
		for line := range strings.Lines(got) {
			if n := displaywidth.String(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%d: a line of %d columns: %s", width, n, line)
			}
		}
	}
}

// A summary of what is below a task is cut before the title, and no line is wider than the terminal, however narrow.
func TestDetailsAreCutFirst(t *testing.T) {
	const below = "1 of 5 completed, 2 in progress, 1 blocked"
	rows := [][]string{
		{"task_k3f9x2m7qa", "in_progress", "says completed", "critical", "Style the front page", below},
		{"task_abw5q4eeg9", "todo", "", "low", "Fix the cause", ""},
	}
	for _, width := range []int{40, 60, 80, 100, 120} {
		got := printed(&Screen{Width: width}, taskColumns, rows)
		for line := range strings.Lines(got) {
			if n := displaywidth.String(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%d: a line of %d columns: %s", width, n, line)
			}
		}
		if !strings.Contains(got, "task_k3f9x2m7qa") {
			t.Errorf("%d: an id is cut:\n%s", width, got)
		}
		if strings.Contains(got, "Style the front page") != (width >= 80) {
			t.Errorf("%d: the title is cut before the details:\n%s", width, got)
		}
	}
}

// The main text of a table continues on the next line: on a terminal nothing of it is lost.
func TestTextsAreWrapped(t *testing.T) {
	const said = "reported complete on task_sbe6y1eksx: the rounding modes agree now, see https://example.org/" +
		"a-very-long-address-that-fits-no-line-of-a-narrow-terminal and the two tests"
	rows := [][]string{
		{"     2", "2026-11-23T15:49:53.962Z", "admin", `created task_sbe6y1eksx "Ledger schema"`},
		{"   119", "2026-11-23T15:49:54.027Z", "sess_jyadm0rfkh", said},
	}
	for _, columns := range [][]string{nil, {"EVENT", "TIME", "WHO", "WHAT"}} {
		for _, width := range []int{80, 100, 400} {
			got := printed(&Screen{Width: width}, columns, rows)
			if strings.Contains(got, "…") {
				t.Errorf("%v, %d: cut:\n%s", columns, width, got)
			}
			var text strings.Builder
			_, after, _ := strings.Cut(got, "sess_jyadm0rfkh")
			for line := range strings.Lines(after) {
				text.WriteString(strings.TrimSpace(line))
				if n := displaywidth.String(strings.TrimSuffix(line, "\n")); n > width {
					t.Errorf("%v, %d: a line of %d columns: %s", columns, width, n, line)
				}
			}
			if strings.ReplaceAll(text.String(), " ", "") != strings.ReplaceAll(said, " ", "") {
				t.Errorf("%v, %d: the text is %q", columns, width, text.String())
			}
		}
	}
}

// A long field is wrapped to the width of the terminal, and loses nothing.
func TestFieldsFitTheTerminal(t *testing.T) {
	const ids = "task:get, task:list, report:progress, report:complete, report:blocked, session:complete, input:wait"
	var out strings.Builder
	a := &Run{Printer: Printer{Stdout: &out, Screen: &Screen{Width: 60}}}
	a.Field("May", ids)
	var words []string
	for line := range strings.Lines(out.String()) {
		if displaywidth.String(strings.TrimSuffix(line, "\n")) > 60 || !strings.HasPrefix(line[2:], "May        ") &&
			!strings.HasPrefix(line, strings.Repeat(" ", len("  May        "))) {
			t.Errorf("a line is %q", line)
		}
		words = append(words, strings.Fields(strings.TrimPrefix(line, "  May"))...)
	}
	if got := strings.Join(words, " "); got != ids || len(words) < 2 {
		t.Errorf("printed %q", got)
	}
}

// An empty column has no header either.
func TestEmptyColumnsAreLeftOut(t *testing.T) {
	rows := [][]string{{"task_1", "todo", "A title", ""}, {"task_2", "todo", "Another", ""}}
	got := printed(&Screen{Width: 80}, sampleColumns, rows)
	want := "ID      STATUS  TITLE\n" + "task_1  todo    A title\n" + "task_2  todo    Another\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// A cell names its content if there is no header, and does not repeat a header.
func TestCellsDoNotRepeatTheirHeader(t *testing.T) {
	columns := []string{"SAYS", "HEARD", "TASKS", "REFUSED", "MADE BY", "WAITS"}
	rows := [][]string{
		{"says failed", "heard now", "1 task", "12 refused", "made by ann", "waits 5 min"},
		{"says completed", "ended 3 h ago", "no task", "0 refused", "made by admin", "waited 5 min"},
	}
	want := "SAYS       HEARD          TASKS    REFUSED  MADE BY  WAITS\n" +
		"failed     now            1        12       ann      5 min\n" +
		"completed  ended 3 h ago  no task  0        admin    waited 5 min\n"
	if got := printed(&Screen{Width: 80}, columns, rows); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	plainly := "says failed     heard now      1 task   12 refused"
	if got := printed(nil, columns, rows); !strings.HasPrefix(got, plainly) {
		t.Errorf("without headers:\n%s", got)
	}
	coloured := printed(&Screen{Width: 80, Colour: true}, columns, rows)
	if !strings.Contains(coloured, yellow+"completed"+plain) {
		t.Errorf("a reported status is coloured like a decided one: %q", coloured)
	}
}

// Only statuses are coloured, only in their columns, and not in output to a file.
func TestStatusesHaveColours(t *testing.T) {
	got := printed(&Screen{Width: 80, Colour: true}, sampleColumns, samples)
	for _, want := range []string{green + "completed" + plain, red + "blocked" + plain, dim + "ID" + plain} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%q", want, got)
		}
	}
	if strings.Count(got, "completed") != 2 || strings.Count(got, green) != 1 {
		t.Errorf("another column is coloured:\n%q", got)
	}
	if strings.Contains(got, "\x1b[31m and") {
		t.Errorf("a text's escape sequence reaches the terminal:\n%q", got)
	}
}

func TestRelativeTimesOnTerminalOnly(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for _, x := range []struct {
		apart time.Duration
		want  string
	}{
		{0, "just now"},
		{-4 * time.Second, "4 s ago"},
		{-5*time.Minute - time.Second, "5 min ago"},
		{-25 * time.Hour, "1 d ago"},
		{3 * time.Hour, "in 3 h"},
		{-30 * 24 * time.Hour, "2026-10-23 12:00"},
	} {
		a := &Run{Wall: func() time.Time { return now }, Printer: Printer{Screen: &Screen{}}}
		at := now.Add(x.apart)
		if got := a.When(events.Millis(at.UnixMilli())); got != x.want {
			t.Errorf("%s: %q, not %q", x.apart, got, x.want)
		}
		a = &Run{Printer: Printer{Stdout: &bytes.Buffer{}}}
		if got := a.When(events.Millis(at.UnixMilli())); got != Instant(events.Millis(at.UnixMilli())) {
			t.Errorf("%s in a file: %q", x.apart, got)
		}
	}
}

// On a terminal, the time of an event has no more than is needed, and a table of 80 columns does not cut it.
func TestTimesOfEventsFitTheTerminal(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 640e6, time.UTC)
	var out bytes.Buffer
	a := &Run{Wall: func() time.Time { return now }, Printer: Printer{Stdout: &out, Screen: &Screen{Width: 80}}}
	rows := [][]string{}
	for apart, want := range map[time.Duration]string{
		-time.Hour:      "11:00:00",
		-13 * time.Hour: "2026-11-21 23:00:00",
	} {
		at := events.Millis(now.Add(apart).UnixMilli())
		got := a.HappenedAt(at)
		if got != want {
			t.Errorf("%s: %s, want %s", apart, got, want)
		}
		who := "sess_nk8qzryn9s (a worker with a long name)"
		rows = append(rows, []string{"12345", got, who, strings.Repeat("word ", 40)})
		if got := (&Run{Printer: Printer{Stdout: &out}}).HappenedAt(at); got != Instant(at) {
			t.Errorf("%s in a file: %s", apart, got)
		}
	}
	a.table([]string{"EVENT", "TIME", "WHO", "WHAT"}, rows)
	for _, want := range []string{" 11:00:00 ", " 2026-11-21 23:00:00 "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table lacks %s:\n%s", want, out.String())
		}
	}
}

// Without a known terminal width, a sentence is printed in full, and a page of text is cut.
func TestTextsInPipes(t *testing.T) {
	sentence, page := strings.Repeat("long ", 50), strings.Repeat("much ", 500)
	var out bytes.Buffer
	a := &Run{Printer: Printer{Stdout: &out}}
	a.fitted(sampleColumns[:2], [][]string{{"task_1", strings.TrimSpace(sentence)}, {"task_2", page}})
	lines := strings.Split(out.String(), "\n")
	if !strings.HasSuffix(lines[0], "long long") || !strings.HasSuffix(lines[1], "…") || len(lines[1]) > pipeWidth+2 {
		t.Errorf("got %d and %d bytes: %s", len(lines[0]), len(lines[1]), out.String())
	}
}

// Whatever does not fit, the status does: it is what a list is read for.
func TestStatusIsCutLast(t *testing.T) {
	columns := []string{"ID", "STATUS", "ROLE", "STRATEGY", "TASKS", "HEARD", "NAME"}
	rows := [][]string{{
		"sess_9tda3cbfxs", "running, lost", "orchestrator", "intelligent-batching", "holds task_wr0qb7445x",
		"heard 13 min ago", "the first of several workers",
	}}
	for _, width := range []int{70, 90, 200} {
		got := printed(&Screen{Width: width}, columns, rows)
		if !strings.Contains(got, "running, lost ") || !strings.Contains(got, "sess_9tda3cbfxs") {
			t.Errorf("%d:\n%s", width, got)
		}
	}
}
