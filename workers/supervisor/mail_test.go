package supervisor

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"maestro/service/wire"
)

// A command of the agent waits until the server knows which mail the agent was given: the server would refuse a report
// of an agent with unread mail. It does not wait for a server that is away.
func TestCommandsWaitForWhatTheAgentWasGiven(t *testing.T) {
	for name, away := range map[string]bool{"the server hears of it": false, "the server is away": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMailbox(&calls{after: time.After}, "sess_1", slog.New(slog.DiscardHandler), func() {}, nil)
				began := time.Now()
				m.known(t.Context())
				m.came([]wire.Mail{{ID: "msg_1", Kind: wire.MailMessage, Text: "hurry"}})
				_, handed := m.take()
				_, nothing := m.take()
				if nothing(t.Context(), true); time.Since(began) != 0 {
					t.Fatal("it waits although nothing was given")
				}
				known := make(chan struct{})
				go func() {
					defer close(known)
					m.known(t.Context())
				}()
				synctest.Wait()
				select {
				case <-known:
					t.Error("the command did not wait")
				default:
				}
				if !away {
					handed(context.Background(), false)
				}
				<-known
				if waited := time.Since(began); waited > 0 != away || waited > knownWithin {
					t.Errorf("it waited %s", waited)
				}
			})
		})
	}
}
