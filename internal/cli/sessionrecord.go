package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"maestro/api/client"
	"maestro/commands"
	"maestro/service/wire"
)

const (
	// recordTries is how often the exit code is sent to an unreachable server; recordWithin is how long that takes.
	recordTries  = 20
	recordWithin = recordTries * betweenTries
	// typeBlocked is the type of the entry for what a command did to lead its user's git elsewhere.
	typeBlocked = "git_redirected"
)

// record adds to the session's timeline how its command ended, and what it did that was undone.
func (c *sessionExec) record(
	ctx context.Context, server, beats *client.Client, session, command string, state *os.ProcessState, others bool,
	blocked []string,
) {
	if session == c.sessionID() {
		return
	}
	exited := wire.Exited{Command: filepath.Base(command), ExitCode: codeOf(state), Others: others}
	data, err := json.Marshal(exited)
	if err != nil {
		return // it holds a text and a number
	}
	notes := []*commands.NoteSession{{
		SessionID: session,
		Type:      wire.TypeExited,
		Message:   fmt.Sprintf("The command %s ended with exit code %d", exited.Command, exited.ExitCode),
		Data:      data,
	}}
	if len(blocked) > 0 {
		notes = append([]*commands.NoteSession{{
			SessionID: session,
			Type:      typeBlocked,
			Message:   strings.Join(blocked, "\n"),
		}}, notes...)
	}
	for _, note := range notes {
		if err := c.note(ctx, server, beats, note); err != nil {
			c.Say("maestro: not recorded on the session's timeline: %q: %s\n", note.Message, err)
			return
		}
	}
}

// note adds an entry to the session's timeline, as whoever runs the command. A session notes how its own command ended
// only if the orchestrator that ran it has ended meanwhile: beats acts as the session.
func (c *sessionExec) note(ctx context.Context, server, beats *client.Client, note *commands.NoteSession) (err error) {
	key := uuid.NewString()
	for range recordTries {
		_, err = server.Do(ctx, "session:note", note, client.Options{Key: key})
		var refused *client.Error
		if c.isSession() && errors.As(err, &refused) && refused.Status == http.StatusForbidden {
			_, err = beats.Do(ctx, "session:note", note, client.Options{Key: key})
		}
		if err == nil || !notNow(err) {
			break
		}
		time.Sleep(betweenTries)
		if address := c.homeServer(); address != "" {
			server.Move(address)
		}
	}
	return err
}
