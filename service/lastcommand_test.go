package service

import (
	"strings"
	"testing"
	"testing/synctest"

	"maestro/commands"
)

// A message that is decided before a session's last command, and after the session was last asked whether anything is
// left to do: the session is not ended, and reads it.
func TestLastCommandSeesMailThatArrivesWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &memoryLog{}
		w := worldWith(t, log, sizedBlobs{&countedBlobs{kept: map[string][]byte{}}})
		project := w.make(w.admin(), "project:create", `{"name":"P"}`)
		task := w.make(w.admin(), "task:create", `{"project":"`+project+`","title":"T"}`)
		spawned := w.do(w.admin(), "session:spawn", `{"project":"`+project+`","taskIds":["`+task+`"]}`)
		_, id := spawned.Data.Aggregate()
		session := w.caller(spawned.Token)
		session.Meta = Meta{Key: "last"}

		written := make(chan struct{})
		log.slow = func() { <-written }
		go func() { _, _ = w.try(w.admin(), "task:create", `{"project":"`+project+`","title":"U"}`, "first") }()
		synctest.Wait() // the writer is busy, so the next two wait for it, in this order
		go func() {
			_, _ = w.try(w.admin(), "session:message", `{"sessionId":"`+id+`","text":"wait"}`, "message")
		}()
		synctest.Wait()
		ended := make(chan error, 1)
		go func() {
			_, err := w.Do(w.Context(), session, Call{
				Command: &commands.CompleteSession{},
				Options: Options{IfFinished: true},
			})
			ended <- err
		}()
		synctest.Wait()
		close(written)
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "unread mail") {
			t.Errorf("the session is not told of its mail, but: %v", err)
		}
		if got := w.waiting(id); got != 1 {
			t.Errorf("%d messages wait for the session", got)
		}
	})
}
