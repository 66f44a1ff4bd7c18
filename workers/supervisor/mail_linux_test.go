package supervisor

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	"maestro/service/wire"
)

// An agent that is given mail, and says at once that it is done, is not refused: the server hears first that the agent
// has its mail.
func TestAgentHasItsMailBeforeItSpeaks(t *testing.T) {
	for _, request := range [][2]string{
		{"/api/commands/session:complete", `{}`}, {"/mcp", `{"method":"tools/call"}`},
	} {
		g := newGated(t)
		g.mu.Lock()
		g.mail, g.waiting = newMailbox(g.calls, gateSession, slog.New(slog.DiscardHandler), nil, nil),
			make(chan struct{})
		g.mu.Unlock()
		g.mail.came([]wire.Mail{{ID: "input_1", Text: "main"}})
		text, handed := g.mail.take()
		if !strings.Contains(text, "main") {
			t.Fatalf("the mail is %q", text)
		}
		go func() {
			<-g.waiting
			handed(t.Context(), true)
		}()
		g.agent("POST", request[0], request[1])
		var got []string
		for _, seen := range g.saw() {
			got = append(got, strings.Fields(seen)[1])
		}
		if want := []string{"/api/commands/input:received", request[0]}; !slices.Equal(got, want) {
			t.Errorf("the server saw %q, want %q", got, want)
		}
	}
}
