package projections

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"maestro/events"
)

// A report on a task is a field of the task. A timeline entry that looks like a report is not.
func TestStatements(t *testing.T) {
	begun := continued(project(), task("t1"), task("t2"), spawn("w", "t1"), spawn("w2", "t1"))
	queue := continued(begun(pulls("x", "x", "t1"), started("x", "x", "t1", 1))...)
	const x = "/projects/p/sessions/x"
	done := report(worker, "w", events.ReportComplete, "All green", "t1")
	note := func(source, session, kind, words string) given {
		return by(source, &events.SessionNoted{
			SessionID: session,
			Type:      kind,
			Message:   words,
			TaskID:    "t1",
		})
	}
	move := func(to events.TaskStatus, reason string) given {
		return by(admin, &events.TaskStatusChanged{TaskID: "t1", To: to, Reason: reason})
	}
	long := by(worker, &events.SessionReported{
		SessionID: "w",
		Kind:      events.ReportComplete,
		Message:   "begin",
		TaskIDs:   []string{"t1"},
		Blobs:     events.Blobs{"message": "sha256-1"},
	})
	late := by(worker, &events.SessionReported{
		SessionID: "w",
		Kind:      events.ReportComplete,
		Message:   "late",
		TaskIDs:   []string{"t1"},
		Late:      true,
	})
	said := func(text, source string, sequence int) string {
		return fmt.Sprintf(`{"text":%q,"by":%q,"at":%s,"sequence":%d}`, text, source, ms(sequence), sequence)
	}
	for _, c := range []struct {
		name  string
		story []given
		want  want
	}{
		{"nothing is said", begun(), want{"result": "", "statusReason": "", "sessionReason": ""}},
		{"said to be completed", begun(done), want{"result": said("All green", worker, 6), "sessionReason": ""}},
		{"said twice: the last counts", begun(
			done, report(second, "w2", events.ReportComplete, "Still green", "t1"),
		), want{"result": said("Still green", second, 7)}},
		{"without words", begun(report(worker, "w", events.ReportComplete, "", "t1")), want{"result": ""}},
		{"without words, after some", begun(done, report(second, "w2", events.ReportComplete, "", "t1")), want{
			"result": said("All green", worker, 6),
		}},
		{"a text that is in the blobs", begun(long), want{
			"result": fmt.Sprintf(`{"text":"begin","blob":"sha256-1","by":%q,"at":%s,"sequence":6}`, worker, ms(6)),
		}},
		{"confirmed", begun(done, move(events.TaskCompleted, "")), want{"result": said("All green", worker, 6)}},
		{"reopened", begun(done, move(events.TaskInProgress, "red on main")), want{
			"result": "", "statusReason": said("red on main", admin, 7),
		}},
		{"a late report changes no field", begun(late), want{"result": ""}},
		{"unlinked", begun(by(admin, &events.SessionTaskUnlinked{SessionID: "w", TaskID: "t1"})), want{"result": ""}},
		{"completed in a queue: its line is no result", queue(finished("x", "x", "t1")), want{"result": ""}},
		{"completed in a queue after words", queue(
			report(x, "x", events.ReportComplete, "Pushed", "t1"), finished("x", "x", "t1"),
		), want{"result": said("Pushed", x, 8)}},
		{"another's note is no result", begun(done, note(second, "w2", "task_completed", "forged")), want{
			"result": said("All green", worker, 6),
		}},
		{"a note of another type", begun(done, note(worker, "w", "milestone", "half")), want{
			"result": said("All green", worker, 6),
		}},
		{"an older client moves the status first, and says it then", begun(
			report(worker, "w", events.ReportComplete, "", "t1"), note(worker, "w", "task_completed", "All green"),
		), want{"result": said("All green", worker, 7)}},

		{"blocked by its status", begun(move(events.TaskBlocked, "no budget")), want{
			"statusReason": said("no budget", admin, 6),
		}},
		{"moved on without a reason", begun(move(events.TaskBlocked, "no budget"), move(events.TaskTodo, "")), want{
			"statusReason": "",
		}},
		{"said to be blocked", begun(report(worker, "w", events.ReportBlocked, "no key", "t1")), want{
			"sessionReason": said("no key", worker, 6), "statusReason": "",
		}},
		{"said to be blocked without words", begun(report(worker, "w", events.ReportBlocked, "", "t1")), want{
			"sessionReason": "",
		}},
		{"failed in a queue", queue(failed("x", "x", "t1", "red")), want{"sessionReason": said("red", x, 8)}},
		{"failed in a queue without a reason", queue(failed("x", "x", "t1", "")), want{"sessionReason": ""}},
		{"working again", begun(
			report(worker, "w", events.ReportError, "red", "t1"),
			report(worker, "w", events.ReportProgress, "on it", "t1"),
		), want{"sessionReason": ""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := stateOf(t, c.story...)
			match(t, s.TaskView(s.Task("t1")), c.want)
			read, err := Decode([]byte(encode(t, s)))
			if err != nil {
				t.Fatal(err)
			}
			match(t, read.TaskView(read.Task("t1")), c.want)
		})
	}
}

// A list shows the beginning of a long report; a single task shows all of it.
func TestListsShowTheBeginningOfStatements(t *testing.T) {
	long := strings.Repeat("ä", ListedText)
	s := stateOf(
		t, project(), task("t1"), spawn("w", "t1"), spawn("w2", "t1"),
		report(worker, "w", events.ReportComplete, long, "t1"), report(second, "w2", events.ReportBlocked, long, "t1"),
		by(admin, &events.TaskStatusChanged{TaskID: "t1", To: events.TaskBlocked, Reason: long}),
	)
	statements := func(v TaskView) []*StatementView {
		return []*StatementView{v.Result, v.StatusReason, v.SessionReason}
	}
	for i, said := range statements(s.TaskView(s.Task("t1"))) {
		if said == nil || said.Text != long || said.Cut {
			t.Errorf("statement %d of the task: %+v", i, said)
		}
	}
	for i, said := range statements(s.TaskViews(s.Tasks("p"))[0]) {
		if said == nil || len(said.Text) != ListedText+len("…") || !said.Cut || !utf8.ValidString(said.Text) {
			t.Errorf("statement %d in a list: %+v", i, said)
		}
	}
}

// An event creates a timeline entry, which is read from the log again when somebody asks for it, and a version of its
// task and of its session. A million of these must fit into memory.
func TestValuesStaySmall(t *testing.T) {
	for typ, most := range map[reflect.Type]uintptr{
		reflect.TypeFor[Entry]():   192,
		reflect.TypeFor[Task]():    128,
		reflect.TypeFor[Session](): 96,
	} {
		if typ.Size() > most {
			t.Errorf("a %s has %d bytes, at most %d: put what seldom changes behind a pointer", typ, typ.Size(), most)
		}
	}
}

// A session lists the tasks that were removed from it, the newest ones, until it has them again.
func TestUnlinked(t *testing.T) {
	unlink := func(id string) given { return by(admin, &events.SessionTaskUnlinked{SessionID: "w", TaskID: id}) }
	link := func(id string) given { return by(admin, &events.SessionTaskLinked{SessionID: "w", TaskID: id}) }
	unlinked := func(id string, sequence int) string {
		return fmt.Sprintf(`{"taskId":%q,"by":%q,"at":%s,"sequence":%d}`, id, admin, ms(sequence), sequence)
	}
	begun := continued(project(), task("t1"), task("t2"), spawn("w", "t1", "t2"))
	for _, c := range []struct {
		name  string
		story []given
		want  want
	}{
		{"two", begun(unlink("t1"), unlink("t2")), want{
			"unlinked": "[" + unlinked("t1", 5) + "," + unlinked("t2", 6) + "]",
		}},
		{"once, however often", begun(unlink("t1"), unlink("t2"), unlink("t1")), want{
			"unlinked": "[" + unlinked("t2", 6) + "," + unlinked("t1", 7) + "]",
		}},
		{"given back", begun(unlink("t1"), link("t1")), want{"unlinked": "", "taskIds": `["t2","t1"]`}},
		{"given back with all others", begun(unlink("t1"), by(admin, &events.SessionUpdated{
			SessionID: "w", TaskIDs: &[]string{"t1"},
		})), want{"unlinked": "", "taskIds": `["t1"]`}},
	} {
		t.Run(c.name, func(t *testing.T) { match(t, stateOf(t, c.story...).Session("w").View(), c.want) })
	}
	story := begun()
	for i := range MaxUnlinked + 2 {
		story = append(story, task(fmt.Sprint("n", i)), unlink(fmt.Sprint("n", i)))
	}
	kept := stateOf(t, story...).Session("w").Unlinked
	newest := fmt.Sprint("n", MaxUnlinked+1)
	if len(kept) != MaxUnlinked || kept[0].TaskID != "n2" || kept[len(kept)-1].TaskID != newest {
		t.Errorf("%d are kept, from %+v to %+v", len(kept), kept[0], kept[len(kept)-1])
	}
}
