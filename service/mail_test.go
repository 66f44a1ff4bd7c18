package service

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"maestro/commands"
	"maestro/events"
	"maestro/service/wire"
)

// mailOf returns the mail of a session as a caller is shown it.
func (w *world) mailOf(c *Caller, session string) (box wire.Mailbox, err error) {
	w.Helper()
	err = w.Look(w.Context(), c, func(v View) error {
		box, err = v.GetMail(&wire.MailOf{ID: session})
		return err
	})
	return box, err
}

// team is an orchestrator with a worker that it spawned, whose id is id, and two sessions that a user spawned.
type team struct {
	orchestrator, worker, other, another *Caller
	id                                   string
}

func (w *world) team() (task string, made team) {
	w.Helper()
	project := w.make(w.admin(), "project:create", `{"name":"P"}`)
	task = w.make(w.admin(), "task:create", `{"project":"`+project+`","title":"T"}`)
	spawn := func(by *Caller, more string) (*Caller, string) {
		done := w.do(by, "session:spawn", `{"project":"`+project+`","taskIds":["`+task+`"]`+more+`}`)
		_, id := done.Data.Aggregate()
		return w.caller(done.Token), id
	}
	made.orchestrator, _ = spawn(w.admin(), `,"role":"orchestrator"`)
	made.worker, made.id = spawn(made.orchestrator, "")
	made.other, _ = spawn(w.admin(), "")
	made.another, _ = spawn(w.admin(), `,"role":"orchestrator"`)
	return task, made
}

// Only a session itself, the session that spawned it, and the user read its mail. A text longer than the longest
// message is cut.
func TestMailIsTheSessionsOwn(t *testing.T) {
	w := newWorld(t)
	task, team := w.team()
	w.do(team.worker, "report:complete", `{"message":"m","taskIds":["`+task+`"]}`) // who is done is not told of it
	w.do(w.admin(), "task:complete", `{"taskId":"`+task+`"}`)
	w.do(w.admin(), "task:reopen", fmt.Sprintf(`{"taskId":%q,"reason":%q}`, task, "x"+strings.Repeat("ä", 30_000)))
	for name, c := range map[string]*Caller{"user": w.admin(), "spawner": team.orchestrator, "itself": team.worker} {
		box, err := w.mailOf(c, team.id)
		if err != nil || len(box.Mail) != 1 {
			t.Fatalf("%s: %v %v", name, box, err)
		}
		text, most := box.Mail[0].Text, int(commands.LimitMessage.Value)
		if !box.Mail[0].Cut || len(text) > most+len("…") || len(text) < most-4 || !utf8.ValidString(text) {
			t.Errorf("%s: the reason has %d bytes, cut %t", name, len(text), box.Mail[0].Cut)
		}
	}
	for name, c := range map[string]*Caller{"another worker": team.other, "another orchestrator": team.another} {
		var refusal *commands.Refusal
		if _, err := w.mailOf(c, team.id); !errors.As(err, &refusal) || refusal.Code != commands.CodeNotAllowed {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Only those who may read a session's mail see what was written to it, also on its timeline and in causes. Others see
// that something was written.
func TestMailIsHiddenEverywhere(t *testing.T) {
	const message, answer = "the key is under the mat", "hunter2"
	w := newWorld(t)
	task, team := w.team()
	asked := w.do(team.worker, "report:needs-input", `{"message":"Which?"}`)
	sent := w.do(w.admin(), "session:message",
		fmt.Sprintf(`{"sessionId":%q,"text":%q,"about":%q}`, team.id, message, task))
	question := asked.Data.(*events.SessionReported).InputID
	w.do(w.admin(), "input:answer", fmt.Sprintf(`{"inputId":%q,"answer":%q}`, question, answer))
	for name, c := range map[string]struct {
		by    *Caller
		reads bool
		why   bool
	}{
		"the user":             {w.admin(), true, true},
		"the session itself":   {team.worker, true, false},
		"who spawned it":       {team.orchestrator, true, true},
		"another worker":       {team.other, false, false},
		"another orchestrator": {team.another, false, true},
	} {
		var told strings.Builder
		err := w.Look(w.Context(), c.by, func(v View) error {
			timeline, err := v.GetSessionTimeline(&wire.TimelineOf{ID: team.id})
			if err != nil {
				return err
			}
			for e := range timeline().Items {
				fmt.Fprintln(&told, e.Type, e.Message)
			}
			if timeline, err = v.GetTaskTimeline(&wire.TimelineOf{ID: task}); err != nil {
				return err
			}
			for e := range timeline().Items {
				fmt.Fprintln(&told, e.Type, e.Message)
			}
			x, err := v.GetSession(&wire.SessionID{ID: team.id})
			for e := range x.Entries(0, false).Items {
				fmt.Fprintln(&told, e.Type, e.Message)
			}
			return err
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if c.why {
			for _, id := range []string{fmt.Sprint(sent.Sequence), question} {
				why, _, err := w.Why(w.Context(), c.by, id)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				fmt.Fprintln(&told, why)
			}
			since, err := w.Since(w.Context(), c.by, &wire.SinceQuery{})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			fmt.Fprintln(&told, since)
		}
		text := told.String()
		for _, said := range []string{message, answer} {
			if strings.Contains(text, said) != c.reads {
				t.Errorf("%s is told %q: %t, want %t\n%s", name, said, !c.reads, c.reads, text)
			}
		}
		if !strings.Contains(text, "session_message") || !strings.Contains(text, "input_answered") {
			t.Errorf("%s does not see that something was written:\n%s", name, text)
		}
	}
}

// Events are described in one place, which knows what of them is mail.
func TestOnlyOneFunctionDescribesEvents(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		product := name != "mail.go" && !strings.HasSuffix(name, "_test.go")
		if product && strings.Contains(string(text), ".Describe()") {
			t.Errorf("%s describes events itself: call Service.describe, which hides mail", name)
		}
	}
}

// A watch shows everybody that something was written to a session, and its text only to those who read its mail.
func TestWatchHidesMailOfOthers(t *testing.T) {
	const message, answer = "the key is under the mat", "hunter2"
	w := newWorld(t)
	task, team := w.team()
	from := w.Head()
	asked := w.do(team.worker, "report:needs-input", `{"message":"Which?"}`)
	w.do(w.admin(), "session:message", fmt.Sprintf(`{"sessionId":%q,"text":%q,"about":%q}`, team.id, message, task))
	w.do(w.admin(), "input:answer", fmt.Sprintf(`{"inputId":%q,"answer":%q}`,
		asked.Data.(*events.SessionReported).InputID, answer))
	for name, c := range map[string]struct {
		by    *Caller
		reads bool
	}{
		"the user":             {w.admin(), true},
		"who spawned it":       {team.orchestrator, true},
		"another orchestrator": {team.another, false},
	} {
		watch := w.watching(c.by, Position{}, WatchFilter{})
		var told strings.Builder
		kinds := map[string]bool{}
		for _, frame := range w.frames(watch) {
			text, err := json.Marshal(frame)
			if err != nil {
				t.Fatal(err)
			}
			if told.Write(text); frame.Event != nil && frame.Sequence > from {
				kinds[frame.Event.Data.EventType()] = true
			}
		}
		for _, said := range []string{message, answer} {
			if strings.Contains(told.String(), said) != c.reads {
				t.Errorf("%s is told %q: %t\n%s", name, said, !c.reads, &told)
			}
		}
		if !kinds["maestro.session.messaged.v1"] || !kinds["maestro.input.answered.v1"] {
			t.Errorf("%s does not see that something was written: %v", name, kinds)
		}
	}
}
