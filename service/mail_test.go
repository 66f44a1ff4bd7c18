package service

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"maestro/commands"
	"maestro/service/wire"
)

// mailOf gives the mail of a session as a caller is shown it.
func (w *world) mailOf(c *Caller, session string) (box wire.Mailbox, err error) {
	w.Helper()
	err = w.Look(w.Context(), c, func(v View) error {
		box, err = v.GetMail(&wire.MailOf{ID: session})
		return err
	})
	return box, err
}

// A session reads its own mail; the user and the session that spawned it read it too, and no other. What is longer than
// the longest message is cut.
func TestMailIsTheSessionsOwn(t *testing.T) {
	w := newWorld(t)
	project := w.make(w.admin(), "project:create", `{"name":"P"}`)
	task := w.make(w.admin(), "task:create", `{"project":"`+project+`","title":"T"}`)
	spawn := func(by *Caller, more string) (*Caller, string) {
		done := w.do(by, "session:spawn", `{"project":"`+project+`","taskIds":["`+task+`"]`+more+`}`)
		_, id := done.Data.Aggregate()
		return w.caller(done.Token), id
	}
	orchestrator, _ := spawn(w.admin(), `,"role":"orchestrator"`)
	worker, id := spawn(orchestrator, "")
	other, _ := spawn(w.admin(), "")
	another, _ := spawn(w.admin(), `,"role":"orchestrator"`)
	w.do(w.admin(), "task:complete", `{"taskId":"`+task+`"}`)
	w.do(w.admin(), "task:reopen", fmt.Sprintf(`{"taskId":%q,"reason":%q}`, task, "x"+strings.Repeat("ä", 30_000)))
	for name, c := range map[string]*Caller{"user": w.admin(), "spawner": orchestrator, "itself": worker} {
		box, err := w.mailOf(c, id)
		if err != nil || len(box.Mail) != 1 {
			t.Fatalf("%s: %v %v", name, box, err)
		}
		text, most := box.Mail[0].Text, int(commands.LimitMessage.Value)
		if !box.Mail[0].Cut || len(text) > most+len("…") || len(text) < most-4 || !utf8.ValidString(text) {
			t.Errorf("%s: the reason has %d bytes, cut %t", name, len(text), box.Mail[0].Cut)
		}
	}
	for name, c := range map[string]*Caller{"another worker": other, "another orchestrator": another} {
		var refusal *commands.Refusal
		if _, err := w.mailOf(c, id); !errors.As(err, &refusal) || refusal.Code != commands.CodeNotAllowed {
			t.Errorf("%s: %v", name, err)
		}
	}
}
