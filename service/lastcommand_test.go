package service

import (
	"strings"
	"sync"
	"testing"

	"maestro/commands"
	"maestro/events"
)

// A session's last command and a message to it that arrive together: either the session ends first, or it is not ended
// and reads the message.
func TestLastCommandSeesMailThatArrivesWithIt(t *testing.T) {
	w := newWorld(t)
	project := w.make(w.admin(), "project:create", `{"name":"P"}`)
	ended, kept := 0, 0
	for i := range 200 {
		task := w.make(w.admin(), "task:create", `{"project":"`+project+`","title":"T"}`)
		spawned := w.do(w.admin(), "session:spawn", `{"project":"`+project+`","taskIds":["`+task+`"]}`)
		_, id := spawned.Data.Aggregate()
		session, user := w.caller(spawned.Token), w.admin()
		var both sync.WaitGroup
		var last Done
		var sent Done
		var refused error
		both.Go(func() {
			caller := *session
			caller.Meta = Meta{Key: "last"}
			last, refused = w.Do(w.Context(), &caller, Call{
				Command: &commands.CompleteSession{},
				Options: Options{IfFinished: true},
			})
		})
		both.Go(func() {
			for range i % 50 { // both orders come up
				_, _ = w.mailOf(user, id)
			}
			sent, _ = w.try(user, "session:message", `{"sessionId":"`+id+`","text":"wait"}`, "message")
		})
		both.Wait()
		switch completed := last.Data.(type) {
		case *events.SessionCompleted:
			if ended++; sent.Event != nil && sent.Sequence < last.Sequence {
				t.Fatalf("event %d ended the session %s, which had not read event %d", last.Sequence,
					completed.SessionID, sent.Sequence)
			}
		default:
			if kept++; refused == nil || !strings.Contains(refused.Error(), "unread mail") {
				t.Fatalf("the session is not ended, because: %v", refused)
			}
		}
	}
	t.Logf("%d ended, %d kept", ended, kept)
}
