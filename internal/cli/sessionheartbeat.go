package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"maestro/internal/failure"
	"maestro/internal/safetext"
	"maestro/service/wire"
)

// sessionHeartbeat is `maestro session heartbeat`.
type sessionHeartbeat struct{ *Run }

func newSessionHeartbeat(a *Run) *cobra.Command {
	c := &sessionHeartbeat{Run: a}
	cmd := &cobra.Command{
		Use:   "heartbeat [<sessionId>]",
		Short: "For scripts: say that your session is alive; it is then lost after 1 minute of silence",
		Long: `Tell the server that your session is alive. From the first heartbeat on, the
session is lost after 1 minute ("maestro serve --lease") without a heartbeat or
another command. Send one only if a script sends them regularly. Exit code 4
means that the session has ended.

"maestro session exec" sends heartbeats automatically.`,
		Example: "  while maestro session heartbeat; do sleep 10; done",
		Args:    Takes,
		RunE:    Running(c.run),
	}
	annotated(cmd, onlyFor, onlySessions)
	return Untold(cmd)
}

func (c *sessionHeartbeat) run(ctx context.Context, args []string) error {
	session := At(args, 0)
	if session == "" {
		session = c.sessionID()
	}
	if c.sessionID() == "" || c.sessionID() != session {
		return c.notItself(session)
	}
	server, err := c.Connect(ctx)
	if err != nil {
		return err
	}
	beat, err := server.Heartbeat(ctx, session)
	if err != nil {
		return err
	}
	if beat.Ended {
		exec := &sessionExec{Run: c.Run}
		return exec.ended(session, &sessionOver{exec.whyOver(ctx, server, session)})
	}
	within := wire.BeatAfter(beat.Lease)
	c.Result(struct {
		SessionID string `json:"sessionId"`
		Lease     int64  `json:"leaseMs"`
		Next      int64  `json:"nextWithinMs"`
	}{session, beat.Lease.Milliseconds(), within.Milliseconds()}, func() {
		c.Print("Heartbeat sent; send the next within %s: from now on, the session is lost after %s "+
			"without a heartbeat or another command\n", within.Truncate(100*time.Millisecond), beat.Lease)
	})
	return nil
}

// notItself refuses a heartbeat for another session: only a session's own supervisor knows that it is alive.
func (c *sessionHeartbeat) notItself(session string) error {
	f := failure.Usage("A session sends its own heartbeats, and this process belongs to none").
		WithWhy("only whoever runs a session's agent knows that it is alive")
	if session != "" {
		f.Code = failure.NotAllowed
	}
	named := "<sessionId>"
	if session != "" {
		named = safetext.Quoted(session)
	}
	f.Next = "run the agent with `maestro session exec " + named + " -- <command>`, which sends them"
	if own := c.sessionID(); own != "" {
		f.Message = "A session sends its own heartbeats, and this process belongs to session '" + own + "'"
		f.Next = "leave out the id"
	}
	return f
}
